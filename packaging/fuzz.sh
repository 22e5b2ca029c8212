#!/bin/sh
# Runs all fuzz tests, or the named ones, each for a time (1m) or a number of inputs (1000x), starting from the inputs that
# earlier runs found: fuzz.sh TIME [NAME…]. A failing input is written to testdata/fuzz of its package, where 'go test' runs
# it from then on: commit it with the fix. "context deadline exceeded" without an input means that the time is up, not a failure.
set -u
export CGO_ENABLED=1 # gpu/nvml needs it
cd "$(dirname "$0")/.."
time=$1
shift
names=" $* "
made=$(mktemp -d)
program=$made/program said=$made/said status=$made/status
trap 'rm -r "$made"' EXIT
bad=0 fuzzed=0
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' */ | xargs -n1 dirname | sort -u); do
	built=
	for name in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -c6-); do
		case $names in *" $name "* | "  ") ;; *) continue ;; esac
		# Only coverage of this module's code guides the search: it builds sooner than -fuzz and runs several times as fast.
		[ "$built" ] || go test -c -gcflags=github.com/gpusched/gpusched/...=-d=libfuzzer -o "$program" "./$dir" || { bad=1; break; }
		built=yes
		# Where coverage depends on map order, most inputs look new, and minimizing each would take all of the time.
		(cd "$dir" && { "$program" -test.v -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" -test.fuzzminimizetime 50x \
			-test.fuzzcachedir "$(go env GOCACHE)/fuzz/github.com/gpusched/gpusched/$dir" -test.timeout 0; echo $? >"$status"; }) | tee "$said"
		fuzzed=$((fuzzed + 1))
		[ "$(cat "$status")" = 0 ] || { grep -qx ' *context deadline exceeded' "$said" && ! grep -q 'Failing input written' "$said"; } || bad=1
	done
done
if [ $bad = 0 ] && { [ $fuzzed = 0 ] || [ $fuzzed -lt $# ]; }; then
	echo "fuzz.sh: no fuzz test ran for one of these names: ${*:-all}" >&2
	exit 1
fi
exit $bad
