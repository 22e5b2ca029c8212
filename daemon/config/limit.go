package config

import "time"

// Limits restricts the load that one user's clients may put on the daemon.
type Limits struct {
	Requests     int           // maximum number of requests of one user per second, on average
	Burst        int           // maximum number of requests of one user at once
	AtOnce       int           // number of one user's requests that are answered at the same time
	Connections  int           // maximum number of all connections except root's
	UserConns    int           // connections of one user
	UserWaits    int           // connections of one user that wait for the end of a job
	RequestBytes int64         // bytes of the largest submission
	UserState    int64         // bytes of one user's jobs that have not ended
	UserHistory  int64         // bytes of one user's jobs that have ended
	HistoryAge   time.Duration // time since a job's end after which the job is forgotten; 0: never
}

func limitKeys(in, _ string) []key {
	return []key{
		{section: in, name: "requests", doc: "Requests of one user a second, over time. A listing counts once more for each 2K of its answer, a dry run counts for 20. Faster requests are throttled, and beyond that refused with a retry time, which the client observes.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.Requests, 1, 100_000) }},
		{section: in, name: "burst", doc: "Requests of one user after a pause that are not throttled.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.Burst, 1, 1_000_000) }},
		{section: in, name: "at_once", doc: "Requests of one user being answered at once. Further ones of that user wait.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.AtOnce, 1, 1000) }},
		{section: in, name: "connections", doc: "Connections of all users at once. The last quarter is for users who have fewer than four. For root only user_connections counts.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.Connections, 16, 100_000) }},
		{section: in, name: "user_connections", doc: "Connections of one user at once.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.UserConns, 4, 10_000) }},
		{section: in, name: "user_waits", doc: "Connections of one user that wait for the end of a job (gpusched wait). Further ones try again until there is room.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.UserWaits, 1, 10_000) }},
		{section: in, name: "request_size", doc: "The largest submission. A command with its environment takes up to a third more than its own size.",
			bind: func(c *Config) value { return sizeBetween(&c.Limits.RequestBytes, 64<<10, 8<<20) }},
		{section: in, name: "user_state", doc: "What the jobs of one user may take of the state file until they end: 2K each, the command and the environment, and eight times the size of what also stays in memory (parameters, comments, tags, dependencies). Further submissions are refused. Subordinate uids (subuid) count as their user, here and in all quotas.",
			bind: func(c *Config) value { return sizeBetween(&c.Limits.UserState, 16<<20, 1<<40) }},
		{section: in, name: "user_history", doc: "What the ended jobs of one user may take of the state file, roughly. Beyond that the oldest are forgotten. When a job ends, its environment is forgotten in any case, and so is all but the first 4K of its command.",
			bind: func(c *Config) value { return sizeBetween(&c.Limits.UserHistory, 16<<20, 1<<40) }},
		{section: in, name: "history_age", doc: "Time after which an ended job is forgotten, but a task not before its array has ended. Empty: only user_history counts.",
			bind: func(c *Config) value { return timeOrNone(&c.Limits.HistoryAge, hour, longest) }},
	}
}
