package units

import "time"

// errand is what the units have in common that send a message, test a GPU, or make or remove a
// directory: each runs one program to its end.
type errand struct {
	about       string   // for people
	command     []string // the absolute path of the program, and its arguments
	log         string   // the name of its lines in the journal
	time, grace time.Duration
	memory      uint64 // bytes
	tasks       uint64
}

func (e errand) properties() []Property {
	return []Property{
		{"Description", e.about},
		{"Type", "oneshot"},
		{"ExecStart", []ExecCommand{{e.command[0], e.command, false}}},
		{"StandardOutput", "journal"},
		{"StandardError", "journal"},
		{"SyslogIdentifier", e.log},
		{"NotifyAccess", "main"},
		{"KillMode", "control-group"},
		{"TimeoutStartUSec", usec(e.time)},
		{"TimeoutStopUSec", usec(e.grace)},
		{"MemoryMax", e.memory},
		{"TasksMax", e.tasks},
		{"LimitCORE", uint64(0)},
	}
}
