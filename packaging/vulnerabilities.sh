#!/bin/sh
# Looks for known vulnerabilities in the functions that the programs call. Exits with 77,
# which is no verdict, if it cannot reach the Go project's database.
set -u
cd "$(dirname "$0")/.."
out=$(CGO_ENABLED=1 timeout 300 go tool -modfile=packaging/tools/vuln/go.mod govulncheck ./cmd/... 2>&1)
status=$?
printf '%s\n' "$out"
case $status:$out in
0:*) exit 0 ;;
*'fetching vulnerabilities:'*)
	echo "the database of known vulnerabilities can't be reached from here: nothing was looked up"
	exit 77
	;;
esac
exit 1
