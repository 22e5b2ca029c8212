package job

import "time"

// Shutdown is a planned shutdown or reboot of the machine.
type Shutdown struct {
	At     time.Time `json:"at"`
	How    string    `json:"how"`              // reboot, kexec, soft-reboot, poweroff or halt, as logind calls them
	By     string    `json:"by,omitempty"`     // the administrator who drained the machine; "": it is scheduled with 'shutdown'
	Reason string    `json:"reason,omitempty"` // why, in the administrator's words
}

// RebootsCheck is the name of the check that is Limited while an upgrade needs a reboot.
const RebootsCheck = "reboots"

// bootTime is the assumed time from a reboot until jobs start again. It is only used to foretell
// starts.
const bootTime = 10 * time.Minute

// Back returns the time from which jobs may start again; zero: unknown.
func (s *Shutdown) Back() time.Time {
	if s.How == "poweroff" || s.How == "halt" {
		return time.Time{}
	}
	return s.At.Add(bootTime)
}

// Say returns what happens to the machine and when.
func (s *Shutdown) Say() Message {
	what := "reboots"
	switch s.How {
	case "poweroff":
		what = "is switched off"
	case "halt":
		what = "is halted"
	}
	switch {
	case s.By != "" && s.Reason != "":
		return Say("detail/ends-by-why", what, s.At, s.By, s.Reason)
	case s.By != "":
		return Say("detail/ends-by", what, s.At, s.By)
	}
	return Say("detail/ends", what, s.At)
}

// Reboot is the reboot that an administrator drained the machine for. It takes place as soon as no
// job runs.
type Reboot struct {
	By    time.Time `json:"by,omitzero"`     // when the jobs that can be queued again are stopped; zero: never
	Force bool      `json:"force,omitempty"` // at the time By, jobs that can't be queued again do not delay the reboot
	Run   string    `json:"run,omitempty"`   // the run of systemd that it ends; "": unknown
	Due   bool      `json:"due,omitempty"`   // no job starts any more, not even a short one
}

// Closes reports whether the control keeps all jobs from starting, unless its time is over.
func (g *GPUControl) Closes() bool { return g.Paused && (g.Reboot == nil || g.Reboot.Due) }
