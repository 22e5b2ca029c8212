package config

import "github.com/gpusched/gpusched/daemon/job"

func jobKeys(in, _ string) []key {
	return []key{
		{section: in, name: "default_mem", doc: "Host memory of a job that requests none (--mem): auto, none (no limit) or a size. With auto, each GPU of a job counts for an equal part of 75 % of the machine's memory, or of what a user may have (quota.default.mem) if that is less. A job without a GPU gets a 32nd of the memory, at least 512M and at most 8G.",
			bind: func(c *Config) value { return defaultMem(&c.Jobs.DefaultMem) }},
		{section: in, name: "default_time", doc: "Time limit of a job that requests none (--time). Empty: max_time.",
			bind: func(c *Config) value { return timeOrNone(&c.Jobs.DefaultTime, second, longest) }},
		{section: in, name: "max_time", doc: "The longest time limit that a job may request. If it is set, every job has a limit. Empty: no bound, and jobs may run for ever.",
			bind: func(c *Config) value { return timeOrNone(&c.Jobs.MaxTime, second, longest) }},
		{section: in, name: "default_grace", doc: "Time between SIGTERM and SIGKILL for a job that requests none (--grace).",
			bind: func(c *Config) value { return timeBetween(&c.Jobs.DefaultGrace, second, day) }},
		{section: in, name: "max_grace", doc: "The longest grace that a job may request. It also bounds the time between the signal of --signal and the stop when a job is preempted.",
			bind: func(c *Config) value { return timeBetween(&c.Jobs.MaxGrace, second, day) }},
		{section: in, name: "max_mem", doc: "The most host memory that a job may request (--mem). If it is set, every job has a limit. None: what the machine has.",
			bind: func(c *Config) value { return sizeOrNone(&c.Jobs.MaxMem) }},
		{section: in, name: "mem_return", doc: "After which time a job that requested no host memory (--mem) lends what it does not use, and the margin above its peak use that it keeps, such as 20%@10m. The files that it has read do not count as used. What it lends remains its own: it is never killed for having lent it. Once it comes near what it has kept, it gets back what is free, before any new job starts. If the memory is in use by other jobs, the kernel slows it down until enough of these have ended. Empty: nothing is lent.",
			bind: func(c *Config) value { return memReturn(&c.Jobs.MemReturn) }},
		{section: in, name: "allowed_paths", doc: "Programs that jobs may run: paths, directories, and patterns such as /home/*/jobs (a * matches within one name). For python, bash and the like the path of their script counts. Empty: everything. This guards against mistakes and is no security boundary: only the words of the submission are compared, links are not followed, and an allowed program can run any other.",
			bind: func(c *Config) value { return programs(&c.Jobs.AllowedPaths) }},
		{section: in, name: "log", doc: "A log file for each job that names none with --log, in addition to the journal, such as %h/gpusched-logs/%j.log: an absolute path, or one that begins with %h/, the home of the job's user. It must contain %j, the job's number, and may contain %A, %n, %u and %%, see gpusched-submit(1). The job's user opens the file and creates a missing directory; if that fails, the job still runs. A directory outside of homes must exist with mode 1777, because one that a user creates would be open to that user alone. A symbolic link that another user has put in its place is not followed. Empty: none.",
			bind: func(c *Config) value { return logPath(&c.Jobs.Log) }},
		{section: in, name: "cpus", doc: "CPUs that jobs may request together (--cpus): a percentage of the machine's, or a number. A job that requests more than are left waits. None: CPUs are not counted, and --cpus only limits CPU time. CPUs that are added or removed while the machine runs count within seconds; running jobs are not affected.",
			bind: func(c *Config) value { return cpusOrNone(&c.Jobs.CPUs) }},
		{section: in, name: "default_cpus", doc: "CPUs that jobs with all GPUs count for if they request none (--cpus); a job with a quarter of the GPUs counts for a quarter. This is no limit, and such a job never waits for CPUs: if fewer are left, it counts for those. A percentage of jobs.cpus, or a number. None: such jobs count for no CPUs. Jobs without a GPU never do, so that many of them can run on few CPUs and share their time.",
			bind: func(c *Config) value { return cpusOrNone(&c.Jobs.DefaultCPUs) }},
		{section: in, name: "tasks_max", doc: "The most processes and threads of one job.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.TasksMax, 16, 4_194_304) }},
		{section: in, name: "max_running", doc: "The most jobs running at once, including those without a GPU.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.MaxRunning, 1, 100_000) }},
		{section: in, name: "share_without_gpu", doc: "On a machine with GPUs, the part of max_running, of the host memory for jobs and of their CPUs (cpus) that jobs without a GPU may have together, so that a job for a free GPU still finds a place, memory and CPUs: a percentage such as 50, or a fraction such as 0.5. A job without a GPU that requests more memory than that runs while no other such job does. 100: all, so that jobs without a GPU can keep every GPU job waiting.",
			bind: func(c *Config) value { return percent(&c.Jobs.ShareWithoutGPU) }},
		{section: in, name: "max_queued", doc: "The most jobs waiting at once. Further submissions are refused.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.MaxQueued, 1, 1_000_000) }},
		{section: in, name: "requeue", doc: "Whether a job with neither --requeue nor --no-requeue starts again from the beginning after a reboot, and once after its GPU was found to fail jobs.",
			bind: func(c *Config) value { return onOff(&c.Jobs.Requeue) }},
		{section: in, name: "max_suspend", doc: "The longest that a job's owner may suspend it in total (gpusched suspend): a suspended job keeps its GPUs without using them. It resumes by itself after this time, or 5 minutes after another user's job began to wait longer because of it. Administrators may suspend jobs for any time. Empty: no bound.",
			bind: func(c *Config) value { return timeOrNone(&c.Jobs.MaxSuspend, second, longest) }},
		{section: in, name: "max_retries", doc: "The most retries after a failure that a job may request (--retries). 0: none.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.MaxRetries, 0, job.MaxRetries) }},
		{section: in, name: "default_retries", doc: "Retries after a failure for a job that requests none (--retries), at most max_retries. A command that is itself at fault fails that many times more.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.DefaultRetries, 0, job.MaxRetries) }},
		{section: in, name: "default_backoff", doc: "Time before the first retry of a job that requests none (--backoff). It doubles with each further retry, up to an hour.",
			bind: func(c *Config) value { return timeBetween(&c.Jobs.DefaultBackoff, second, job.MaxBackoff) }},
		{section: in, name: "default_on_timeout", doc: "What to do with a job that reaches its time limit and has no --on-timeout: kill (it ends as timed out) or requeue (it is stopped and queued again behind the others).",
			bind: func(c *Config) value {
				return oneOf(&c.Jobs.DefaultOnTimeout, "an action", job.TimeoutKill, job.TimeoutRequeue)
			}},
		{section: in, name: "allow_raised_priority", doc: "Whether every user may give jobs a priority above normal. Otherwise only administrators may.",
			bind: func(c *Config) value { return onOff(&c.Jobs.AllowRaisedPriority) }},
		{section: in, name: "snapshot", doc: "What is kept of the code of a job without --snapshot: off (nothing), or script, as Slurm does: if the command is a script that begins with #!, the job runs a copy that the client makes at the submission, under ~/.local/state/gpusched/scripts. In the copy, $0 is another path. With allowed_paths, such a copy counts as a program like any other.",
			bind: func(c *Config) value { return oneOf(&c.Jobs.Snapshot, "a choice", SnapshotOff, SnapshotScript) }},
		{section: in, name: "allow_sandboxed", doc: "Whether processes in a sandbox may submit jobs, and use attach and exec on jobs that start after this is set. A process is in a sandbox if it may do less than its account: with no new privileges, a filter of system calls, a reduced set of capabilities or an AppArmor profile (a hardened service, a sandboxed editor or agent), in another user, pid or network namespace, or with another root directory (a container that sees the socket). The job runs outside of the sandbox, with everything that the account may do.",
			bind: func(c *Config) value { return onOff(&c.Jobs.AllowSandboxed) }},
		{section: in, name: "scratch", doc: "A directory on a fast disk of this machine, such as /nvme/gpusched, in which each start of a job gets a directory of its own that only its user can open: TMPDIR and GPUSCHED_SCRATCH name it, and containers have it. It is removed when the job, or this start of it, has ended. The directory must exist, belong to root, and be writable for root alone (mode 755), or be sticky like /tmp, and so must all above it. Empty: TMPDIR is the submitter's.",
			bind: func(c *Config) value { return scratchPath(&c.Jobs.Scratch) }},
		{section: in, name: "scratch_keep", doc: "How long the scratch directory of a job that failed is kept, for its user to look into. Empty: it is removed at once.",
			bind: func(c *Config) value { return timeOrNone(&c.Jobs.ScratchKeep, second, longest) }},
		{section: in, name: "framework_hints", doc: "Whether a job with a part of a GPU gets variables that keep JAX and TensorFlow within its part of the GPU's memory, see ENVIRONMENT OF A JOB in gpusched(1). Otherwise JAX takes 75 % of the GPU.",
			bind: func(c *Config) value { return onOff(&c.Jobs.FrameworkHints) }},
	}
}

func classKeys(in, name string) []key {
	return []key{
		{section: in, name: "max_time", doc: "The longest time limit that a job of this class may request, if jobs.max_time allows more. If it is set, every job of the class has a limit. Empty: jobs.max_time alone counts.",
			bind: func(c *Config) value {
				class := c.Classes[classOf(name)]
				return entryValue{timeOrNone(&class.MaxTime, second, longest), func() { c.Classes[classOf(name)] = class }}
			}},
	}
}
