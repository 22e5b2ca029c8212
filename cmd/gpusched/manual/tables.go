package manual

import "github.com/gpusched/gpusched/daemon/job"

// These are the tables of gpusched(1). Tests compare them with the code.

// Entry is a word and its meaning.
type Entry struct{ Word, Text string }

// exitStatuses lists the exit statuses (invariant 2 of the command line).
var exitStatuses = []Entry{
	{"0", "Done."},
	{"1", "It went wrong; the message says why."},
	{"2", "The command line is wrong."},
	{"3", "There is no such job or GPU."},
	{"4", "Not permitted."},
	{"5", "The scheduler cannot be reached."},
	{"6", "This machine can never do what is asked."},
	{"7", "'gpusched wait --timeout' gave up."},
	{"8", "Refused by the site's rules."},
	{"9", "health, doctor: something works, but not as it should."},
	{"124", "run, wait, submit --wait: the job reached its time limit."},
	{"125", "run, wait, submit --wait: the job did not start, for another reason than 126 or 127, or gpusched itself failed."},
	{"126", "run, wait, submit --wait: the job's command could not be executed (no x-bit, a directory, not a program). A shell ends with this status too if it could not execute its last command."},
	{"127", "run, wait, submit --wait: the job's command, or the interpreter in its first line, was not there. A shell ends with this status too if it did not find its last command."},
	{"128+N", "run, wait, submit --wait: signal N ended the job; 137 also if it ran out of memory. 130: Ctrl-C ended gpusched, and the job went on."},
	{"other", "run, wait, submit --wait: the exit status of the job's command."},
}

// reasons explains each reason for waiting.
var reasons = []Entry{
	{string(job.ReasonGPUBusy), "Another job has the GPU, or several share it."},
	{string(job.ReasonGPUMemory), "Less of the GPU's memory is actually free than --gpu-mem asks for; processes outside gpusched may hold the rest."},
	{string(job.ReasonGPUPaused), "An administrator keeps jobs off the GPU."},
	{string(job.ReasonGPUUnknown), "The driver does not answer, so nothing is started on the GPU. Jobs on it go on."},
	{string(job.ReasonGPULost), "The driver says that the GPU is gone or broken. An administrator has to look at it."},
	{string(job.ReasonGPUSick), "The GPU reported an error after which it must be reset or checked before it is used again. Jobs on it go on."},
	{string(job.ReasonGPUCleaning), "A job has just left the GPU, which is being checked for anything that the job left there."},
	{string(job.ReasonGPUSuspect), "Something that an ended job left is still on the GPU, and an administrator has to look at it. Or several jobs in a row failed there at once while others did well on other GPUs: the GPU is tried again after a while."},
	{string(job.ReasonGPUExcluded), "The job may not use this GPU (--gpu-ids, --gpus-from, --exclude-gpus)."},
	{string(job.ReasonGPUNoParts), "The job asks for a part of a GPU, and the site gives this GPU only as a whole (gpus.parts_on)."},
	{string(job.ReasonGPUType), "The GPU is not of the type asked for (--gpu-type)."},
	{string(job.ReasonGPUFree), "This GPU would do; the job needs more than one."},
	{string(job.ReasonGPUCount), "The job needs more GPUs at once than are available now."},
	{string(job.ReasonHostMemory), "Too little host memory is left for this job; the rest is promised to running jobs (--mem)."},
	{string(job.ReasonHostCPUs), "Too few CPUs are left for this job; the rest are promised to running jobs (--cpus)."},
	{string(job.ReasonMaxRunning), "The site allows no more jobs to run at once."},
	{string(job.ReasonNoGPUJobs), "Jobs without a GPU have taken all the places that they may take; the other places are kept for GPU jobs."},
	{string(job.ReasonNoGPUMemory), "Jobs without a GPU may have only part of the host memory, and too little of that part is left for this job (--mem)."},
	{string(job.ReasonNoGPUCPUs), "Jobs without a GPU may have only part of the CPUs, and too few of these are left for this job (--cpus)."},
	{string(job.ReasonChecking), "The GPUs look free; they are checked once more before the job starts."},
	{string(job.ReasonNoSample), "The scheduler has just started and has not seen the GPUs yet."},
	{string(job.ReasonGPUShare), "Other jobs share the GPU, and the fraction asked for is not free."},
	{string(job.ReasonGPUDrained), "An administrator takes the GPU out of service; nothing new is started on it."},
	{string(job.ReasonGPULoad), "The GPU is busier than --max-load, or the site, allows."},
	{string(job.ReasonGPUUsed), "More of the GPU's memory is in use than --max-used, or the site, allows."},
	{string(job.ReasonGPUForeign), "A process that belongs to no job computes on the GPU or has much of its memory, or processes that the driver does not list have much of it. A job that asks for whole GPUs does not share one with them, unless it says with --gpu-mem or --max-used how much memory it needs (--max-load says nothing about memory)."},
	{string(job.ReasonGPUKept), "The GPU is kept for a job that is ahead of this one. A job that ends before that one can start may still run on it."},
	{string(job.ReasonGPUReserved), "An administrator has reserved the GPU for others, now or before the job would end."},
	{string(job.ReasonMachineEnd), "The machine is to reboot or to shut down, and the job may still run then (by its time limit, by what similar jobs took, or else for a day). Preemptible jobs that are queued again do not wait."},
	{string(job.ReasonDrained), "An administrator keeps all jobs from starting, see 'gpusched daemon drain'."},
	{string(job.ReasonTooMuch), "At present the job asks for more than it can have: since it was submitted, a quota was lowered, or the machine lost GPUs, CPUs or memory. It can start once that is undone, or once 'gpusched update' makes it ask for less."},
	{string(job.ReasonHeld), "The job is held, see 'gpusched release'."},
	{string(job.ReasonDependency), "Another job has to start or end first (--after and the like)."},
	{string(job.ReasonBegin), "The time given with --begin has not come."},
	{string(job.ReasonBackoff), "The job failed and is tried again (--retries) after a while (--backoff); or it could not be started for a reason outside the job, and is tried again."},
	{string(job.ReasonFailures), "As many tasks of the array have failed as --max-failures allows; 'gpusched release' lets the others start."},
	{string(job.ReasonArrayLimit), "As many tasks of the array run as its limit allows (--array 0-9%2)."},
	{string(job.ReasonQuotaGPUs), "The user's or group's quota of GPUs at once is used up."},
	{string(job.ReasonQuotaJobs), "The user's or group's quota of running jobs is used up."},
	{string(job.ReasonQuotaMem), "The user's or group's quota of host memory at once leaves less than the job asks for (--mem)."},
	{string(job.ReasonQuotaCPUs), "The user's or group's quota of CPUs at once leaves fewer than the job asks for (--cpus)."},
	{string(job.ReasonQuotaKept), "The rest of a quota of the user or group is kept for another of its jobs, which is ahead of this one and needs more of it. A job that ends before that one can start, or leaves it enough, may still start."},
	{string(job.ReasonAccount), "The account of the job's user has expired: its jobs start some minutes after an administrator has renewed it (chage -E). Or several of the user's jobs could not be started for a reason outside these jobs: one is tried at a time, and the others go on when one starts. Or starts of the user's jobs take so long that no further one begins before they are over, for example because one of the user's own processes stops them, or because a directory is slow to name the user's groups."},
	{string(job.ReasonTurn), "The job has what it asked for, and waits to be started: only so many jobs are started at the same time (daemon.starts_in_flight), of each user in turn."},
	{string(job.ReasonGone), "The account that submitted the job is gone, and another account has its uid now. An administrator cancels the job, or releases it if the account was only renamed: it then runs as that other account."},
	{string(job.ReasonStarts), "Jobs of several users could not be started because of the machine; the reason names the cause. One job is tried at a time, and all go on by themselves when one starts."},
	{string(job.ReasonQuotaHours), "The user or group has used its quota of GPU-hours lately. Past use counts less and less."},
}

// States returns each state of a job with its meaning.
func States() []Entry { return states }

var states = []Entry{
	{string(job.Queued), "It waits."},
	{string(job.Spawned), "Every task of an array has become a job, and not all have ended."},
	{string(job.Starting), "It has its GPUs, and systemd starts its unit."},
	{string(job.Running), "Its command runs."},
	{string(job.Ending), "Its command has ended, and what it left behind is being cleaned up."},
	{string(job.Completed), "It ended with exit status 0."},
	{string(job.Failed), "It ended with another exit status, by a signal, or could not be started."},
	{string(job.Cancelled), "It was cancelled by its owner, an administrator or a rule of the site, or what it waited for can no longer happen."},
	{string(job.TimedOut), "It reached its time limit."},
	{string(job.OutOfMemory), "It was killed for memory: for going over its limit, or because the host ran out. The result says which, where that is known."},
	{string(job.GPUOutOfMemory), "It was stopped for using more GPU memory than it was promised, when another job on the GPU was short of its own. A program that runs out of GPU memory by itself fails like any other."},
	{string(job.Lost), "Its unit is gone, for example after a reboot, and how it ended is not known."},
}

// jobVariables lists the environment variables that gpusched adds for a job.
var jobVariables = []Entry{
	{"CUDA_VISIBLE_DEVICES", "The job's GPUs as CUDA counts them: 0, 1, … of those it can open, whatever their indexes on the machine; UUIDs with --gpu-visible uuid; empty without GPUs."},
	{"CUDA_DEVICE_ORDER", "PCI_BUS_ID."},
	{"NVIDIA_VISIBLE_DEVICES", "The UUIDs of the job's GPUs."},
	{"PYTHONUNBUFFERED", "1, so that Python prints at once; with -e PYTHONUNBUFFERED= it prints by the block, which is faster. What the submitter or the site has set stays."},
	{"MASTER_ADDR, MASTER_PORT, PET_MASTER_PORT", "127.0.0.1 and a port (20000 to 29999) that no other job has and that was free at the start, for frameworks whose processes meet there; PET_MASTER_PORT is what torchrun reads. What the submitter or the site has set stays. Where others have taken the four ports of the job, the job's output says which one it got."},
	{"SLURM_*", "With --compat slurm: JOB_ID, JOBID, JOB_NAME, JOB_USER, ARRAY_JOB_ID, ARRAY_TASK_ID, CPUS_PER_TASK, CPUS_ON_NODE, GPUS, GPUS_ON_NODE, JOB_GPUS (indexes in the machine), MEM_PER_NODE (MiB), SUBMIT_DIR (the job's), JOB_NODELIST, NODELIST, NNODES, JOB_NUM_NODES, NTASKS, NPROCS, TASKS_PER_NODE, PROCID, LOCALID, NODEID and RESTART_COUNT. A variable about something that was not asked for is missing."},
	{"GPUSCHED_JOB_ID", "The number of the job."},
	{"GPUSCHED_ATTEMPT", "1 for the first start. It is higher if the job was started again: as a retry, after a reboot, or after it was stopped for another job."},
	{"GPUSCHED_GPU_SHARE", "How many GPUs the job has, such as 0.5 or 2."},
	{"GPUSCHED_ARRAY_JOB", "In a task of an array, the number of the array."},
	{"GPUSCHED_ARRAY_TASK", "In a task of an array, the number of the task."},
	{"GPUSCHED_GPU_IDS", "The indexes of the job's GPUs on the machine, such as 0,2."},
	{"GPUSCHED_GPU_UUIDS", "Their UUIDs."},
	{"GPUSCHED_GPU_MEM_MIB", "What --gpu-mem asked for, in MiB."},
}

// ownSettings lists the environment variables that gpusched itself reads.
var ownSettings = []Entry{
	{"GPUSCHED_SOCKET", "Path of the scheduler's socket. Default: /run/gpusched/gpusched.sock, or your own scheduler's socket if the machine has none. Jobs of your own scheduler have it set."},
	{"GPUSCHED_ENGINE", "What runs the jobs: local, the scheduler of this machine, or slurm; see ON SLURM."},
	{"GPUSCHED_HOSTS", "The machines that status, list, gpus, why and top ask, as a,b,c; see SEVERAL MACHINES (--hosts)."},
	{"NO_COLOR", "Where it is set, nothing is coloured. Colour is used on terminals only."},
	{"COLUMNS", "Width of the terminal, instead of the width that the terminal reports."},
}

// This table lists files that a user may meet.
var files = []Entry{
	{"/run/gpusched/gpusched.sock", "The socket of the scheduler."},
	{"$XDG_RUNTIME_DIR/gpusched/gpusched.sock", "The socket of your own scheduler."},
	{"/etc/gpusched/gpusched.toml", "Settings of the site, see gpusched.toml(5)."},
	{"/etc/gpusched/client.toml", "Which schedulers gpusched asks: engine = \"slurm\", see ON SLURM, and hosts = [\"a\", \"b\"], see SEVERAL MACHINES (--hosts)."},
	{"~/.config/gpusched/client.toml", "The same for you alone. It takes precedence over the site's."},
}
