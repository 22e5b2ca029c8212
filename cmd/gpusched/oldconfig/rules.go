package oldconfig

const (
	ownState  = "is no longer needed: the scheduler keeps its own state across crashes and reboots"
	noWorkers = "is no longer needed: each job is a systemd unit, and no worker waits for it"
	waits     = "is no longer needed: a job that does not fit waits until it does, without a number of tries; " +
		"one that fails is tried again with submit --retries and --backoff"
	ended    = "have ended, or end with that scheduler: gpusched import jobs.txt queues those that should run"
	journald = "is no longer needed: the scheduler's lines are in the journal, whose size is in journald.conf(5)"
)

// cudaqRules convert the settings in config.yaml.
var cudaqRules = []rule{
	{"gpu_ids", "gpus.only", readGPUs, ""},
	{"min_free_mem_mb", "gpus.min_free_memory", sized("M"), ""},
	{"poll_interval", "gpus.sample_interval", readSeconds, ""},
	{"commands_file", "", nil, "gpusched import %v, or gpusched watch %v"},
	{"log_dir", "", nil, "the output of each job is in the journal (gpusched logs); for files, too: jobs.log = \"%h/job_logs/job_%j.log\", or --log of each job"},
	{"jobs_file", "", nil, ownState},
}

// scheduler10xRules convert the settings in config.json.
var scheduler10xRules = []rule{
	{"scheduler.num_gpus", "gpus.only", firstGPUs, ""},
	{"scheduler.max_workers", "", nil, noWorkers},
	{"scheduler.worker_timeout_s", "", nil, noWorkers},
	{"scheduler.job_timeout_s", "jobs.max_time", readSeconds, ""},
	{"scheduler.graceful_shutdown_timeout_s", "", nil, "is no longer needed: jobs go on when the scheduler stops"},
	{"gpu.memory_threshold", "gpus.max_used", readPercent, ""},
	{"gpu.load_threshold", "gpus.max_load", readPercent, ""},
	{"gpu.allocation_precision", "", nil, "is no longer needed: parts of a GPU are in steps of one hundredth"},
	{"gpu.monitor_interval_s", "gpus.sample_interval", readSeconds, ""},
	{"gpu.utilization_window_s", "gpus.load_window", readSeconds, ""},
	{"jobs.max_assignment_attempts", "", nil, waits},
	{"jobs.assignment_retry_wait_s", "", nil, waits},
	{"jobs.queue_size_limit", "jobs.max_queued", readWhole, ""},
	{"jobs.max_concurrent_jobs", "jobs.max_running", readWhole, ""},
	{"files.jobs_file", "", nil, "gpusched import %v, or gpusched watch %v"},
	{"files.llm_config_file", "", nil, "put %v as it is into /etc/gpusched: submit --llm reads it there"},
	{"files.state_file", "", nil, ownState},
	{"files.log_file", "", nil, journald},
	{"files.monitor_interval_s", "", nil, "gpusched watch --interval %vs; changes are seen at once"},
	{"logging.level", "daemon.log_level", readLevel, ""},
	{"logging.structured", "", nil, "is no longer needed: all lines have fields (journalctl -u gpusched -o json)"},
	{"logging.max_log_size_mb", "", nil, journald},
	{"logging.backup_count", "", nil, journald},
	{"logging.metrics_enabled", "", nil, "is not needed: figures are always kept, see gpusched report and gpusched metrics"},
	{"security.allowed_script_paths", "jobs.allowed_paths", readPaths, ""},
	{"security.max_memory_per_job_gb", "jobs.max_mem", sized("G"), ""},
	{"security.enable_resource_limits", "", nil, "is no longer needed: limits always hold"},
}

// state converts gpu_scheduler_state.json. It has rules only for parts that still matter with
// another scheduler.
var state = []rule{
	{"paused_gpus", "", nil, "an administrator types: gpusched gpu pause %v"},
	{"jobs", "", nil, ended},
	{"gpu_states", "", nil, ownState},
	{"gpu_allocations", "", nil, ownState},
}

// slurmRules convert slurm.conf. The names are in lower case. The settings of a partition or node
// have a prefix.
var slurmRules = []rule{
	{"partition.defaulttime", "jobs.default_time", slurmTime, ""},
	{"partition.maxtime", "jobs.max_time", slurmTime, ""},
	{"defmempernode", "jobs.default_mem", sized("M"), ""},
	{"partition.defmempernode", "jobs.default_mem", sized("M"), ""},
	{"maxmempernode", "jobs.max_mem", sized("M"), ""},
	{"partition.maxmempernode", "jobs.max_mem", sized("M"), ""},
	{"node.memspeclimit", "daemon.host_mem_reserve", sized("M"), ""},
	{"maxjobcount", "jobs.max_queued", readWhole, ""},
	{"killwait", "jobs.default_grace", readSeconds, ""},
	{"jobrequeue", "jobs.requeue", slurmOn, ""},
	{"prioritytype", "scheduling.policy", order, ""},
	{"prioritydecayhalflife", "scheduling.half_life", slurmTime, ""},
	{"slurmctlddebug", "daemon.log_level", readLevel, ""},
	{"schedulertype", "", nil, "is no longer needed: jobs are always backfilled (scheduling.reservation_depth)"},
	{"preempttype", "", nil, "has no counterpart: jobs say it themselves (submit --preemptible, -p scavenger)"},
	{"preemptmode", "", nil, "has no counterpart: jobs say it themselves (submit --preemptible, -p scavenger)"},
	{"prologslurmctld", "", nil, "has no counterpart"},
	{"prolog", "", nil, "has no counterpart; a job's own set-up is submit --setup"},
	{"epilog", "", nil, "has no counterpart"},
	{"taskprolog", "", nil, "has no counterpart; a job's own set-up is submit --setup"},
	{"grestypes", "", nil, "is no longer needed: GPUs are found"},
	{"node.gres", "", nil, "is no longer needed: GPUs are found"},
	{"node.cpus", "", nil, "is no longer needed: CPUs are found (jobs.cpus is the most that jobs may ask for together)"},
	{"node.realmemory", "", nil, "is no longer needed: memory is found (daemon.host_mem_reserve is kept from jobs)"},
}
