package job

// Takes reports whether a command for many jobs applies to a live job. It does if the job's state
// allows the command, and if the command does not reach the job through its array anyway.
func (k CommandKind) Takes(j *Job) bool {
	switch k {
	case CommandCancel:
		return j.Task == nil // cancelling the array ends all its tasks
	case CommandHold:
		return j.State == Queued && j.Held == ""
	case CommandRelease:
		return j.State == Queued && (j.Held != "" || j.TooManyFailed())
	case CommandUpdate:
		return j.State == Queued
	case CommandResume:
		return j.IsSuspended() && j.Park == NotParked
	case CommandUnpark:
		return j.Park != NotParked
	case CommandPark:
		return j.State == Running && !j.IsSuspended() && len(j.HeldGPUs()) > 0
	case CommandSignal, CommandRequeue, CommandSuspend:
		return j.State == Running && (k != CommandSuspend || !j.IsSuspended())
	}
	return false
}

// IsExpensive reports whether a command is expensive: it may have to search all jobs for
// dependencies, or to plan the queue.
func (c *Command) IsExpensive() bool {
	return c.Kind == CommandSuspend || c.Change != nil &&
		(c.Change.After != nil || c.Change.TimeLimit != nil || c.Change.MemBytes != nil)
}

// ForMany reports whether a user may give the command for many jobs at once.
func (k CommandKind) ForMany() bool {
	switch k {
	case CommandCancel, CommandSignal, CommandHold, CommandRelease, CommandRequeue, CommandUpdate,
		CommandSuspend, CommandResume, CommandPark, CommandUnpark:
		return true
	}
	return false
}

// Outcome is the result of a command for one job.
type Outcome struct {
	Refusal *Refusal
	Job     *JobView // the job after the command; nil if it is not live
	Reached []ID     // the jobs that will get the signal of the command
}
