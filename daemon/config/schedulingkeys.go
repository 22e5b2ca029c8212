package config

func schedulingKeys(in, _ string) []key {
	return []key{
		{section: in, name: "policy", doc: "Which job goes first among those of the same class and number: fair (the job of a user with little recent usage, or one that has waited long for its length) or fifo (the job that was submitted first).",
			bind: func(c *Config) value { return oneOf(&c.Scheduling.Policy, "a policy", OrderFair, OrderFIFO) }},
		{section: in, name: "half_life", doc: "Time after which a user's usage counts half, in fair share and in quotas of GPU-hours. Empty: usage does not count.",
			bind: func(c *Config) value { return timeOrNone(&c.Scheduling.HalfLife, minute, longest) }},
		{section: in, name: "guard_after", doc: "A job that has waited longer than this goes first among those of its class and number, so that no job waits for ever. Empty: never.",
			bind: func(c *Config) value { return timeOrNone(&c.Scheduling.GuardAfter, minute, longest) }},
		{section: in, name: "guard_percent", doc: "The part of the machine, in percent, that the jobs of guard_after may take before other jobs go first again.",
			bind: func(c *Config) value { return numberBetween(&c.Scheduling.GuardPercent, 1, 100) }},
		{section: in, name: "reservation_depth", doc: "The number of jobs at the head of the queue that GPUs are kept free for if they do not fit. With 0 small jobs always pass, and a large job may have to wait for guard_after.",
			bind: func(c *Config) value { return numberBetween(&c.Scheduling.ReservationDepth, 0, 16) }},
		{section: in, name: "slice", doc: "The least time that a preemptible job runs before it may be stopped for another.",
			bind: func(c *Config) value { return timeBetween(&c.Scheduling.Slice, second, longest) }},
	}
}
