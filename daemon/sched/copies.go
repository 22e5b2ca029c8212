package sched

import "slices"

// copyMap maps the accounts and throttles of a snapshot to their copies.
type copyMap struct {
	accounts  map[*Account]*Account
	throttles map[*Throttle]*Throttle
}

func newCopies() copyMap {
	return copyMap{map[*Account]*Account{}, map[*Throttle]*Throttle{}}
}

// snapshot returns a copy of the machine and its running jobs. The copy shares no memory with the
// original.
func (c *copyMap) snapshot(s *Snapshot) Snapshot {
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

func (c *copyMap) waiting(w Waiting) Waiting {
	w.Account, w.Throttle = c.account(w.Account), c.throttle(w.Throttle)
	return w
}

func (c *copyMap) account(a *Account) *Account {
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

func (c *copyMap) throttle(t *Throttle) *Throttle {
	if t == nil {
		return nil
	}
	if c.throttles[t] == nil {
		c.throttles[t] = &Throttle{Left: t.Left}
	}
	return c.throttles[t]
}
