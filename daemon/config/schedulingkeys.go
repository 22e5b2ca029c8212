package config

import (
	"errors"
	"maps"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// laneSection is the section of a lane of the site.
func laneSection() section {
	return section{path: []string{"lane"}, placeholder: "LANE", wrongName: laneName,
		doc:     "A lane of the site: of the jobs of all users that name it (--lane), only so many run at once, for instance because they need a licence.",
		example: "[lane.matlab]\n  jobs = 2\n",
		used:    func(c *Config) []string { return slices.Sorted(maps.Keys(c.Lanes)) },
		add: func(c *Config, name string) {
			if c.Lanes == nil {
				c.Lanes = map[string]int{}
			}
			if c.Lanes[name] == 0 {
				c.Lanes[name] = 1
			}
		},
		keys: laneKeys,
	}
}

func laneName(name string) error {
	if !job.LaneName(name) {
		return errors.New("the name of a lane is 1 to 128 bytes of printable text")
	}
	return nil
}

func laneKeys(in, name string) []key {
	return []key{
		{section: in, name: "jobs", doc: "How many jobs in the lane run at once.",
			bind: func(c *Config) value {
				n := c.Lanes[name]
				return entryValue{numberBetween(&n, 1, job.MaxLane), func() { c.Lanes[name] = n }}
			}},
	}
}

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
		{section: in, name: "restart_cost", doc: "What it costs a preemptible job to go on after a stop: the work since its checkpoint, and the time to load it. Stops for jobs of the same class and number cost at most 3 % of the GPU time that jobs get.",
			bind: func(c *Config) value { return timeBetween(&c.Scheduling.RestartCost, second, day) }},
	}
}
