package config

// maxForeign is more memory than one desktop process uses on the GPU that displays the desktop.
// Published outputs of nvidia-smi show 2 to 293 MiB for Xorg, 2 to 97 for gnome-shell, 1 to 335 for
// kwin_wayland, 82 to 145 for plasmashell, and 374 for a virtual keyboard (maliit/keyboard#226).
// With drivers that leak the memory of windows, Xwayland had 1.3 GiB (NVIDIA/egl-wayland#126), and
// gnome-shell grew in steps of 500 MiB (NVIDIA/open-gpu-kernel-modules#390). Processes that compute
// on the GPU count even with less memory (gpu.Process.Computes).
const maxForeign = 2 << 30

func gpuKeys(in, _ string) []key {
	return []key{
		{section: in, name: "sample_interval", doc: "Time between two samples of the GPUs while nothing happens. When a job ends, its GPUs are always sampled at once.",
			bind: func(c *Config) value { return timeBetween(&c.GPUs.SampleInterval, tenth, hour) }},
		{section: in, name: "sample_timeout", doc: "If a sample of the GPUs takes longer than this, the driver counts as hanging: no job is placed until it answers again, and running jobs are left alone.",
			bind: func(c *Config) value { return timeBetween(&c.GPUs.SampleTimeout, tenth, hour) }},
		{section: in, name: "only", doc: "Indexes of the GPUs that jobs may use, as 'gpusched gpus' shows them. The index of a GPU in MIG mode means its slices. Empty: all.",
			bind: func(c *Config) value { return gpuIndexes(&c.GPUs.Only) }},
		{section: in, name: "slurm", doc: "What to do with the GPUs that gres.conf lists for a Slurm on this machine, if slurmd is enabled or running: exclude (no further job gets them) or allow (jobs get them like all others, and share them with Slurm's jobs). See A SLURM ON THE SAME MACHINE in gpusched-admin(7).",
			bind: func(c *Config) value { return oneOf(&c.GPUs.Slurm, "a choice", SlurmExclude, SlurmAllow) }},
		{section: in, name: "smallest_part", doc: "The smallest part of a GPU that a job may request, such as 0.1; smaller requests are refused. A GPU that is shared, however little of it is used, is not available to jobs that request whole GPUs. 1: jobs get whole GPUs only.",
			bind: func(c *Config) value { return partOfGPU(&c.GPUs.SmallestPart) }},
		{section: in, name: "parts_on", doc: "Indexes of the GPUs that may be shared, so that the others stay free for jobs that request whole GPUs (which may get the shared ones as well). Empty: all.",
			bind: func(c *Config) value { return gpuIndexes(&c.GPUs.PartsOn) }},
		{section: in, name: "extra_devices", doc: "Device nodes that a job with a GPU may open in addition to its GPUs and /dev/nvidiactl. Missing nodes are skipped. Programs that draw (OpenGL, Vulkan) need /dev/nvidia-modeset, which gives access to the display functions of all GPUs; NCCL over InfiniBand needs the site's nodes in /dev/infiniband; Apptainer needs /dev/fuse.",
			bind: func(c *Config) value { return deviceList(&c.GPUs.ExtraDevices) }},
		{section: in, name: "device_filter", doc: "What to do if the kernel does not enforce which GPUs a job can open: require (a job with a GPU fails) or prefer (it runs, and 'gpusched health' warns).",
			bind: func(c *Config) value { return oneOf(&c.GPUs.DeviceFilter, "a mode", FilterRequire, FilterPrefer) }},
		{section: in, name: "cleaning_timeout", doc: "Time within which a GPU must be empty after a job. If it is not, no job gets it until it is empty or an administrator decides: it is suspect while a process of the job is still on it, and sick if memory stays in use without a process.",
			bind: func(c *Config) value { return timeBetween(&c.GPUs.CleaningTimeout, second, hour) }},
		{section: in, name: "memory_slack", doc: "Memory that may be in use on a GPU that counts as empty. Drivers keep some for themselves.",
			bind: func(c *Config) value { return size(&c.GPUs.MemorySlack) }},
		{section: in, name: "max_load", doc: "A GPU that is busier than this gets no further job: a percentage such as 80, or a fraction such as 0.8. 100: no bound.",
			bind: func(c *Config) value { return percent(&c.GPUs.MaxLoad) }},
		{section: in, name: "load_window", doc: "The time over which a GPU's load is averaged for max_load and --max-load, so that a pause of a second between two batches does not make a busy GPU look free. At most the last 1000 samples count. Empty: the last sample alone.",
			bind: func(c *Config) value { return timeOrNone(&c.GPUs.LoadWindow, second, hour) }},
		{section: in, name: "max_used", doc: "A GPU with more of its memory in use than this gets no further job: a percentage such as 80, or a fraction such as 0.8. 100: no bound.",
			bind: func(c *Config) value { return percent(&c.GPUs.MaxUsed) }},
		{section: in, name: "min_free_memory", doc: "A GPU with less free memory than this gets no further job. None: no bound.",
			bind: func(c *Config) value { return sizeOrNone(&c.GPUs.MinFreeMemory) }},
		{section: in, name: "max_foreign_memory", doc: "A GPU is not given to jobs that request whole GPUs while a process of no job uses more memory on it than this, or computes on it. A process that also draws (a desktop) counts by its memory alone. So does memory in use by processes that the driver does not list. Jobs that say how much memory they need (--gpu-mem, --max-used; not --max-load) may use the GPU. None: such processes keep no job away.",
			bind: func(c *Config) value { return sizeOrNone(&c.GPUs.MaxForeign) }},
		{section: in, name: "cpu_affinity", doc: "Whether jobs with GPUs run on the CPUs next to these GPUs, if the machine says which they are. Otherwise they run on all CPUs.",
			bind: func(c *Config) value { return onOff(&c.GPUs.CPUAffinity) }},
		{section: in, name: "strays", doc: "What to do with a stray: a process that has left its job's unit and uses a GPU that the job does not have, or no longer has. end sends SIGTERM, then SIGKILL; keep takes the GPU out of service while the process is there; tell treats it like any process of no job. A job whose own unit uses a GPU that it was not given, through an open device that was passed to it, is ended after cleaning_timeout; see THE FENCE in gpusched-admin(7).",
			bind: func(c *Config) value { return oneOf(&c.GPUs.Strays, "an action", StrayEnd, StrayKeep, StrayTell) }},
		{section: in, name: "strangers", doc: "What to do with a stranger: a process of no job that computes on a GPU which running jobs of other users have. show only shows it, as 'gpusched gpus' does; tell also writes its user one line per process, on all terminals of the user; end does the same and, strangers_after later, sends SIGTERM and, jobs.default_grace later, SIGKILL. Processes of root, of system accounts and of desktops are only shown; see THE FENCE in gpusched-admin(7).",
			bind: func(c *Config) value {
				return oneOf(&c.GPUs.Strangers, "an action", StrangersShow, StrangersTell, StrangersEnd)
			}},
		{section: in, name: "strangers_after", doc: "With strangers = \"end\": the time from the line on the user's terminals to SIGTERM. If the user was told about an earlier process, a later process is ended together with that one, but at the earliest a minute after its own line.",
			bind: func(c *Config) value { return timeBetween(&c.GPUs.StrangersAfter, second, day) }},
		{section: in, name: "drain_bad_memory", doc: "When a GPU with bad memory gets no more jobs: failed (a bad row could not be replaced; until an administrator decides otherwise), pending (also while a bad row waits for a reset to be replaced, although NVIDIA says that programs can run meanwhile) or never. 'gpusched health' reports both in any case.",
			bind: func(c *Config) value {
				return oneOf(&c.GPUs.DrainBadMemory, "a state of memory", BadMemoryNever, BadMemoryFailed, BadMemoryPending)
			}},
		{section: in, name: "driver_check", doc: "Whether to keep jobs off all GPUs while the installed driver (libcuda.so.1, libnvidia-ml.so.1) is not the loaded one, as after an upgrade without a reboot, when each new CUDA program would fail. Running jobs go on. false is for machines whose libraries have other versions on purpose.",
			bind: func(c *Config) value { return onOff(&c.GPUs.DriverCheck) }},
		{section: in, name: "cuda_test", doc: "Whether each GPU is tested with CUDA before its first job after a boot, a change of the driver, a reset, a loss or a drain, and when a job fails at once on it. The test adds two vectors on the GPU, in a unit gpusched-test-INDEX.service of its own, and usually takes less than a second. A GPU that fails the test is sick, and the job that failed there is queued again. Where there is no libcuda.so.1, nothing is tested.",
			bind: func(c *Config) value { return onOff(&c.GPUs.CUDATest) }},
		{section: in, name: "check_unit", doc: "A template unit of yours, such as gpusched-check@.service, that systemd starts with the GPU's index as the instance when the test with CUDA found the GPU well before its first job; the GPU takes no job until the unit has started. If the unit fails, the GPU is sick. With Type=oneshot, the unit has started when its command has ended, at most two minutes later; see SICK GPUS in gpusched-admin(7). Empty: none.",
			bind: func(c *Config) value { return templateOrNone(&c.GPUs.CheckUnit) }},
		{section: in, name: "kernel_log", doc: "Where to read the driver's error reports (Xids). Empty: nowhere, and a broken GPU is only noticed when the driver reports it lost.",
			bind: func(c *Config) value { return pathOrNone(&c.GPUs.KernelLog) }},
		{section: in, name: "alert_unit", doc: "A template unit of yours, such as gpusched-alert@.service. systemd starts it when a GPU goes out of service (sick, suspect or lost), with the GPU's index as the instance, when the driver was upgraded while another one is loaded, with the instance \"driver\", and when no job can be started, with the instance \"starts\"; see SICK GPUS in gpusched-admin(7). Empty: none.",
			bind: func(c *Config) value { return templateOrNone(&c.GPUs.AlertUnit) }},
		{section: in, name: "nvml_library", doc: "Absolute path of libnvidia-ml.so.1. Empty: where the system's loader finds it. It cannot be in a place that the daemon's unit hides: a home directory, /tmp, /usr/bin or /usr/local/bin.",
			bind: func(c *Config) value { return pathOrNone(&c.GPUs.NVMLLibrary) }},
	}
}
