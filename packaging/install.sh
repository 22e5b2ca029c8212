#!/bin/sh
# Installs the built files below $DESTDIR; 'make install' builds them first. The
# packages do the same and more: use them where you can.
set -eu
cd "$(dirname "$0")/.."
root=${DESTDIR:-}
units=${UNITDIR:-/usr/lib/systemd/system}

program() { install -D -m 755 "bin/$1" "$root$2/$1"; }
file() { install -D -m 644 "$1" "$root$2"; }

program gpusched /usr/bin
program gpuschedd /usr/libexec/gpusched
program gpusched-nvml /usr/libexec/gpusched
program gpusched-job /usr/libexec/gpusched
program gpusched-accounts /usr/libexec/gpusched
program gpusched-notify /usr/libexec/gpusched
program gpusched-slurm /usr/libexec/gpusched
program gpusched-top /usr/libexec/gpusched
program gpusched-mcp /usr/libexec/gpusched
program gpusched-web /usr/libexec/gpusched
program gpusched-metrics /usr/libexec/gpusched
install -d -m 755 "$root/usr/sbin"
ln -sf ../libexec/gpusched/gpuschedd "$root/usr/sbin/gpuschedd"
[ -e "$root/etc/gpusched/gpusched.toml" ] || file .out/stage/gpusched.toml /etc/gpusched/gpusched.toml
install -d -m 755 "$root/etc/gpusched/conf.d"
file packaging/needrestart/gpusched.conf /etc/needrestart/conf.d/gpusched.conf
for unit in gpusched.service gpusched.socket gpusched-devices.service gpusched-accounts.service gpusched-accounts.socket gpusched-web.service gpusched-web.socket gpujobs.slice \
	gpusched-metrics.service gpusched-metrics.socket gpusched-job-mapping.service gpusched-textfile.service gpusched-textfile.timer \
	gpujob-.service.d/10-gpusched.conf gpujobs-.slice.d/10-gpusched.conf; do
	file "packaging/systemd/$unit" "$units/$unit"
done
file packaging/systemd/gpusched-watch@.service /usr/lib/systemd/user/gpusched-watch@.service
for unit in gpusched.service gpusched.socket; do
	file "packaging/systemd/user/$unit" "/usr/lib/systemd/user/$unit"
done
for place in user-.slice:slice user-0.slice:root cron.service:service crond.service:service atd.service:service; do
	file "packaging/fence/${place#*:}.conf" "/usr/share/gpusched/fence/${place%:*}.d/50-gpusched-fence.conf"
done
file packaging/logind/50-gpusched.conf /usr/share/gpusched/logind/50-gpusched.conf
for text in prometheus/gpusched.rules.yml prometheus/prometheus.yml grafana/gpusched.json; do
	file "contrib/$text" "/usr/share/gpusched/$text"
done
for text in pyproject.toml build_wheel.py gpusched/__init__.py; do
	file "contrib/python/$text" "/usr/share/gpusched/python/$text"
done
file contrib/schema/gpusched.v1.json /usr/share/gpusched/gpusched.v1.json
file packaging/sysusers.d/gpusched.conf /usr/lib/sysusers.d/gpusched.conf
file packaging/tmpfiles.d/gpusched.conf /usr/lib/tmpfiles.d/gpusched.conf
file packaging/completions/gpusched.bash /usr/share/bash-completion/completions/gpusched
file packaging/completions/gpusched.fish /usr/share/fish/vendor_completions.d/gpusched.fish
file packaging/completions/_gpusched /usr/share/zsh/site-functions/_gpusched
for page in .out/stage/man/man*/*.gz; do
	file "$page" "/usr/share/man/$(basename "$(dirname "$page")")/$(basename "$page")"
done

if [ -z "$root" ]; then
	echo "Next: systemd-sysusers; systemd-tmpfiles --create gpusched.conf; systemctl daemon-reload; systemctl enable gpusched; systemctl restart gpusched"
fi
