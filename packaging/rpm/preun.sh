# What the macro %systemd_preun does. Jobs run in units of their own and go on.
if [ "$1" -eq 0 ]; then
	if [ -x /usr/lib/systemd/systemd-update-helper ]; then
		/usr/lib/systemd/systemd-update-helper remove-system-units gpusched-web.socket gpusched.socket gpusched.service || :
	elif [ -x /usr/bin/systemctl ]; then
		/usr/bin/systemctl --no-reload disable --now gpusched-web.socket gpusched.socket gpusched.service || :
	fi
fi
:
