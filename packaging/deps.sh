#!/bin/sh
# Installs Debian's packages, as root, that this repository needs beyond Go: "demo" to build and to boot a box, "test" for
# make test, "all" for make test-all. It ends at once if nothing is missing.
set -eu
what=${1-all}
case $what in
demo | test | all) ;;
*)
	echo "usage: deps.sh demo|test|all" >&2
	exit 2
	;;
esac
if [ "$(id -u)" != 0 ]; then
	echo "run this as root: it needs containers and mounts, and installs packages" >&2
	exit 1
fi
missing=""
need() { # command package
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need gcc gcc
[ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
need git git
need mmdebstrap mmdebstrap
need systemd-nspawn systemd-container
need nsenter util-linux
need ip iproute2
if [ "$what" != demo ]; then
	need setpriv util-linux
	need /usr/bin/python3 python3
	need perl perl
	need zsh zsh
	need screen screen
	need tmux tmux
	need chromium chromium
fi
# These packages are only unpacked: installing them would start services.
tools=/usr/local/lib/gpusched-test
unpack=""
if [ "$what" = all ]; then
	need lintian lintian
	need rpm rpm
	need man man-db
	need aspell aspell
	[ -e /usr/lib/aspell/en.multi ] || missing="$missing aspell-en"
	need fish fish
	need systemd-analyze systemd
	need readelf binutils
	need qemu-system-x86_64 qemu-system-x86
	need qemu-img qemu-utils
	need mke2fs e2fsprogs
	need ssh openssh-client
	for package in prometheus prometheus-node-exporter; do
		[ -x "$tools/$package" ] || unpack="$unpack $package"
	done
fi
[ -n "$missing$unpack" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing$unpack (names of Debian's packages, which this system has to install by other means)" >&2
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
