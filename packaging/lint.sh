#!/bin/sh
# Form and suspicious constructs of all Go code and shell scripts, tests with tags included.
set -eu
cd "$(dirname "$0")/.."
bad=0

unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' 2>/dev/null | xargs -0r ls -d 2>/dev/null | xargs -r gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'not formatted, run gofmt -w:\n%s\n' "$unformatted"
	bad=1
fi
tags=machine,packages,publictrace
nvml='/gpusched/gpu/nvml$|/gpusched/gpu/nvml/|/gpusched/cmd/gpusched-nvml$' # what needs cgo
plain=$(go list ./... | grep -vE "$nvml")
# shellcheck disable=SC2086
for check in vet 'tool -modfile=packaging/tools/go.mod staticcheck'; do
	CGO_ENABLED=0 go $check -tags $tags $plain || bad=1
	CGO_ENABLED=1 go $check -tags $tags ./gpu/nvml/... ./cmd/gpusched-nvml || bad=1
done
go build -tags quick -o /dev/null ./cmd/gpusched || bad=1
go vet -tags pprof ./cmd/gpuschedd || bad=1
for script in .ci/run packaging/*.sh packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm packaging/rpm/*.sh; do
	sh -n "$script" || bad=1
done
exit $bad
