package config

import "github.com/gpusched/gpusched/daemon/job"

func jobKeys(in, _ string) []key {
	return []key{
		{section: in, name: "default_mem", doc: "Host memory of a job that asks none (--mem): auto, none (no limit) or a size. Auto is 75 % of the machine's memory, or what a user may have (quota.default.mem) where that is less, divided by its number of GPUs, for each GPU of the job; a job without a GPU gets a 32nd of the memory, at least 512M and at most 8G.",
			bind: func(c *Config) value { return defaultMem(&c.Jobs.DefaultMem) }},
		{section: in, name: "default_time", doc: "Time limit of a job that asks none (--time). Empty: the same as max_time.",
			bind: func(c *Config) value { return timeOrNone(&c.Jobs.DefaultTime, second, longest) }},
		{section: in, name: "max_time", doc: "The longest time limit a job may ask for; with it every job has a limit. Empty: no bound, and jobs may run for ever.",
			bind: func(c *Config) value { return timeOrNone(&c.Jobs.MaxTime, second, longest) }},
		{section: in, name: "default_grace", doc: "Time between SIGTERM and SIGKILL when a job is ended and did not ask for one (--grace).",
			bind: func(c *Config) value { return timeBetween(&c.Jobs.DefaultGrace, second, day) }},
		{section: in, name: "max_grace", doc: "The longest grace a job may ask for, and the longest that a job with --signal is left between the signal and its stop when it makes room for another.",
			bind: func(c *Config) value { return timeBetween(&c.Jobs.MaxGrace, second, day) }},
		{section: in, name: "max_mem", doc: "The most host memory a job may ask for (--mem); with it every job has a limit. None: what the machine has.",
			bind: func(c *Config) value { return sizeOrNone(&c.Jobs.MaxMem) }},
		{section: in, name: "allowed_paths", doc: "Directories, programs and patterns such as /home/*/jobs (a * is within one name) that jobs may be run out of, by the path of the script where python, bash and the like are given one. Empty: everywhere. It guards against mistakes and is no fence: the words of the submission are compared, links are not followed, and a program that is allowed can run any other.",
			bind: func(c *Config) value { return programs(&c.Jobs.AllowedPaths) }},
		{section: in, name: "log", doc: "A file for the output of each job that names none with --log, besides the journal, such as %h/gpusched-logs/%j.log: an absolute path, or one that begins with %h/ for the home of the job's user. %j is the job and has to be in it; also %A, %n, %u and %%, see gpusched-submit(1). The job's user opens it, and makes the directory where it is missing; where that fails the job runs all the same. A directory that is not in a home has to be there before, with the mode 1777: the first user's would be that user's alone. A symbolic link that another user has put in its place is not followed. Empty: none.",
			bind: func(c *Config) value { return logPath(&c.Jobs.Log) }},
		{section: in, name: "cpus", doc: "CPUs that jobs may ask for together (--cpus): a percentage of the machine's, or a number. A job that asks more than is left waits. None: CPUs are not counted, and --cpus is a limit of CPU time alone. CPUs that come or go while the machine runs are counted within seconds; running jobs are not affected.",
			bind: func(c *Config) value { return cpusOrNone(&c.Jobs.CPUs) }},
		{section: in, name: "default_cpus", doc: "For how many CPUs jobs count that name none (--cpus) and have all GPUs together; one that has a quarter of the GPUs counts for a quarter. It is no limit, and such a job never waits for CPUs: where fewer are left it counts for these. A percentage of jobs.cpus, or a number. None: they count for none. Those that ask no GPU never do, so that many of them can run on few CPUs: the kernel shares the time among them.",
			bind: func(c *Config) value { return cpusOrNone(&c.Jobs.DefaultCPUs) }},
		{section: in, name: "tasks_max", doc: "Processes and threads of one job at most.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.TasksMax, 16, 4_194_304) }},
		{section: in, name: "max_running", doc: "Jobs running at once at most, those without a GPU included.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.MaxRunning, 1, 100_000) }},
		{section: in, name: "share_without_gpu", doc: "On a machine with GPUs, how much of max_running, of the host memory for jobs and of their CPUs (cpus) those that ask no GPU may have together, so that a free GPU finds a place, memory and CPUs: a percentage such as 50, or a fraction such as 0.5. One that asks more memory than that runs while no other of them does. 100: all, so that jobs without a GPU can keep every GPU job waiting.",
			bind: func(c *Config) value { return percent(&c.Jobs.ShareWithoutGPU) }},
		{section: in, name: "max_queued", doc: "Jobs waiting at once at most; a submission above that is refused.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.MaxQueued, 1, 1_000_000) }},
		{section: in, name: "requeue", doc: "Whether a job that said neither --requeue nor --no-requeue starts again from the beginning after a reboot took it, or once where its GPU is found to fail jobs.",
			bind: func(c *Config) value { return onOff(&c.Jobs.Requeue) }},
		{section: in, name: "max_suspend", doc: "How long a job may be suspended in all by its owner (gpusched suspend), which keeps its GPUs without using them: after that it goes on by itself, and 5 minutes after another user's job begins to wait longer by it. Administrators suspend for as long as they like. Empty: no bound.",
			bind: func(c *Config) value { return timeOrNone(&c.Jobs.MaxSuspend, second, longest) }},
		{section: in, name: "max_retries", doc: "The most retries after a failure that a job may ask for (--retries). 0: none.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.MaxRetries, 0, job.MaxRetries) }},
		{section: in, name: "default_retries", doc: "Retries after a failure of a job that does not say (--retries), at most max_retries. A command that fails for a reason of its own fails so often in vain.",
			bind: func(c *Config) value { return numberBetween(&c.Jobs.DefaultRetries, 0, job.MaxRetries) }},
		{section: in, name: "default_backoff", doc: "Time before the first retry of a job that asks none (--backoff). It doubles with each further retry, up to an hour.",
			bind: func(c *Config) value { return timeBetween(&c.Jobs.DefaultBackoff, second, job.MaxBackoff) }},
		{section: in, name: "default_on_timeout", doc: "What becomes of a job that meets its time limit and did not say (--on-timeout): kill (it ends as timed out) or requeue (it is stopped and queued again behind the others).",
			bind: func(c *Config) value {
				return oneOf(&c.Jobs.DefaultOnTimeout, "an action", job.TimeoutKill, job.TimeoutRequeue)
			}},
		{section: in, name: "allow_raised_priority", doc: "Whether every user may give jobs a priority above normal. Otherwise only administrators may.",
			bind: func(c *Config) value { return onOff(&c.Jobs.AllowRaisedPriority) }},
		{section: in, name: "allow_sandboxed", doc: "Whether jobs are taken from processes that may do less than their account, and commands beside jobs that start from then on (attach, exec): with no new privileges, a filter of system calls, a reduced set of capabilities or an AppArmor profile (a hardened service, a sandboxed editor or agent), in another user, pid or network namespace, or with another root directory (a container that sees the socket). The job runs outside of that, with all that the account may do.",
			bind: func(c *Config) value { return onOff(&c.Jobs.AllowSandboxed) }},
	}
}

func classKeys(in, name string) []key {
	return []key{
		{section: in, name: "max_time", doc: "The longest time limit a job of this class may ask for, where jobs.max_time allows more; with it every job of the class has a limit. Empty: jobs.max_time alone counts.",
			bind: func(c *Config) value {
				class := c.Classes[classOf(name)]
				return written{timeOrNone(&class.MaxTime, second, longest), func() { c.Classes[classOf(name)] = class }}
			}},
	}
}
