# What the macro %systemd_preun does. Jobs run in units of their own and go on.
if [ "$1" -eq 0 ]; then
	if [ -x /usr/lib/systemd/systemd-update-helper ]; then
		/usr/lib/systemd/systemd-update-helper remove-system-units gpusched-web.socket gpusched.socket gpusched.service gpusched-metrics.socket gpusched-metrics.service gpusched-job-mapping.service gpusched-textfile.timer || :
	elif [ -x /usr/bin/systemctl ]; then
		/usr/bin/systemctl --no-reload disable --now gpusched-web.socket gpusched.socket gpusched.service gpusched-metrics.socket gpusched-metrics.service gpusched-job-mapping.service gpusched-textfile.timer || :
	fi
fi
:
