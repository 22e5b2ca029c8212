package units

import (
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/units/contract"
)

// Scope is the systemd whose units jobs are. The zero Scope is that of the machine.
type Scope struct {
	User bool   // a user's own, which runs as that user
	Root string // with User: the control group of that systemd, below which all of its units are
}

// Flag is the option with which systemctl and journalctl are about that systemd, with a space before it.
func (s Scope) Flag() string {
	if s.User {
		return " --user"
	}
	return ""
}

// jobsSlice has all jobs of a scheduler.
const jobsSlice = "gpujobs.slice"

// Slice returns the slice of a user's jobs. A user's own systemd has one slice for
// all of them, as they are of one user.
func (s Scope) Slice(uid int) string {
	if s.User {
		return jobsSlice
	}
	return Slice(uid)
}

// ControlGroup is where systemd puts the unit of a user's job.
func (s Scope) ControlGroup(uid int, unit string) string {
	group := s.Root + "/" + jobsSlice + "/"
	if slice := s.Slice(uid); slice != jobsSlice {
		group += slice + "/"
	}
	return group + unit
}

// Identifier is the name under which a job's lines are in the journal. journald takes
// a unit's name for lines of a user's own systemd from the process alone, which may be
// gone by then, so these are found by the identifier, and it is no other job's.
func (s Scope) Identifier(id int64) string {
	if s.User {
		return contract.UserIdentifier(strconv.FormatInt(id, 10))
	}
	return contract.UnitPrefix + strconv.FormatInt(id, 10)
}

// Terminal names the terminal of a job where its id does not.
func (s Scope) Terminal(id int64) string {
	if s.User {
		return contract.UserTerminal(strconv.FormatInt(id, 10))
	}
	return ""
}

// forRoot are the properties that need the systemd of the machine: a user's own runs
// everything as that user, and the kernel takes no device filter from it. It would take
// some of them, and do nothing, or fail the start.
var forRoot = []string{"User", "Group", "DynamicUser", "DevicePolicy", "DeviceAllow"}

// within leaves out what the systemd of the scope can't do.
func (s Scope) within(props []Property) []Property {
	if !s.User {
		return props
	}
	return slices.DeleteFunc(props, func(p Property) bool { return slices.Contains(forRoot, p.Name) })
}
