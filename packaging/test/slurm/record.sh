#!/bin/sh
# Records what the programs of the Slurm that slurm.sh started print about jobs in every
# state, for the tests of cmd/gpusched-slurm/onslurm. As root: record.sh DIR. It writes one file
# for each query, named after it; \x1f separates the fields of a line. The host names are the
# ones that slurm.sh invents.
set -eu
dir=$1
mkdir -p "$dir"
sep=$(printf '\037')
fields="JobID ArrayJobID ArrayTaskID Name UserName UserID State Reason SubmitTime EligibleTime StartTime EndTime TimeLimit \
tres-alloc tres-per-node tres-per-job tres-per-task NumNodes NumTasks NumCPUs MinMemory NodeList Dependency Comment Nice PriorityLong \
Partition exit_code RestartCnt WorkDir STDOUT"
format=
for f in $fields; do format="$format${format:+,}$f:$sep"; done
past="JobIDRaw,JobID,JobName,User,UID,State,Submit,Eligible,Start,End,Timelimit,ReqTRES,NCPUS,NodeList,ExitCode,Comment,Partition,Reason,Priority"

alice() { setpriv --reuid alice --regid alice --init-groups env HOME=/home/alice USER=alice LC_ALL=C SLURM_TIME_FORMAT=%s "$@"; }
# job OPTIONS… -- COMMAND queues a job of alice's and prints its id.
job() {
	options=
	while [ "$1" != -- ]; do options="$options $1" && shift; done
	shift
	# shellcheck disable=SC2086
	(cd /home/alice && alice sbatch --parsable $options --wrap "$*") | cut -d';' -f1
}
# is ID STATE… waits until a job is in one of these states.
is() {
	id=$1
	shift
	tries=300
	while ! squeue -h -t all -j "$id" -o %T | grep -qE "$(echo "$*" | tr ' ' '|')"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || { echo "record.sh: job $id is not $*" >&2; squeue -t all >&2; exit 1; }
		sleep 0.1
	done
}
# answer NAME COMMAND… saves a command's output, and its status and error if it fails.
answer() {
	name=$1
	shift
	status=0
	(cd /home/alice && alice "$@") >"$dir/$name" 2>"$dir/$name.err" </dev/null || status=$?
	[ "$status" = 0 ] || echo "status $status" >>"$dir/$name.err"
	[ -s "$dir/$name.err" ] || rm "$dir/$name.err"
	[ -s "$dir/$name" ] || rm "$dir/$name"
}

# Jobs that end in each way.
done=$(job --job-name=done --comment="[.gpus=0.5&project=vision]" --gres=shard:2 -- true)
bad=$(job --job-name=bad -- exit 3)
killed=$(job --job-name=killed -- 'kill -SEGV $$')
nodir=$(job --job-name=nodir --chdir=/nowhere -- true)
is "$done" COMPLETED
is "$bad" FAILED
is "$killed" FAILED
is "$nodir" FAILED
cancelled=$(job --job-name=cancelled -- sleep 300)
is "$cancelled" RUNNING
alice scancel "$cancelled"
unborn=$(job --job-name=unborn --hold -- true)
alice scancel "$unborn"
is "$cancelled" CANCELLED
again=$(job --job-name=again --requeue -- sleep 300)
is "$again" RUNNING
alice scontrol requeue "$again"

# Running jobs.
whole=$(job --job-name=whole --gres=gpu:a100:2 --time=2:00:00 --mem=1G --cpus-per-task=2 -- sleep 300)
is "$whole" RUNNING
part=$(job --job-name=part --gres=shard:3 --comment="[.gpus=0.3]" -- sleep 300)
is "$part" RUNNING
array=$(job --job-name=array --array=1-5%2 --output=/home/alice/%A-%a.txt -- sleep 300)
sleep 3
asleep=$(job --job-name=asleep -- sleep 300)
is "$asleep" RUNNING
scontrol suspend "$asleep"

# Jobs that wait for each reason.
job --job-name=resources --gres=gpu:h100:2 --time=1-0 -- sleep 300 >/dev/null
job --job-name=behind --gres=gpu:a100:2 -- sleep 300 >/dev/null
job --job-name=held --hold -- true >/dev/null
admin=$(job --job-name=held-admin -- sleep 300)
scontrol hold "$admin"
job --job-name=later --begin=uts4000000000 --nice=7 -- true >/dev/null
job --job-name=after --dependency=afterok:"$whole":"$part",afterany:"$array" -- true >/dev/null
job --job-name=never --dependency=afterok:"$bad" -- true >/dev/null
job --job-name=node-down --partition=broken -- true >/dev/null
job --job-name=too-long --partition=short --time=1:00:00 -- true >/dev/null
job --job-name=only-type --gres=gpu:h100:1 --constraint=gpu_mem_80gb -- sleep 1 >/dev/null
sleep 8

answer version squeue --version
answer ping scontrol ping
answer config scontrol show config
answer squeue squeue --noheader --all --states=all --sort=-p,i "--Format=$format"
answer squeue-bad squeue --noheader --all "--Format=$format" --jobs=99999
answer squeue-text squeue --all --states=all
answer jobs scontrol show job --oneliner --details
answer job-bad scontrol show job --oneliner --details 99999
answer nodes scontrol show node --oneliner --details
answer partitions scontrol show partition --oneliner
answer sinfo sinfo --all -N -l
answer sacct sacct --allocations --noheader --parsable2 "--delimiter=$sep" --allusers --duplicates "--format=$past"
answer sacct-bad sacct --allocations --noheader --parsable2 "--format=$past" --jobs=99999
answer scancel-bad scancel 99999
answer scancel-ended scancel "$done"
answer hold-bad scontrol hold 99999
answer hold-running scontrol hold "$whole"
answer release-ended scontrol release "$done"
answer update-denied scontrol update "JobId=$whole" TimeLimit=10-0
answer update-bad scontrol update JobId=99999 TimeLimit=1
answer requeue-held scontrol requeue "$admin"
answer sbatch-type sbatch --gres=gpu:nothere:1 --wrap true
answer sbatch-many sbatch --gres=gpu:9 --wrap true
answer sbatch-partition sbatch --partition=nothere --wrap true
answer sbatch-feature sbatch --constraint=nothere --wrap true
answer sbatch-memory sbatch --mem=900G --wrap true
answer sbatch-array sbatch --array=0-99999 --wrap true
answer sbatch-nice sbatch --nice=-5 --wrap true
answer sbatch-depend sbatch --dependency=afterok:x --wrap true
answer sbatch-test sbatch --test-only --gres=gpu:1 --wrap true
answer node-denied scontrol update NodeName=n1 State=DRAIN Reason=x
pid=$(cat /var/lib/slurm-test/slurmctld.pid)
kill "$pid"
while [ -e "/proc/$pid" ]; do sleep 0.1; done
answer down-ping scontrol ping
answer down-squeue timeout 20 squeue --noheader
answer down-sbatch timeout 20 sbatch --wrap true
