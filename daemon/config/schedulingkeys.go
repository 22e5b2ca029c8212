package config

func schedulingKeys(in, _ string) []key {
	return []key{
		{section: in, name: "policy", doc: "Who goes first among jobs of the same class and number: fair (who used little of late and who waited long for the length of the job) or fifo (who came first).",
			bind: func(c *Config) value { return oneOf(&c.Scheduling.Policy, "a policy", OrderFair, OrderFIFO) }},
		{section: in, name: "half_life", doc: "Time after which what a user has used counts half, in fair share and in quotas of GPU-hours. Empty: use does not count.",
			bind: func(c *Config) value { return timeOrNone(&c.Scheduling.HalfLife, minute, longest) }},
		{section: in, name: "guard_after", doc: "A job that has waited longer than this goes first among those of its class and number, so that nobody waits for ever. Empty: never.",
			bind: func(c *Config) value { return timeOrNone(&c.Scheduling.GuardAfter, minute, longest) }},
		{section: in, name: "guard_percent", doc: "How much of the machine, in percent, such jobs may take before it is the others' turn again.",
			bind: func(c *Config) value { return numberBetween(&c.Scheduling.GuardPercent, 1, 100) }},
		{section: in, name: "reservation_depth", doc: "For how many of the first jobs that do not fit GPUs are kept free. With 0 small jobs always pass, and a large one may wait until the guard lets it go first.",
			bind: func(c *Config) value { return numberBetween(&c.Scheduling.ReservationDepth, 0, 16) }},
		{section: in, name: "slice", doc: "A preemptible job runs at least so long before it may be stopped for another.",
			bind: func(c *Config) value { return timeBetween(&c.Scheduling.Slice, second, longest) }},
	}
}
