# Does what the macro %systemd_preun does. Jobs run in units of their own and go on.
if [ "$1" -eq 0 ]; then
	units="gpusched-web.socket gpusched.socket gpusched.service gpusched-metrics.socket gpusched-metrics.service gpusched-job-mapping.service gpusched-textfile.timer"
	if [ -x /usr/lib/systemd/systemd-update-helper ]; then
		/usr/lib/systemd/systemd-update-helper remove-system-units $units || :
	elif [ -x /usr/bin/systemctl ]; then
		/usr/bin/systemctl --no-reload disable --now $units || :
	fi
	/usr/bin/systemctl stop gpusched-textfile.service 2>/dev/null || :
	# node_exporter would go on telling the last figures. The unit, which is still
	# there, knows where a drop-in of the site has them put.
	dir=$(/usr/bin/systemctl show -P Environment gpusched-textfile.service 2>/dev/null | tr ' ' '\n' | sed -n 's/^TEXTFILE_DIR=//p')
	rm -rf /usr/share/gpusched/python/__pycache__ /usr/share/gpusched/python/gpusched/__pycache__ # of a pip that root ran
	rm -f "${dir:-/var/lib/prometheus/node-exporter}/gpusched.prom"
fi
:
