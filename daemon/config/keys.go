package config

import "github.com/gpusched/gpusched/daemon/job"

// key is one setting: its name, its meaning, and the value in a Config that belongs to it.
type key struct {
	section, name string
	doc           string
	fallback      string // full name of the key whose value is used if this key is not set; "": there is a default
	part          string // part of fallback's value that is used, such as "a quarter of"; "": all
	secret        bool   // its value is never logged
	bind          func(*Config) value
}

func (k key) full() string { return k.section + "." + k.name }

// keys returns the list of settings (invariant 6). It has placeholders in place of the names of
// accounts and classes.
func keys() []key {
	var list []key
	for _, s := range sections() {
		list = append(list, s.keysOf(s.placeholder)...)
	}
	return list
}

// keysIn returns the keys of a Config, including those of its named tables.
func keysIn(c *Config) []key {
	var list []key
	for _, s := range sections() {
		for _, name := range s.inUse(c) {
			list = append(list, s.keysOf(name)...)
		}
	}
	return list
}

// namesOf returns the names of keys.
func namesOf(keys []key) []string {
	return job.Each(keys, func(k key) string { return k.name })
}

func daemonKeys(in, _ string) []key {
	return []key{
		{section: in, name: "log_level", doc: "The least urgent messages that reach the journal: debug, info, warn or error.",
			bind: func(c *Config) value { return logLevel(&c.Daemon.LogLevel) }},
		{section: in, name: "starts_in_flight", doc: "The most jobs that systemd starts at once. Higher values only lengthen systemd's queue, since it starts units one by one.",
			bind: func(c *Config) value { return numberBetween(&c.Daemon.StartsInFlight, 1, 128) }},
		{section: in, name: "admin_group", doc: "Members of this group may act on everybody's jobs and on GPUs, as root may. Empty: root alone.",
			bind: func(c *Config) value { return groupOrNone(&c.Daemon.AdminGroup) }},
		{section: in, name: "host_mem_reserve", doc: "Host memory that jobs never get: a percentage of the machine's, or a size.",
			bind: func(c *Config) value { return share(&c.Daemon.HostMemReserve) }},
		{section: in, name: "inhibit", doc: "What systemd-logind holds off while at least one job runs: sleep (the machine does not sleep), shutdown (nor is it shut down or rebooted) or none. See SLEEP AND SHUTDOWN in gpusched-admin(7): before systemd 257 root may do either all the same.",
			bind: func(c *Config) value {
				return oneOf(&c.Daemon.Inhibit, "a choice", InhibitSleep, InhibitShutdown, InhibitNone)
			}},
	}
}
