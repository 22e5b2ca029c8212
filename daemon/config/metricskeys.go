package config

// Metrics has the settings about data for monitoring systems.
type Metrics struct {
	Users int // the number of users whose names are shown; 0: none
}

func metricsKeys(in, _ string) []key {
	return []key{
		{section: in, name: "users", doc: "How many users 'gpusched metrics' names with their jobs and GPUs: those with the most. All others are counted together. 0: none.",
			bind: func(c *Config) value { return numberBetween(&c.Metrics.Users, 0, 1000) }},
	}
}
