#!/bin/sh
# Checks the format and suspicious constructs of all Go code and shell scripts, including tests with tags. "staticcheck" runs
# only that program, "vet" everything else, and no argument both.
set -eu
cd "$(dirname "$0")/.."
bad=0
tags=machine,packages,publictrace,pprof
nvml='/gpusched/gpu/nvml$|/gpusched/gpu/nvml/|/gpusched/cmd/gpusched-nvml$' # what needs cgo
plain=$(go list ./... | grep -vE "$nvml")
check() { # arguments of a go command
	# shellcheck disable=SC2086
	CGO_ENABLED=0 go "$@" -tags $tags $plain || bad=1
	CGO_ENABLED=1 go "$@" -tags $tags ./gpu/nvml/... ./cmd/gpusched-nvml || bad=1
}
what=${1-all}
case $what in
staticcheck | all) check tool -modfile=packaging/tools/go.mod staticcheck ;;
vet) ;;
*)
	echo "usage: lint.sh [vet|staticcheck]" >&2
	exit 2
	;;
esac
[ "$what" != staticcheck ] || exit $bad

unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' 2>/dev/null | xargs -0r ls -d 2>/dev/null | xargs -r gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'not formatted, run gofmt -w:\n%s\n' "$unformatted"
	bad=1
fi
check vet
for script in .ci/run packaging/*.sh packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm packaging/rpm/*.sh cmd/gpusched-slurm/sbatch/sh/*.sh; do
	sh -n "$script" || bad=1
done
exit $bad
