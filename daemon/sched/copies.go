package sched

import "slices"

// copies are copies of what a snapshot points to, one of each.
type copies struct {
	accounts  map[*Account]*Account
	throttles map[*Throttle]*Throttle
}

func newCopies() copies {
	return copies{map[*Account]*Account{}, map[*Throttle]*Throttle{}}
}

// snapshot copies the machine and what runs. Nothing in it is the original's own
// memory, nor that of a job.
func (c *copies) snapshot(s *Snapshot) Snapshot {
	own := *s
	own.GPUs, own.Running = slices.Clone(s.GPUs), slices.Clone(s.Running)
	own.Links, own.Reserved = slices.Clone(s.Links), slices.Clone(s.Reserved)
	for i := range own.GPUs {
		own.GPUs[i].Held = slices.Clone(own.GPUs[i].Held)
	}
	for i := range own.Running {
		r := &own.Running[i]
		r.Grants, r.Account, r.Throttle = slices.Clone(r.Grants), c.account(r.Account), c.throttle(r.Throttle)
		if r.Request != nil {
			request := *r.Request
			r.Request = &request
		}
	}
	return own
}

// waiting copies a waiting job.
func (c *copies) waiting(w Waiting) Waiting {
	w.Account, w.Throttle = c.account(w.Account), c.throttle(w.Throttle)
	return w
}

// account returns the copy of an account.
func (c *copies) account(a *Account) *Account {
	if copied := c.accounts[a]; copied != nil || a == nil {
		return copied
	}
	copied := *a
	c.accounts[a] = &copied
	copied.Groups = nil
	for _, g := range a.Groups {
		copied.Groups = append(copied.Groups, c.account(g))
	}
	return &copied
}

// throttle returns the copy of a throttle.
func (c *copies) throttle(t *Throttle) *Throttle {
	if t == nil {
		return nil
	}
	if c.throttles[t] == nil {
		c.throttles[t] = &Throttle{Left: t.Left}
	}
	return c.throttles[t]
}
