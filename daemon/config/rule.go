package config

import "fmt"

// rule is a condition on two keys. A violation is reported at the place where the first key is set.
// If no file sets the first key, the violation is reported at the place of the second key.
type rule struct {
	key, other string
	check      func(*Config) string // returns what is wrong, or ""
}

// rules returns the rules between keys. This includes a rule for each quota section.
func rules(c *Config) []rule {
	list := []rule{
		{"jobs.default_time", "jobs.max_time", func(c *Config) string {
			if c.Jobs.MaxTime == 0 || c.Jobs.DefaultTime <= c.Jobs.MaxTime {
				return ""
			}
			return fmt.Sprintf("jobs.default_time is %s, longer than jobs.max_time, which is %s: lower the one or raise the other",
				spellDuration(c.Jobs.DefaultTime), spellDuration(c.Jobs.MaxTime))
		}},
		{"jobs.default_mem", "jobs.max_mem", func(c *Config) string {
			if c.Jobs.MaxMem == 0 || c.Jobs.DefaultMem.Kind != MemFixed || c.Jobs.DefaultMem.Bytes <= c.Jobs.MaxMem {
				return ""
			}
			return fmt.Sprintf("jobs.default_mem is %s, more than jobs.max_mem, which is %s: lower the one or raise the other",
				spellSize(c.Jobs.DefaultMem.Bytes), spellSize(c.Jobs.MaxMem))
		}},
		{"limits.user_waits", "limits.user_connections", func(c *Config) string {
			if c.Limits.UserWaits < c.Limits.UserConns {
				return ""
			}
			return fmt.Sprintf("limits.user_waits is %d and limits.user_connections %d: leave some for requests that do not wait",
				c.Limits.UserWaits, c.Limits.UserConns)
		}},
		{"jobs.default_retries", "jobs.max_retries", func(c *Config) string {
			if c.Jobs.DefaultRetries <= c.Jobs.MaxRetries {
				return ""
			}
			return fmt.Sprintf("jobs.default_retries is %d, more than jobs.max_retries, which is %d: lower the one or raise the other",
				c.Jobs.DefaultRetries, c.Jobs.MaxRetries)
		}},
		{"jobs.default_grace", "jobs.max_grace", func(c *Config) string {
			if c.Jobs.DefaultGrace <= c.Jobs.MaxGrace {
				return ""
			}
			return fmt.Sprintf("jobs.default_grace is %s, longer than jobs.max_grace, which is %s: lower the one or raise the other",
				spellDuration(c.Jobs.DefaultGrace), spellDuration(c.Jobs.MaxGrace))
		}},
		{"idle.action", "park.allow", func(c *Config) string {
			if c.Idle.Action != IdlePark || c.Park.Allow {
				return ""
			}
			return "idle.action is park, but park.allow is false: set it to true, or choose another action"
		}},
		{"park.preempt", "park.allow", func(c *Config) string {
			if !c.Park.Preempt || c.Park.Allow {
				return ""
			}
			return "park.preempt is true, but park.allow is false: set both to true, or neither"
		}},
	}
	list = append(list, xidRules()...)
	for _, k := range keysIn(c) {
		if k.name == "gpu_hours" {
			list = append(list, hoursCount(k))
		}
	}
	return list
}

// hoursCount forbids a quota of GPU-hours if the site does not count usage. It skips a user's quota
// that equals the default, because the rule for the default reports the fault.
func hoursCount(k key) rule {
	return rule{"scheduling.half_life", k.full(), func(c *Config) string {
		bound, common := k.bind(c).spell(), ""
		if k.fallback != "" {
			common = numberOrNone(&c.Quotas.Default.GPUHours, 0, 0).spell()
		}
		if c.Scheduling.HalfLife > 0 || bound == `"none"` || bound == common {
			return ""
		}
		return fmt.Sprintf("scheduling.half_life is empty, so usage does not count, but %s bounds it: set the one or drop the other", printed(k.full()))
	}}
}
