#!/bin/sh
# Builds the packages of a release, and their checksums, into dist/. The Makefile exports VERSION.
set -eu
cd "$(dirname "$0")/.."
fail() {
	echo "make release: $1" >&2
	exit 1
}
changed=$(git status --porcelain)
[ -z "$changed" ] || fail "the checkout has changes; commit or remove them:
$changed"
unreleased=$(sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' CHANGELOG.md | grep -v '^## \[' | grep . || true)
[ -z "$unreleased" ] || fail "CHANGELOG.md has unreleased changes; give them a version and a date:
$unreleased"
tagged=$(git rev-parse -q --verify "v$VERSION^{commit}" || git rev-parse HEAD)
[ "$tagged" = "$(git rev-parse HEAD)" ] || fail "v$VERSION is the tag of another commit; check out the tag"

rm -rf dist
make package
# Builds both packages again from a copy of the tree, and compares them byte for byte.
go test -count=1 -timeout 30m -tags packages ./packaging/check/ -run '^TestPackagesAreReproducible$'
cd dist
LC_ALL=C sha256sum ./*.deb ./*.rpm | sed 's,\./,,' >SHA256SUMS
cat SHA256SUMS
