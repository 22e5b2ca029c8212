#!/bin/sh
# Runs every fuzz test, or those that are named, for a time (1m) or for so many inputs (1000x), on from what earlier runs
# found: fuzz.sh TIME [NAME…]. An input that fails is written below testdata/fuzz of its package, where 'go test' runs
# it ever after: commit it with the mend. "context deadline exceeded" without an input is the end of the time.
set -u
export CGO_ENABLED=1 # gpu/nvml needs it
cd "$(dirname "$0")/.."
time=$1
shift
names=" $* "
program=$(mktemp)
trap 'rm -f "$program"' EXIT
bad=0
for dir in $(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do
	built=
	for name in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -c6-); do
		case $names in *" $name "* | "  ") ;; *) continue ;; esac
		# What is reached in this module's code alone leads the search: sooner built than with -fuzz, several times as fast.
		[ "$built" ] || go test -c -gcflags=github.com/gpusched/gpusched/...=-d=libfuzzer -o "$program" "./$dir" || { bad=1; break; }
		built=yes
		# Where the order of a map is in what is reached, most inputs look new; to make each smaller would take all of the time.
		(cd "$dir" && "$program" -test.v -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" -test.fuzzminimizetime 50x \
			-test.fuzzcachedir "$(go env GOCACHE)/fuzz/github.com/gpusched/gpusched/$dir" -test.timeout 0) || bad=1
	done
done
exit $bad
