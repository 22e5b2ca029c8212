package units

import "time"

// Status is what systemd says about one unit at one moment, in systemd's own terms. The zero value
// with a name is an absent unit.
type Status struct {
	Name         string
	Load         string // loaded, not-found, bad-setting, masked, …
	Active       string // active, activating, deactivating, inactive, failed
	Sub          string // running, exited, dead, …
	Result       string // success, exit-code, signal, oom-kill, timeout, …
	InvocationID string // hex; "" until it started
	ControlGroup string // path below the root of the hierarchy; "": none

	MainPID     uint32 // 0: the main process is not alive
	MainCode    int32  // CLD_EXITED and so on; 0: the main process has not ended
	MainStatus  int32  // exit status or signal, depending on MainCode
	StatusText  string // the last STATUS= of the main process
	StatusErrno int32  // the last ERRNO=
	WasActive   bool   // the main process was executed in this invocation
	Frozen      bool   // its processes are frozen, or about to be
	PostFailed  bool   // systemd ended it before it was active, since an ExecStartPost= program failed or took too long
	CheckCode   int32  // how the launcher's check (Spec.Check) failed, like MainCode; 0: no check, or it succeeded
	CheckStatus int32  // like MainStatus, for the check
	JobPending  bool   // systemd has a start or stop in its queue
	Stopped     bool   // the unit was already being stopped when the main process ended
	EngineEnded bool   // the main process failed after Docker, which ran its container, was stopped or restarted
	ServerEnded bool   // the main process failed after MPS, which it used, had ended
	Spent       bool   // the unit ended, has no processes, and a stop would run no command: only its result remains

	// MemoryMax is the limit of a running unit in bytes. Above MemoryHigh, the kernel slows the unit
	// down. Infinity: there is no such limit; 0: unknown, or the unit does not run.
	MemoryMax, MemoryHigh uint64

	CPUNSec    uint64 // CPU time in nanoseconds; Infinity: unknown
	MemoryPeak uint64 // bytes; Infinity: unknown, as on systemd before 255
	Started    uint64 // start of the main process in microseconds of real time; 0: unknown
	Ended      uint64 // end of the main process, likewise

	// Age is the time since the unit became active, by a clock that nobody can set; 0: unknown, or
	// the unit never was active.
	Age time.Duration

	// EndAge is the time since the main process ended, by the same clock; 0: unknown, or the main
	// process has not ended.
	EndAge time.Duration
}

// systemd's words for states and results, as far as they are used here.
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

	ResultResources = "resources" // systemd could not fork, for example
)

// How a main process ended, as in siginfo.
const (
	CLDExited int32 = 1
	CLDKilled int32 = 2
	CLDDumped int32 = 3
)
