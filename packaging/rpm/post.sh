# Does what the macro %systemd_post does, then creates the group and the directories.
# It enables and starts nothing unless a preset of the distribution or site says so.
if [ "$1" -eq 1 ]; then
	if [ -x /usr/lib/systemd/systemd-update-helper ]; then
		/usr/lib/systemd/systemd-update-helper install-system-units gpusched.socket gpusched.service || :
	elif [ -x /usr/bin/systemctl ]; then
		/usr/bin/systemctl --no-reload preset gpusched.socket gpusched.service || :
	fi
fi
/usr/bin/systemd-sysusers gpusched.conf || :
/usr/bin/systemd-tmpfiles --create gpusched.conf || :
if [ -d /run/systemd/system ]; then
	/usr/bin/systemctl daemon-reload || :
fi
if [ "$1" -eq 1 ] && [ ! -d /var/log/journal ]; then
	echo "gpusched: the journal of this machine is kept in memory, where users cannot read the output of their jobs." >&2
	echo "gpusched: to keep it on disk: mkdir /var/log/journal && systemd-tmpfiles --create --prefix /var/log/journal && journalctl --flush" >&2
fi
:
