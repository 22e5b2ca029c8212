#!/bin/sh
# Prepares the container engines of this machine, which must be a throw-away one with the packages
# of vm.ContainerPackages. Every call leaves what is there already.
#
#	containers.sh cdi      describe the four simulated GPUs to the engines
#	containers.sh podman   give alice and bob the image "box"
#	containers.sh docker   start dockerd with the image "box", and let alice use it
#
# The image has only busybox. Its /etc/image contains "box".
set -eu

# tree makes the image's files once.
tree() {
	[ ! -e /var/cache/box.tar ] || return 0
	root=$(mktemp -d)
	chmod 755 "$root" # the user of a container may not be its owner
	mkdir -p "$root/bin" "$root/etc" "$root/root"
	install -d -m 1777 "$root/tmp"
	cp /bin/busybox "$root/bin/"
	for name in $(busybox --list); do
		[ "$name" = busybox ] || ln -s busybox "$root/bin/$name"
	done
	echo root:x:0:0::/root:/bin/sh >"$root/etc/passwd"
	echo root:x:0: >"$root/etc/group"
	echo box >"$root/etc/image"
	tar -C "$root" --owner=0 --group=0 -cf /var/cache/box.tar .
	rm -rf "$root"
}

# memory DIRECTORY [OPTION] mounts a tmpfs there. The disk of a box is an overlay, on which the
# engines cannot use overlays, as they do elsewhere.
memory() {
	[ "$(stat -f -c %T /)" = overlayfs ] || return 0
	mountpoint -q "$1" || { mkdir -p "$1" && mount -t tmpfs -o "${2-mode=711}" tmpfs "$1"; }
}

# device NAME NODE… describes a GPU as nvidia-ctk does.
device() {
	echo "- name: \"$1\""
	echo "  containerEdits:"
	echo "    deviceNodes:"
	shift
	for node; do
		echo "    - path: $node"
	done
}

cdi() {
	mkdir -p /etc/cdi
	{
		echo 'cdiVersion: "0.5.0"'
		echo 'kind: nvidia.com/gpu'
		echo 'devices:'
		for n in 0 1 2 3; do
			device "$n" "/dev/nvidia$n"
			device "GPU-fa4e0000-0000-4000-8000-00000000000$n" "/dev/nvidia$n"
		done
		device all /dev/nvidia0 /dev/nvidia1 /dev/nvidia2 /dev/nvidia3
		echo 'containerEdits:'
		echo '  deviceNodes:'
		echo '  - path: /dev/nvidiactl'
		echo '  env: [NVIDIA_VISIBLE_DEVICES=void]'
	} >/etc/cdi/nvidia.yaml
}

case ${1-} in
cdi) cdi ;;
podman)
	tree
	for user in alice bob; do
		install -d -o "$user" -g "$user" "/home/$user/.local"
		memory "/home/$user/.local/share" "mode=700,uid=$user,gid=$user"
		/usr/local/libexec/vm-as "$user" sh -c 'podman image exists box || podman import -q /var/cache/box.tar box' >/dev/null
	done
	;;
docker)
	tree
	usermod -aG docker alice
	memory /var/lib/docker
	systemctl start docker
	docker image inspect box >/dev/null 2>&1 || docker import /var/cache/box.tar box >/dev/null
	docker run --rm --network=host box true # the first such container makes a mount that stays
	;;
*)
	sed -n '/^#	/s/^#	//p' "$0" >&2
	exit 2
	;;
esac
