# Does what the macro %systemd_postun_with_restart does, for the daemon alone: the
# socket accepts connections meanwhile.
if [ -d /run/systemd/system ]; then
	/usr/bin/systemctl daemon-reload || :
fi
if [ "$1" -ge 1 ]; then
	if [ -x /usr/lib/systemd/systemd-update-helper ]; then
		/usr/lib/systemd/systemd-update-helper mark-restart-system-units gpusched.service || :
	elif [ -d /run/systemd/system ]; then
		/usr/bin/systemctl try-restart gpusched.service || :
	fi
fi
:
