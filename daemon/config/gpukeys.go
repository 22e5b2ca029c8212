package config

// maxForeign is more memory than one process of a desktop has on the GPU that displays it.
// Published tables of nvidia-smi show Xorg with 2 to 293 MiB, gnome-shell 2 to 97, kwin_wayland 1
// to 335, plasmashell 82 to 145, a virtual keyboard 374 (maliit/keyboard#226) and, with drivers
// that leak the memory of windows, Xwayland with 1.3 GiB (NVIDIA/egl-wayland#126) and gnome-shell
// growing in steps of 500 MiB (NVIDIA/open-gpu-kernel-modules#390). Processes that compute count
// with less memory (gpu.Process.Computes).
const maxForeign = 2 << 30

func gpuKeys(in, _ string) []key {
	return []key{
		{section: in, name: "sample_interval", doc: "Time between two looks at the GPUs while nothing happens. Ends of jobs are looked at at once, whatever this is.",
			bind: func(c *Config) value { return timeBetween(&c.GPUs.SampleInterval, tenth, hour) }},
		{section: in, name: "sample_timeout", doc: "A look at the GPUs that takes longer than this counts as a driver that hangs: no job is placed until it answers again, running jobs are left alone.",
			bind: func(c *Config) value { return timeBetween(&c.GPUs.SampleTimeout, tenth, hour) }},
		{section: in, name: "only", doc: "Indexes of the GPUs that jobs may get, as 'gpusched gpus' shows them. Empty: all.",
			bind: func(c *Config) value { return gpuIndexes(&c.GPUs.Only) }},
		{section: in, name: "slurm", doc: "What becomes of the GPUs that a Slurm of this machine gives away, by its gres.conf, where slurmd is enabled or runs: exclude (no job gets them; those that run there go on) or allow (jobs get them as any others, and meet Slurm's there). See A SLURM ON THE SAME MACHINE in gpusched-admin(7).",
			bind: func(c *Config) value { return oneOf(&c.GPUs.Slurm, "a choice", SlurmExclude, SlurmAllow) }},
		{section: in, name: "smallest_part", doc: "The smallest part of a GPU that a job may ask, such as 0.1; below that a submission is refused. A GPU of which anything is given out serves no job that asks whole ones, however little it is. 1: jobs get whole GPUs or none.",
			bind: func(c *Config) value { return partOfGPU(&c.GPUs.SmallestPart) }},
		{section: in, name: "parts_on", doc: "Indexes of the GPUs of which parts are given, so that the others stay free for jobs that ask whole ones (which get these GPUs as well). Empty: all.",
			bind: func(c *Config) value { return gpuIndexes(&c.GPUs.PartsOn) }},
		{section: in, name: "extra_devices", doc: "Device nodes that a job with a GPU may open besides its GPUs and /dev/nvidiactl; those that are absent are left out. Programs that draw (OpenGL, Vulkan) need /dev/nvidia-modeset, which opens display functions of all GPUs, NCCL over InfiniBand needs the site's nodes in /dev/infiniband, Apptainer needs /dev/fuse.",
			bind: func(c *Config) value { return devices(&c.GPUs.ExtraDevices) }},
		{section: in, name: "device_filter", doc: "What to do where the kernel does not enforce which GPU a job may open: require (a job with a GPU fails rather than run so) or prefer (it runs, and 'gpusched health' warns).",
			bind: func(c *Config) value { return oneOf(&c.GPUs.DeviceFilter, "a mode", FilterRequire, FilterPrefer) }},
		{section: in, name: "cleaning_timeout", doc: "After a job its GPU must be empty within this time. Else it is given to nobody until it is, or an administrator decides: it is suspect while a process of the job is on it, and sick when memory stays in use by nobody.",
			bind: func(c *Config) value { return timeBetween(&c.GPUs.CleaningTimeout, second, hour) }},
		{section: in, name: "memory_slack", doc: "Memory that may be in use on a GPU that counts as empty; drivers keep some for themselves.",
			bind: func(c *Config) value { return size(&c.GPUs.MemorySlack) }},
		{section: in, name: "max_load", doc: "A GPU that is busier than this takes no further job: a percentage such as 80, or a fraction such as 0.8. 100: any GPU will do.",
			bind: func(c *Config) value { return percent(&c.GPUs.MaxLoad) }},
		{section: in, name: "load_window", doc: "The time of which a GPU's mean load counts for max_load and --max-load, so that a pause of a second between two batches does not make a busy GPU look free. At most the last 1000 looks count. Empty: the load that the last look at it showed.",
			bind: func(c *Config) value { return timeOrNone(&c.GPUs.LoadWindow, second, hour) }},
		{section: in, name: "max_used", doc: "A GPU with more of its memory in use than this takes no further job: a percentage such as 80, or a fraction such as 0.8. 100: any GPU will do.",
			bind: func(c *Config) value { return percent(&c.GPUs.MaxUsed) }},
		{section: in, name: "min_free_memory", doc: "A GPU with less free memory than this takes no further job. None: any GPU will do.",
			bind: func(c *Config) value { return sizeOrNone(&c.GPUs.MinFreeMemory) }},
		{section: in, name: "max_foreign_memory", doc: "Jobs that ask whole GPUs get none on which a process of no job has more memory than this, or computes, as long as it is there; those that say with --gpu-mem or --max-used how much memory they need may share it (--max-load does not). What also draws (a desktop) counts by its memory alone. More memory than this in use by processes that the driver does not list counts, too. None: such processes keep no job away.",
			bind: func(c *Config) value { return sizeOrNone(&c.GPUs.MaxForeign) }},
		{section: in, name: "cpu_affinity", doc: "Whether jobs with GPUs run on the CPUs next to them, where the machine says which these are. Otherwise on all CPUs.",
			bind: func(c *Config) value { return onOff(&c.GPUs.CPUAffinity) }},
		{section: in, name: "strays", doc: "What is done when a job has ended, or does not have a GPU, and a process of it is on that GPU all the same, having left its unit: end (SIGTERM, then SIGKILL), keep (the GPU out of service while it is there) or tell (it counts as any process without a job). Where it is in the unit of a job that runs, having been given an open device, that job is ended after cleaning_timeout; see THE FENCE in gpusched-admin(7).",
			bind: func(c *Config) value { return oneOf(&c.GPUs.Strays, "an action", StrayEnd, StrayKeep, StrayTell) }},
		{section: in, name: "drain_bad_memory", doc: "When a GPU with bad memory takes no more jobs: failed (a bad row could not be replaced, until an administrator says otherwise), pending (that, or one waits for a reset to be replaced, which NVIDIA says programs can run with) or never. 'gpusched health' tells of both in any case.",
			bind: func(c *Config) value {
				return oneOf(&c.GPUs.DrainBadMemory, "a state of memory", BadMemoryNever, BadMemoryFailed, BadMemoryPending)
			}},
		{section: in, name: "kernel_log", doc: "Where the driver's error reports (Xids) are read. Empty: they are not, and a GPU that went wrong is only noticed when the driver calls it lost.",
			bind: func(c *Config) value { return pathOrNone(&c.GPUs.KernelLog) }},
		{section: in, name: "alert_unit", doc: "A template unit of yours, such as gpusched-alert@.service, that systemd starts with the index of the GPU as instance when a GPU goes out of service (sick, suspect or lost), or \"starts\" where no job can be started; see SICK GPUS in gpusched-admin(7). Empty: none.",
			bind: func(c *Config) value { return templateOrNone(&c.GPUs.AlertUnit) }},
		{section: in, name: "nvml_library", doc: "Absolute path of libnvidia-ml.so.1. Empty: where the system's loader finds it. It can't be in a place that the daemon's unit hides: a home directory, /tmp, /usr/bin or /usr/local/bin.",
			bind: func(c *Config) value { return pathOrNone(&c.GPUs.NVMLLibrary) }},
	}
}
