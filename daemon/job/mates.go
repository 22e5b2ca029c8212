package job

// Mates says which jobs may share the GPU of a job that has a part of it. 0 stands for all jobs
// without MPS, and any other value for the jobs with the same value.
type Mates int

// NoMates means that no other job may share the GPU. It is for a job that ended with its mates, and
// now runs once more without MPS.
const NoMates Mates = -1

// SetMates sets the mates of a new job of the user.
func (r *Request) SetMates(uid int) {
	if r.MPS {
		r.Mates = MatesOf(uid)
	}
}

// IsolateAfter gives a job no mates for its next attempt if this cause ended the last one.
func (r *Request) IsolateAfter(cause StopCause) {
	if cause == StopMPS {
		r.Mates = NoMates
	}
}

// MatesOf returns the mates of a user's jobs with MPS.
func MatesOf(uid int) Mates { return Mates(uid + 1) }

// UID returns the user to whom the jobs with MPS belong. If the mates use no MPS, it returns -1.
func (m Mates) UID() int { return max(-1, int(m)-1) }

// Company describes the mates of some jobs by the number of these jobs, and the sum and the sum of
// the squares of their mates. So the order in which the jobs come and go does not matter.
type Company struct{ jobs, sum, squares int }

// Move adds a job with these mates if sign is 1, and removes it if sign is -1.
func (c *Company) Move(sign int, m Mates) {
	c.jobs += sign
	c.sum += sign * int(m)
	c.squares += sign * int(m) * int(m)
}

// Join adds the jobs of another company.
func (c *Company) Join(o Company) {
	c.jobs, c.sum, c.squares = c.jobs+o.jobs, c.sum+o.sum, c.squares+o.squares
}

// Admits reports whether a job with these mates may join. That is the case if there are no jobs, or
// if all have the same mates: the sum of the squared differences is then 0.
func (c *Company) Admits(m Mates) bool {
	n := int(m)
	return c.jobs == 0 || m != NoMates && c.squares-2*n*c.sum+c.jobs*n*n == 0
}
