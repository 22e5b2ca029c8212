#!/bin/sh
# Runs every fuzz test, or those that are named, for a time (1m) or for so many inputs (1000x), on from what earlier runs
# found: fuzz.sh TIME [NAME…]. An input that fails is written below testdata/fuzz of its package, where 'go test' runs
# it ever after: commit it with the mend. "context deadline exceeded" without an input is the end of the time, and no failure.
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
		# What is reached in this module's code alone leads the search: sooner built than with -fuzz, several times as fast.
		[ "$built" ] || go test -c -gcflags=github.com/gpusched/gpusched/...=-d=libfuzzer -o "$program" "./$dir" || { bad=1; break; }
		built=yes
		# Where the order of a map is in what is reached, most inputs look new; to make each smaller would take all of the time.
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
