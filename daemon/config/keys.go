package config

import "slices"

// key is one setting: its name, what it means, and how it is read into a
// Config.
type key struct {
	section, name string
	doc           string
	bind          func(*Config) value
}

func (k key) full() string { return k.section + "." + k.name }

// sectionDocs says what each section is for, in the order of the file.
func sectionDocs() [][2]string {
	return [][2]string{
		{"jobs", "What jobs get without asking, and the most they may ask."},
		{"gpus", "How GPUs are watched, shared out and checked."},
		{"daemon", "The daemon itself."},
	}
}

// keys is the one list of settings (invariant 6).
func keys() []key {
	return slices.Concat(jobKeys(), gpuKeys(), daemonKeys())
}

func jobKeys() []key {
	return []key{
		{"jobs", "default_mem", "Host memory of a job that asks none (--mem): auto, none (no limit) or a size. Auto is 75 % of the machine's memory divided by its number of GPUs, for each GPU of the job; a job without a GPU gets a 32nd of the memory, at least 512M and at most 8G.",
			func(c *Config) value { return defaultMemValue{&c.Jobs.DefaultMem} }},
		{"jobs", "default_time", "Time limit of a job that asks none (--time). Empty: the same as max_time.",
			func(c *Config) value { return timeOrNone(&c.Jobs.DefaultTime, second, longest) }},
		{"jobs", "max_time", "The longest time limit a job may ask for; with it every job has a limit. Empty: no bound, and jobs may run for ever.",
			func(c *Config) value { return timeOrNone(&c.Jobs.MaxTime, second, longest) }},
		{"jobs", "default_grace", "Time between SIGTERM and SIGKILL when a job is ended and did not ask for one (--grace).",
			func(c *Config) value { return timeBetween(&c.Jobs.DefaultGrace, second, day) }},
		{"jobs", "max_grace", "The longest grace a job may ask for.",
			func(c *Config) value { return timeBetween(&c.Jobs.MaxGrace, second, day) }},
		{"jobs", "tasks_max", "Processes and threads of one job at most.",
			func(c *Config) value { return numberBetween(&c.Jobs.TasksMax, 16, 4_194_304) }},
		{"jobs", "max_running", "Jobs running at once at most, those without a GPU included.",
			func(c *Config) value { return numberBetween(&c.Jobs.MaxRunning, 1, 100_000) }},
		{"jobs", "max_queued", "Jobs waiting at once at most; a submission above that is refused.",
			func(c *Config) value { return numberBetween(&c.Jobs.MaxQueued, 1, 1_000_000) }},
		{"jobs", "max_queued_per_user", "Jobs of one user waiting at once at most.",
			func(c *Config) value { return numberBetween(&c.Jobs.MaxQueuedPerUser, 1, 1_000_000) }},
		{"jobs", "requeue", "Whether a job that said neither --requeue nor --no-requeue starts again from the beginning after a reboot took it.",
			func(c *Config) value { return switchValue{&c.Jobs.Requeue} }},
		{"jobs", "allow_raised_priority", "Whether every user may give jobs a priority above normal. Otherwise only administrators may.",
			func(c *Config) value { return switchValue{&c.Jobs.AllowRaisedPriority} }},
	}
}

func gpuKeys() []key {
	return []key{
		{"gpus", "sample_interval", "Time between two looks at the GPUs while nothing happens. Ends of jobs are looked at at once, whatever this is.",
			func(c *Config) value { return timeBetween(&c.GPUs.SampleInterval, tenth, hour) }},
		{"gpus", "sample_timeout", "A look at the GPUs that takes longer than this counts as a driver that hangs: no job is placed until it answers again, running jobs are left alone.",
			func(c *Config) value { return timeBetween(&c.GPUs.SampleTimeout, tenth, hour) }},
		{"gpus", "only", "Indexes of the GPUs that jobs may get, as 'gpusched gpus' shows them. Empty: all.",
			func(c *Config) value { return indexesValue{&c.GPUs.Only} }},
		{"gpus", "extra_devices", "Device nodes that a job with a GPU may open besides its GPUs and /dev/nvidiactl; those that are absent are left out. NCCL over InfiniBand needs the site's nodes in /dev/infiniband, Apptainer needs /dev/fuse.",
			func(c *Config) value { return devicesValue{&c.GPUs.ExtraDevices} }},
		{"gpus", "device_filter", "What to do where the kernel does not enforce which GPU a job may open: require (a job with a GPU fails rather than run so) or prefer (it runs, and 'gpusched health' warns).",
			func(c *Config) value { return filterValue{&c.GPUs.DeviceFilter} }},
		{"gpus", "cleaning_timeout", "After a job its GPU must be empty within this time. Else it is suspect: given to nobody until it is empty or an administrator decides.",
			func(c *Config) value { return timeBetween(&c.GPUs.CleaningTimeout, second, hour) }},
		{"gpus", "memory_slack", "Memory that may be in use on a GPU that counts as empty; drivers keep some for themselves.",
			func(c *Config) value { return sizeValue{&c.GPUs.MemorySlack} }},
		{"gpus", "nvml_library", "Absolute path of libnvidia-ml.so.1. Empty: where the system's loader finds it.",
			func(c *Config) value { return pathOrNone{&c.GPUs.NVMLLibrary} }},
	}
}

func daemonKeys() []key {
	return []key{
		{"daemon", "log_level", "The least urgent messages that reach the journal: debug, info, warn or error.",
			func(c *Config) value { return levelValue{&c.Daemon.LogLevel} }},
		{"daemon", "starts_in_flight", "Jobs being started by systemd at once. More only adds waiting: systemd starts units one by one.",
			func(c *Config) value { return numberBetween(&c.Daemon.StartsInFlight, 1, 128) }},
		{"daemon", "admin_group", "Members of this group may act on everybody's jobs and on GPUs, as root may. Empty: root alone.",
			func(c *Config) value { return groupValue{&c.Daemon.AdminGroup} }},
		{"daemon", "host_mem_reserve", "Host memory that is never promised to jobs: a percentage of the machine's, or a size.",
			func(c *Config) value { return shareValue{&c.Daemon.HostMemReserve} }},
	}
}

// sections lists the sections in the order of the file.
func sections() []string {
	var list []string
	for _, s := range sectionDocs() {
		list = append(list, s[0])
	}
	return list
}

// names lists the keys of a section in the order of the file.
func names(section string) []string {
	var list []string
	for _, k := range keys() {
		if k.section == section {
			list = append(list, k.name)
		}
	}
	return list
}
