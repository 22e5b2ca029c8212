package units

import (
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// IsErrand reports whether a unit sends a message, tests a GPU, makes or removes a directory, or
// parks a job.
func IsErrand(name string) bool {
	return strings.HasSuffix(name, contract.UnitSuffix) && slices.ContainsFunc([]string{
		contract.MessagePrefix, contract.ProofPrefix, contract.DirectoryPrefix, contract.ParkPrefix, contract.UnparkPrefix,
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// errand is what these units have in common: each runs one program to its end.
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
