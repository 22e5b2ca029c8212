#!/bin/sh
# Installs what building, packaging and the tests need beyond Go. Does nothing,
# quickly, where all of it is there. Debian and its relatives, as root.
set -eu
missing=""
need() { # command package
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need gcc gcc
need git git
need lintian lintian
need rpm rpm
need man man-db
need zsh zsh
need fish fish
need mmdebstrap mmdebstrap
need systemd-nspawn systemd-container
need systemd-analyze systemd
need qemu-system-x86_64 qemu-system-x86
need mke2fs e2fsprogs
need ssh openssh-client
need nsenter util-linux
need setpriv util-linux
need readelf binutils
need perl perl
need /usr/bin/python3 python3
need screen screen
need tmux tmux
need chromium chromium
need qemu-img qemu-utils
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
# Of these the programs alone are unpacked: installed, they would start services.
tools=/usr/local/lib/gpusched-test
unpack=""
for package in prometheus prometheus-node-exporter; do
	[ -x "$tools/$package" ] || unpack="$unpack $package"
done
[ -n "$missing$unpack" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing$unpack (install these, or run 'make deps' as root on Debian)" >&2
	exit 1
fi
apt-get update -q
if [ -n "$missing" ]; then
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi
if [ -n "$unpack" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	# shellcheck disable=SC2086
	(cd "$dir" && apt-get download -q $unpack && for deb in *.deb; do dpkg-deb -x "$deb" .; done)
	install -d -m 755 "$tools"
	install -m 755 "$dir"/usr/bin/prom* "$tools"
fi
