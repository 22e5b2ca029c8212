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
else
	/usr/bin/systemctl reset-failed 'gpusched*' 2>/dev/null || :
	# Jobs are not part of the package: they go on, and the administrator should know.
	jobs=$(/usr/bin/systemctl list-units --plain --no-legend --state=active,activating,deactivating 'gpujob-*.service' 2>/dev/null | cut -d' ' -f1 | tr '\n' ' ')
	if [ -n "$jobs" ]; then
		echo "gpusched: jobs run on with their GPUs, and nobody watches over them: $jobs" >&2
		echo "gpusched: 'systemctl stop' ends one; a gpusched that is installed before they end finds them again." >&2
	fi
fi
:
