#!/bin/sh
# Installs the built programs in the home of the user who runs it, without root, as that
# user's own scheduler; 'make install-user' builds them first.
set -eu
cd "$(dirname "$0")/.."
lib=$HOME/.local/lib/gpusched
bin=$HOME/.local/bin
units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user

case $lib in
*[!a-zA-Z0-9/._+=-]*)
	echo "install-user.sh: $lib has characters that units and shells take for something else" >&2
	exit 1
	;;
esac
for program in gpusched gpuschedd gpusched-nvml gpusched-job gpusched-notify gpusched-slurm gpusched-top gpusched-mcp; do
	install -D -m 755 "bin/$program" "$lib/$program"
done
mkdir -p "$bin"
ln -sf "$lib/gpusched" "$bin/gpusched"
for unit in gpusched.service gpusched.socket; do
	install -d "$units"
	sed -e "s|/usr/libexec/gpusched/|$lib/|" -e "s|/usr/bin/gpusched |$lib/gpusched |" "packaging/systemd/user/$unit" >"$units/$unit"
done
echo "Next: systemctl --user daemon-reload; systemctl --user enable gpusched; systemctl --user restart gpusched; loginctl enable-linger; $bin/gpusched --user health"
