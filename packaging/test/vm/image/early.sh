#!/bin/sh
# Runs in the emulated machine's tree before its kernel is installed. $1: the tree. Part of the image's recipe.
# An initrd with just what finds the disk: the usual one takes seconds longer to build and, emulated, to unpack.
set -eu
install -d "$1/etc/initramfs-tools/conf.d" "$1/etc/initramfs-tools/hooks"
printf 'MODULES=list\nBUSYBOX=n\n' >"$1/etc/initramfs-tools/conf.d/vm"
cat >"$1/etc/initramfs-tools/hooks/vm" <<'END'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
. /usr/share/initramfs-tools/hook-functions
force_load virtio_pci
force_load virtio_blk
force_load ext4
END
chmod 755 "$1/etc/initramfs-tools/hooks/vm"
