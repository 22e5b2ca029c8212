package config

import "time"

// Limits bounds what one user's clients may cost the daemon.
type Limits struct {
	Requests     int           // of one user a second, over time
	Burst        int           // of one user at once
	AtOnce       int           // requests of one user being answered at once
	Connections  int           // in total, not counting root's
	UserConns    int           // of one user
	UserWaits    int           // of one user, waiting for the end of a job
	RequestBytes int64         // the largest submission
	UserState    int64         // bytes of one user's jobs that have not ended
	UserHistory  int64         // bytes of one user's jobs that have ended
	HistoryAge   time.Duration // time since a job's end after which it is forgotten; 0: no bound
}

func limitKeys(in, _ string) []key {
	return []key{
		{section: in, name: "requests", doc: "Requests of one user a second, over a longer time; a listing counts once more for each 2K of its answer, a dry run for 20. Those that come faster are slowed down, and above that turned away for a moment, which the client copes with.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.Requests, 1, 100_000) }},
		{section: in, name: "burst", doc: "Requests of one user that are not slowed down after a rest.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.Burst, 1, 1_000_000) }},
		{section: in, name: "at_once", doc: "Requests of one user being answered at once; others of that user wait for their turn.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.AtOnce, 1, 1000) }},
		{section: in, name: "connections", doc: "Connections of all users at once; the last quarter is for users who hold fewer than four. Root is bound by user_connections only.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.Connections, 16, 100_000) }},
		{section: in, name: "user_connections", doc: "Connections of one user at once.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.UserConns, 4, 10_000) }},
		{section: in, name: "user_waits", doc: "Connections of one user that wait for the end of a job (gpusched wait). Others try again until there is room.",
			bind: func(c *Config) value { return numberBetween(&c.Limits.UserWaits, 1, 10_000) }},
		{section: in, name: "request_size", doc: "The largest submission. A command with its environment takes up to a third more than its own size.",
			bind: func(c *Config) value { return sizeBetween(&c.Limits.RequestBytes, 64<<10, 8<<20) }},
		{section: in, name: "user_state", doc: "What the jobs of one user may take of the state file until they end: 2K each, the command and the environment, and eightfold what also stays in memory (parameters, comments, tags, dependencies). A submission above that is refused. Subordinate uids (subuid) count as their user, here and in all quotas.",
			bind: func(c *Config) value { return sizeBetween(&c.Limits.UserState, 16<<20, 1<<40) }},
		{section: in, name: "user_history", doc: "What the ended jobs of one user may take of the state file, roughly. The oldest are forgotten. The environment of a job is forgotten with its end anyway, and of a command all but the first 4K.",
			bind: func(c *Config) value { return sizeBetween(&c.Limits.UserHistory, 16<<20, 1<<40) }},
		{section: in, name: "history_age", doc: "Jobs that ended longer ago are forgotten, tasks not before their array has ended. Empty: only user_history counts.",
			bind: func(c *Config) value { return timeOrNone(&c.Limits.HistoryAge, hour, longest) }},
	}
}
