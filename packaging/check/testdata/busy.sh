# Makes a machine with four simulated GPUs busy: jobs in every state that lasts, and whatever else a state file has.
# At the end each job stays as it is.
set -eu
alice() { runuser -u alice -- env --chdir=/tmp gpusched "$@"; }
bob() { runuser -u bob -- env --chdir=/tmp gpusched "$@"; }
until_shows() { timeout 120 sh -c 'until gpusched show "$1" --json | tr -d " " | grep -q "$2"; do sleep 0.1; done' - "$@"; }

mknod -m 666 /dev/nvidia-uvm c 237 0 # with CUDA, jobs can be parked
ln -s /usr/local/lib/fakecuda/libcuda.so.1 /usr/lib/x86_64-linux-gnu/
echo ms_per_gib=10 >/run/fakenvml/park
install -d -m 1777 /srv/scratch /etc/gpusched/conf.d
cat >/etc/gpusched/conf.d/busy.toml <<END
[gpus]
sample_interval = "250ms"
[jobs]
scratch = "/srv/scratch"
[park]
allow = true
[quota.group.alice]
gpus = 4
[quota.user.bob]
gpu_hours = 1000
share = 2
[lane.matlab]
jobs = 1
[notify.webhook.chat]
url = "http://127.0.0.1:9/"
END
gpusched config check
systemctl reload gpusched
timeout 60 sh -c 'until gpusched gpus | grep -q A100 && ! gpusched health | grep -q "no libcuda.so.1" && ! gpusched gpus | grep -q cleaning; do sleep 0.1; done'

# Jobs that have ended.
alice submit -q -g 1 -n done --tag study=a --comment "the first" --dedup --wait -- true
bob submit -q -g 0 -n wrong --wait -- sh -c 'exit 3' || test $? = 3
bob submit -q -g 1 -n killed --retries 1 --backoff 1s --wait -- sh -c 'kill -9 $$' || test $? = 137
bob submit -q -g 0 -n late -t 1s --grace 1s --notify end --notify-to chat --wait -- sleep 60 || true
alice submit -q -g 0 -n sweep --array 0-3%2 --wait -- sh -c 'exit $GPUSCHED_ARRAY_TASK' || true
gone=$(alice submit -q -g 4 -n gone -- sleep 3600)
until_shows "$gone" '"state":"running"'
alice cancel "$gone"
alice wait "$gone" || true

# Jobs that run or are parked or suspended.
half=$(alice submit -q -g 0.5 --gpu-mem 10G --mem 100M -c 1 -n half --gpu-ids 0 -- simcuda --mem 4G --hold 3600)
other=$(bob submit -q -g 0.5 --gpu-mem 10G -n other --gpu-ids 0 --preemptible --signal USR1@60s -t 2d -p low -- sleep 3600)
parked=$(alice submit -q -g 1 -n parked --gpu-ids 1 -- simcuda --mem 1G --hold 3600)
frozen=$(bob submit -q -g 1 -n frozen --gpu-ids 2 -- sleep 3600)
until_shows "$frozen" '"state":"running"'
until_shows "$parked" '"used_bytes":[1-9]'
gpusched suspend "$frozen"
gpusched park "$parked"
until_shows "$parked" '"state":"parked"'
instead=$(alice submit -q -g 1 -n instead --gpu-ids 1 -- sleep 3600)
many=$(alice submit -q -g 0 -n many --array 0-5%1 --lane matlab -- sleep 3600)
for job in "$half" "$other" "$instead" "${many}_0"; do until_shows "$job" '"state":"running"'; done

# Jobs that wait.
gpusched gpu drain 3 --reason "a fan is loud"
gpusched reserve make --gpus 3 --from +1d --for 1d --user bob --reason "a course"
last=$(alice submit -q -g 2 -t 1h -n wide --env clean -e MODE=wait -- sh -c 'echo "$MODE"')
gpusched update "$last" --priority high
alice submit -q -g 1 -t 1h -n after --after-ok "$last" -- true
alice submit -q -g 1 -t 1h -n held --hold -- true
bob submit -q -g 0 -n later --begin +30d -- true
bob submit -q -g 0 -n lane --lane matlab -- true
bob submit -q -g 1 -t 1h -n grid --array 0-9%2 --after-any "$last" -- true

