package units

import (
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/units/contract"
)

// Scope is the systemd that runs the jobs. The zero Scope is the systemd of the machine.
type Scope struct {
	User bool   // a user's own systemd, which runs as that user
	Root string // with User: the control group that contains all units of that systemd
}

// Flag returns the option, with a leading space, that makes systemctl and journalctl talk to that
// systemd.
func (s Scope) Flag() string {
	if s.User {
		return " --user"
	}
	return ""
}

// jobsSlice is the slice with all jobs of a scheduler.
const jobsSlice = "gpujobs.slice"

// Slice returns the slice of a user's jobs. A user's own systemd has a single slice, as all its
// jobs belong to that user.
func (s Scope) Slice(uid int) string {
	if s.User {
		return jobsSlice
	}
	return Slice(uid)
}

// ControlGroup returns the control group in which systemd puts the unit of a user's job.
func (s Scope) ControlGroup(uid int, unit string) string {
	group := s.Root + "/" + jobsSlice + "/"
	if slice := s.Slice(uid); slice != jobsSlice {
		group += slice + "/"
	}
	return group + unit
}

// OwnSlice returns the slice that a job has to itself, or "" if the job's engine needs none. A
// Docker daemon starts its containers outside the job's unit. So the unit and the containers are
// put into one slice, which has the device filter and the limits.
func (s Scope) OwnSlice(uid int, id int64, engine contract.Engine) string {
	if engine != contract.Docker || s.User {
		return ""
	}
	return JobSlice(uid, id)
}

// JobGroup returns the control group that contains all processes of a job.
func (s Scope) JobGroup(uid int, id int64, engine contract.Engine) string {
	if slice := s.OwnSlice(uid, id, engine); slice != "" {
		return s.ControlGroup(uid, slice)
	}
	return s.ControlGroup(uid, Name(id))
}

// Identifier returns the journal identifier of a job's lines. For a user's own systemd, journald
// takes the unit's name from the process that printed, which may already have ended. The lines of
// such a job are found by this identifier, which no other job has.
func (s Scope) Identifier(id int64) string {
	if s.User {
		return contract.UserIdentifier(strconv.FormatInt(id, 10))
	}
	return contract.UnitPrefix + strconv.FormatInt(id, 10)
}

// Terminal returns the name of a job's terminal, or "" if the name is the job's id.
func (s Scope) Terminal(id int64) string {
	if s.User {
		return contract.UserTerminal(strconv.FormatInt(id, 10))
	}
	return ""
}

// forRoot are the properties that need the machine's systemd. A user's own systemd runs everything
// as that user, and the kernel accepts no device filter from it. Such a systemd would ignore some
// of these properties; with others, units would fail to start.
var forRoot = []string{
	"User", "Group", "SupplementaryGroups", "DynamicUser", "DevicePolicy", "DeviceAllow", "PrivateNetwork", "CapabilityBoundingSet",
}

// applicable removes the properties that the scope's systemd can't apply.
func (s Scope) applicable(props []Property) []Property {
	if !s.User {
		return props
	}
	return slices.DeleteFunc(props, func(p Property) bool { return slices.Contains(forRoot, p.Name) })
}
