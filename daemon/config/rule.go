package config

import "fmt"

// rule is what must hold between two keys. It is reported where key is set,
// or else where other is.
type rule struct {
	key, other string
	check      func(*Config) string // what is wrong; "" if nothing
}

func rules() []rule {
	return []rule{
		{"jobs.default_time", "jobs.max_time", func(c *Config) string {
			if c.Jobs.MaxTime == 0 || c.Jobs.DefaultTime <= c.Jobs.MaxTime {
				return ""
			}
			return fmt.Sprintf("jobs.default_time is %s, longer than jobs.max_time, which is %s: lower the one or raise the other",
				spellDuration(c.Jobs.DefaultTime), spellDuration(c.Jobs.MaxTime))
		}},
		{"jobs.default_grace", "jobs.max_grace", func(c *Config) string {
			if c.Jobs.DefaultGrace <= c.Jobs.MaxGrace {
				return ""
			}
			return fmt.Sprintf("jobs.default_grace is %s, longer than jobs.max_grace, which is %s: lower the one or raise the other",
				spellDuration(c.Jobs.DefaultGrace), spellDuration(c.Jobs.MaxGrace))
		}},
	}
}
