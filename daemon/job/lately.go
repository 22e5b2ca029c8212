package job

// Lately is what of an account's jobs ended since a moment: how many, and how many of them
// neither completed nor were cancelled. Tasks are counted, and not their array.
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
