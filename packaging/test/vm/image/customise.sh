#!/bin/sh
# Turns a fresh Debian tree into a test machine. $1: the tree, $2: box or emulated.
# Run by mmdebstrap at the end of the build, outside the tree. Part of the image's recipe: a change here makes a new image.
set -eu
root=$1 kind=$2

chroot "$root" groupadd -g 2001 lab
chroot "$root" useradd -m -u 1001 -U -s /bin/bash alice
chroot "$root" useradd -m -u 1002 -U -s /bin/bash bob
chroot "$root" usermod -aG lab alice

echo gpubox >"$root/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 gpubox\n' >"$root/etc/hosts"
: >"$root/etc/fstab"

# A user reads the output of her own units only from a persistent journal.
install -d -m 2755 "$root/var/log/journal"
chroot "$root" chgrp systemd-journal /var/log/journal
install -d "$root/etc/systemd/journald.conf.d"
printf '[Journal]\nStorage=persistent\nSystemMaxUse=1G\n' >"$root/etc/systemd/journald.conf.d/10-vm.conf"

# The nodes of four GPUs without a driver behind them: an open gives ENXIO where it is allowed and EPERM where a device
# filter forbids it. /dev is empty at every boot, so they are made at every boot.
cat >"$root/etc/tmpfiles.d/vm-nvidia.conf" <<'END'
c /dev/nvidia0   0666 root root - 195:0
c /dev/nvidia1   0666 root root - 195:1
c /dev/nvidia2   0666 root root - 195:2
c /dev/nvidia3   0666 root root - 195:3
c /dev/nvidiactl 0666 root root - 195:255
END

# vm-as: how a test becomes a user. No PAM: a session per command would be slow and would change limits.
install -d "$root/usr/local/libexec"
cat >"$root/usr/local/libexec/vm-as" <<'END'
#!/bin/sh
# vm-as USER CMD...: CMD as USER, with that user's groups, home directory and a clean environment.
user=$1
shift
while IFS=: read -r name _ uid gid _ home shell; do
	[ "$name" = "$user" ] && break
done </etc/passwd
if [ "$name" != "$user" ]; then
	echo "vm-as: there is no user \"$user\" in this machine" >&2
	exit 217
fi
path=/usr/local/bin:/usr/bin:/bin
[ "$uid" = 0 ] && path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd "$home" || exit 200
umask 022
exec /usr/bin/env -i ${TERM:+TERM="$TERM"} HOME="$home" USER="$user" LOGNAME="$user" SHELL="$shell" LANG=C.UTF-8 PATH="$path" \
	setpriv --reuid "$uid" --regid "$gid" --init-groups -- "$@"
END
chmod 755 "$root/usr/local/libexec/vm-as"

# Nothing in a test machine may act by itself, and nothing in a box may reach for the host's kernel.
mask() { for unit; do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done; }
mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
	systemd-tmpfiles-clean.timer console-getty.service getty.target getty@tty1.service serial-getty@ttyS0.service \
	sys-kernel-debug.mount sys-kernel-tracing.mount dev-hugepages.mount proc-sys-fs-binfmt_misc.automount
if [ "$kind" = box ]; then
	mask systemd-modules-load.service systemd-sysctl.service modprobe@.service systemd-remount-fs.service
fi

# In a box sshd runs while a test wants it.
[ "$kind" = emulated ] || chroot "$root" systemctl disable -q ssh.service
[ "$kind" = emulated ] || exit 0

# The emulated network card: one fixed address, no lease to wait for.
cat >"$root/etc/systemd/network/10-vm.network" <<'END'
[Match]
Type=ether
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
LinkLocalAddressing=no
IPv6AcceptRA=no
END
chroot "$root" systemctl enable -q systemd-networkd.service ssh.service
mask systemd-networkd-wait-online.service systemd-network-generator.service

# Drivers that udev would load for hardware that nobody needs here: emulated, each costs a good part of a second.
for driver in kvm_amd kvm_intel aesni_intel ghash_clmulni_intel crct10dif_pclmul crc32_pclmul crc32c_intel sha512_ssse3 \
	ata_piix ata_generic evdev serio_raw psmouse button qemu_fw_cfg powernow_k8; do
	echo "blacklist $driver"
done >"$root/etc/modprobe.d/vm.conf"

# The way in: root by key, over one connection that many commands share. No PAM, no session of logind's.
cat >"$root/etc/ssh/sshd_config.d/vm.conf" <<'END'
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
UseDNS no
MaxSessions 200
PrintMotd no
PrintLastLog no
END

# Says on the second serial line that the machine has booted, and which boot this is.
cat >"$root/etc/systemd/system/vm-ready.service" <<'END'
[Unit]
After=multi-user.target ssh.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'exec cat /proc/sys/kernel/random/boot_id >/dev/ttyS1'
[Install]
WantedBy=multi-user.target
END
chroot "$root" systemctl enable -q vm-ready.service
