package job

// Lately counts an account's jobs that have ended since a given time. Failed counts those jobs that
// neither completed nor were cancelled. Tasks are counted instead of their array.
type Lately struct{ Ended, Failed int }

// Add counts a job that has ended.
func (l *Lately) Add(j *Job) {
	if j.Request.Array != nil && j.Task == nil {
		return
	}
	if l.Ended++; j.State != Completed && j.State != Cancelled {
		l.Failed++
	}
}
