package job

import "time"

// Change is what an update changes of a queued job; nil fields stay.
type Change struct {
	GPUMilli    *int
	GPUMemBytes *int64
	MemBytes    *int64
	CPUs        *int
	TimeLimit   *time.Duration // 0: no limit, where the site allows that
	Priority    *Priority
	Begin       *time.Time // zero: at once
	After       *[]Dependency
	ArrayLimit  *int // 0: no limit
	Preemptible *bool
	Retries     *int
	Name        *string
	Comment     *string
}

// Validate reports everything that is wrong with the form of a change. Whether
// the changed job can still run is the scheduler's question.
func (c *Change) Validate() error {
	var p Problems
	l, r := Label{Name: "x"}, Request{GPUMilli: WholeGPU}
	set(&l.Name, c.Name)
	set(&l.Comment, c.Comment)
	set(&r.GPUMilli, c.GPUMilli)
	set(&r.GPUMemBytes, c.GPUMemBytes)
	set(&r.MemBytes, c.MemBytes)
	set(&r.CPUs, c.CPUs)
	set(&r.TimeLimit, c.TimeLimit)
	set(&r.Priority, c.Priority)
	set(&r.Begin, c.Begin)
	set(&r.After, c.After)
	set(&r.Retries, c.Retries)
	l.check(&p)
	r.check(&p)
	if c.ArrayLimit != nil && (*c.ArrayLimit < 0 || *c.ArrayLimit > MaxTasks) {
		p.addf("the limit of an array is 0 to %d tasks (--array-limit)", MaxTasks)
	}
	if *c == (Change{}) {
		p.addf("there is nothing to change (see 'gpusched update --help')")
	}
	return p.Err()
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Apply puts the changes into a submission.
func (c *Change) Apply(s *Submission) {
	r := &s.Request
	set(&s.Label.Name, c.Name)
	set(&s.Label.Comment, c.Comment)
	set(&r.GPUMilli, c.GPUMilli)
	set(&r.GPUMemBytes, c.GPUMemBytes)
	set(&r.MemBytes, c.MemBytes)
	set(&r.CPUs, c.CPUs)
	set(&r.TimeLimit, c.TimeLimit)
	set(&r.Priority, c.Priority)
	set(&r.Begin, c.Begin)
	set(&r.After, c.After)
	set(&r.Preemptible, c.Preemptible)
	set(&r.Retries, c.Retries)
	if r.Array != nil {
		set(&r.Array.Limit, c.ArrayLimit)
	}
	if c.Preemptible != nil {
		r.ImpliedStop = false
	}
	if c.MemBytes != nil {
		r.DefaultedMem = false
	}
}
