package job

// Takes reports whether a command that is for many jobs means a live one: that it can be done to it, and
// is not done to it by being done to its array.
func (k CommandKind) Takes(j *Job) bool {
	switch k {
	case CommandCancel:
		return j.Task == nil // an array ends with all its tasks
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

// Dear reports whether a command may have to look at all jobs: what a job waits for, or what others
// would wait for by it, is found out.
func (c *Command) Dear() bool {
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

// Outcome is what became of a command about a job.
type Outcome struct {
	Refusal *Refusal
	Job     *JobView // as it is then; nil where it is not live
	Reached []ID     // the jobs that are to get the signal of the command
}
