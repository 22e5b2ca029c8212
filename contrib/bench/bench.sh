#!/bin/bash
# Measures gpusched in turns with systemd-run and a tuned Slurm, as root on a throw-away machine with slurm.sh and four
# simulated GPUs ('make bench'). It prints each measurement as Go's benchmarks do, for benchstat.
#
#	bench.sh [ROUNDS [PART…]]
set -eu
export LC_ALL=C
rounds=${1:-10}
case $rounds in
*[!0-9]*)
	echo "bench.sh: '$rounds' is no number of rounds, which comes before the parts: 10 $*" >&2
	exit 2
	;;
esac
shift || true
parts=${*:-start handover rate submit run cli list idle queue}
jobs=200 waiting=100000
cd "$(mktemp -d)"
mkfifo mark leave
exec {mark}<>mark {leave}<>leave # held open for both directions: nobody who writes waits for us, and no line is lost

now() { at=${EPOCHREALTIME/./}; } # in microseconds; starts no process

# say FIGURE BY VALUE UNIT
say() { printf 'Benchmark%s/by=%s 1 %s %s\n' "$@"; }

# took FIGURE BY says how long it is since 'from'; rate says it as jobs per second.
took() { now && say "$1" "$2" $(((at - from) * 1000)) ns/op; }
rate() { now && say "$1" "$2" $((jobs * 1000000 / (at - from))) jobs/s; }

# marked waits until a command under measurement says that it runs.
marked() {
	read -r -t 60 -u "$mark" || {
		echo "bench.sh: nothing started within a minute" >&2
		exit 1
	}
}

# wait_for BY COMMAND… runs a command to its end, on a GPU where there is a queue for them.
wait_for() {
	case $1 in
	gpusched) gpusched submit -q --wait -g 1 --env clean -- "${@:2}" ;;
	systemd-run) systemd-run --quiet --wait --collect -- "${@:2}" ;;
	slurm) srun --quiet -n1 --gres=gpu:1 "${@:2}" ;;
	esac >/dev/null
}

# queue COMMAND… queues $jobs jobs with a shell loop and prints what that printed.
queue() { for ((i = 0; i < jobs; i++)); do "$@"; done; }

# start is from the start of the client to the command's first instruction.
start() {
	for by in $(shuf -e gpusched systemd-run slurm); do
		now && from=$at
		wait_for "$by" /bin/sh -c "echo >$PWD/mark" &
		marked
		took Start "$by"
		wait
	done
}

# handover is from the end of a command to the first instruction of the next one on its GPU.
handover() {
	holder=$(gpusched submit -q --gpu-ids 0 --env clean -- /bin/sh -c "echo >$PWD/mark; read x <$PWD/leave")
	marked
	next=$(gpusched submit -q --gpu-ids 0 --env clean -- /bin/sh -c "echo >$PWD/mark")
	now && from=$at
	echo >&"$leave"
	marked
	took Handover gpusched
	gpusched wait "$holder" "$next" >/dev/null
}

# throughput is that of jobs that do nothing, from the first submission to the last end.
throughput() {
	for by in $(shuf -e gpusched systemd-run slurm); do
		now && from=$at
		case $by in
		gpusched) gpusched wait $(queue gpusched submit -q -g 1 --env clean -- true) ;;
		systemd-run) queue wait_for systemd-run true ;;
		slurm)
			queue sbatch -Q -n1 --gres=gpu:1 -o /dev/null --wrap true
			while [ "$(squeue -h)" ]; do sleep .05; done
			;;
		esac >/dev/null
		rate Throughput "$by"
	done
}

# submit is a loop of the client alone: no job starts.
submit() {
	for by in $(shuf -e gpusched slurm); do
		now && from=$at
		case $by in
		gpusched) queue gpusched submit -q --hold --env clean -- true ;;
		slurm) queue sbatch -Q -H -n1 -o /dev/null --wrap true ;;
		esac >/dev/null
		rate Submit "$by"
	done
	gpusched cancel --all -y >/dev/null
	scancel -u root
}

# process FIGURE BY COMMAND… is a whole process.
process() {
	now && from=$at
	"${@:3}" >/dev/null
	took "$1" "$2"
}

# run is a whole command whose output comes to the terminal.
run() {
	process Run gpusched gpusched run -q -g 1 --env clean -- true
	process Run systemd-run systemd-run --quiet --wait --collect --pipe -- true
	process Run slurm srun --quiet -n1 --gres=gpu:1 true
}

cli() {
	process Nothing true /bin/true
	for words in version list status; do process "${words^}" gpusched gpusched $words; done
}

# memory FIGURE is that of all processes of the service.
memory() {
	group=/sys/fs/cgroup$(systemctl show -P ControlGroup gpusched)
	say "$1" gpusched "$(cat $(find "$group" -name cgroup.procs -exec sed 's|.*|/proc/&/smaps_rollup|' {} +) | awk '/^Pss:/ { kib += $2 } END { print kib * 1024 }')" B
}

# fill queues so many held jobs, by 16 clients at once.
fill() {
	now && from=$at
	for _ in {1..16}; do
		yes true | head -n $(($1 / 16)) | gpusched submit -q --hold --env clean --file - >/dev/null &
	done
	wait
	jobs=$1 rate Durable gpusched
}

# killed is from a kill -9 of the daemon until it counts all jobs again.
killed() {
	kill -9 "$(systemctl show -P MainPID gpusched)"
	now && from=$at
	until gpusched status --json 2>/dev/null | grep -q "$waiting"; do :; done
	took KnownAgain gpusched
}

slurm_up() {
	slurm.sh up
	slurm.sh edit 's,^SchedulerParameters=.*,SchedulerParameters=batch_sched_delay=0\,sched_interval=1\,sched_min_interval=0\,bf_interval=1\,default_queue_depth=1000\,bf_max_job_test=1000\,bf_continue\nEpilog=/bin/true,'
}

turns() {
	local round
	for ((round = 0; round < rounds; round++)); do "$@"; done
}

mkdir -p /etc/gpusched/conf.d
cat >/etc/gpusched/conf.d/99-bench.toml <<-END
	[jobs]
	max_queued = 1000000
	[quota.default]
	queued = "none"
	[limits]
	requests = 100000
	burst = 1000000
END
systemctl restart gpusched
[[ $parts != *[a-z]* || $parts == idle || $parts == queue ]] || slurm_up
for part in $parts; do
	case $part in
	start) turns turns start ;; # as many rounds again as of what takes seconds
	handover) turns turns handover ;;
	rate) turns throughput ;;
	submit) turns submit ;;
	run) turns turns run ;;
	cli) turns turns cli ;;
	list)
		fill 10000
		sbatch -Q -H -n1 -o /dev/null --array=0-9999 --wrap true
		turns process List10000 gpusched gpusched list -o ids
		turns process List10000 slurm squeue -h -r -o %i
		gpusched cancel --all -y >/dev/null
		scancel -u root
		;;
	idle)
		systemctl restart gpusched
		gpusched version >/dev/null
		sleep 15
		memory Idle
		;;
	queue)
		fill $waiting
		sleep 13 # the daemon looks every ten seconds for memory to give back
		memory Queue
		for command in list status; do turns process "Queue${command^}" gpusched gpusched $command; done
		turns killed
		;;
	*)
		echo "bench.sh: no part '$part'" >&2
		exit 2
		;;
	esac
done
