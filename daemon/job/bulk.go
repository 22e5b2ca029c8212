package job

// Takes reports whether a command for many jobs applies to a live job: the job's state allows it,
// and the command does not already reach the job through its array.
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
		return j.IsSuspended()
	case CommandSignal, CommandRequeue, CommandSuspend:
		return j.State == Running && (k != CommandSuspend || !j.IsSuspended())
	}
	return false
}

// IsExpensive reports whether a command is expensive: it may have to search all jobs for those that
// the job waits for, or that would come to wait for it.
func (c *Command) IsExpensive() bool {
	return c.Kind == CommandSuspend || c.Change != nil && (c.Change.After != nil || c.Change.TimeLimit != nil)
}

// ForMany reports whether a command may be given for many jobs at once.
func (k CommandKind) ForMany() bool {
	switch k {
	case CommandCancel, CommandSignal, CommandHold, CommandRelease, CommandRequeue, CommandUpdate,
		CommandSuspend, CommandResume:
		return true
	}
	return false
}

// Outcome is the result of a command for one job.
type Outcome struct {
	Refusal *Refusal
	Job     *JobView // after the command; nil if the job is not live
	Reached []ID     // the jobs that will get the command's signal
}
