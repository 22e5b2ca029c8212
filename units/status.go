package units

import "time"

// Status is what systemd says of one unit at one moment, in its own words.
// The zero value, but for the name, is an absent unit.
type Status struct {
	Name         string
	Load         string // loaded, not-found, bad-setting, masked, …
	Active       string // active, activating, deactivating, inactive, failed
	Sub          string // running, exited, dead, …
	Result       string // success, exit-code, signal, oom-kill, timeout, …
	InvocationID string // hex; "" until it started
	ControlGroup string // path below the root of the hierarchy; "" none

	MainPID     uint32 // of the main process while it lives; 0: there is none
	MainCode    int32  // CLD_EXITED and so on; 0: the main process has not ended
	MainStatus  int32  // exit status or signal, as MainCode says
	StatusText  string // the last STATUS= of the main process
	StatusErrno int32  // the last ERRNO=
	WasActive   bool   // the main process was executed, in this invocation
	Frozen      bool   // its processes are halted, or are about to be
	PostFailed  bool   // systemd ended it before it was active: a program of ExecStartPost= failed, or took too long
	CheckCode   int32  // as MainCode, of the check of the launcher (Spec.Check); 0: it went well, or there was none
	CheckStatus int32  // as MainStatus
	JobPending  bool   // systemd still has a start or stop in its queue
	Stopped     bool   // systemd was stopping the unit already when the main process ended
	Spent       bool   // it has ended, no process is left in it, and its stop runs no command: only its result stays

	CPUNSec    uint64 // Infinity: unknown
	MemoryPeak uint64 // bytes; Infinity: unknown, as on systemd before 255
	Started    uint64 // realtime microseconds at which the main process started; 0: unknown
	Ended      uint64 // the same for its end

	// Age is how long ago the unit became active, by a clock that nobody can set;
	// 0: unknown, or it never was.
	Age time.Duration

	// EndAge is how long ago the main process ended, by the same clock; 0: unknown, or
	// it has not.
	EndAge time.Duration
}

// The words of systemd that matter here.
const (
	LoadLoaded   = "loaded"
	LoadNotFound = "not-found"

	ActiveActive       = "active"
	ActiveActivating   = "activating"
	ActiveDeactivating = "deactivating"
	ActiveInactive     = "inactive"
	ActiveFailed       = "failed"
	ActiveReloading    = "reloading"

	SubStart   = "start"
	SubRunning = "running"
	SubExited  = "exited"
	SubDead    = "dead"
	SubFailed  = "failed"

	ResultSuccess  = "success"
	ResultExitCode = "exit-code"
	ResultSignal   = "signal"
	ResultCoreDump = "core-dump"
	ResultOOM      = "oom-kill"
	ResultTimeout  = "timeout"

	ResultResources = "resources" // systemd could not fork, or the like
)

// How a main process ended, as in siginfo.
const (
	CLDExited int32 = 1
	CLDKilled int32 = 2
	CLDDumped int32 = 3
)
