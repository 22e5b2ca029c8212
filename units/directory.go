package units

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// DirectorySpec describes a unit that makes or removes a directory.
type DirectorySpec struct {
	What    string   // completes the unit's name and tells such units apart
	Program string   // absolute path of gpusched-job
	Words   []string // its arguments: contract.MakeFlag or contract.RemoveFlag, and what follows these
	UID     int      // of the user as whom the unit runs; 0: root
	Scope   Scope    // of the systemd that runs the unit
}

// Limits of a unit that makes or removes a directory. A removal that takes longer is tried again,
// and goes on where it was ended.
const (
	directoryTime   = 10 * time.Minute
	directoryGrace  = time.Second
	directoryMemory = 256 << 20
	directoryTasks  = 32
	lowestPriority  = 19
)

// DirectoryName returns the name of the unit.
func DirectoryName(s DirectorySpec) string {
	return contract.DirectoryPrefix + s.What + contract.UnitSuffix
}

// DirectoryProperties returns the properties of the unit. A unit of a user has no more rights than
// the user, and counts to the limits of the user's jobs.
func DirectoryProperties(s DirectorySpec) []Property {
	e := errand{
		about: "gpusched directory " + s.What, command: append([]string{s.Program}, s.Words...), log: "gpusched-job",
		time: directoryTime, grace: directoryGrace, memory: directoryMemory, tasks: directoryTasks,
	}
	p := append(e.properties(), []Property{
		{"StandardInput", "null"},
		{"DevicePolicy", "closed"},
		{"Nice", int32(lowestPriority)},
		{"Environment", []string{"GOMAXPROCS=1"}}, // otherwise the threads can exceed TasksMax where there are many CPUs
		{"NoNewPrivileges", true},
	}...)
	if s.UID != 0 {
		p = append(p, Property{"Slice", s.Scope.Slice(s.UID)}, Property{"User", strconv.Itoa(s.UID)})
	}
	return s.Scope.applicable(p)
}

// HomeName completes the name of the unit that makes a user's directory for those of jobs, and
// RemovalName that of the unit that removes a directory of a job.
func HomeName(uid int) string { return fmt.Sprintf("u%d", uid) }

func RemovalName(job int64, attempt int) string { return fmt.Sprintf("%d-%d", job, attempt) }
