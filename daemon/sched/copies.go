package sched

import "slices"

// copyMap maps the accounts and lanes of a snapshot to their copies.
type copyMap struct {
	accounts map[*Account]*Account
	lanes    map[*Lane]*Lane
}

func newCopies() copyMap {
	return copyMap{map[*Account]*Account{}, map[*Lane]*Lane{}}
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
	copied.Groups, copied.within = nil, totals{}
	for _, g := range a.Groups {
		copied.Groups = append(copied.Groups, c.account(g))
	}
	return &copied
}

// throttle returns copies of the throttle and its lane. Copies of throttles that share a lane share
// the copy of that lane.
func (c *copyMap) throttle(t *Throttle) *Throttle {
	if t == nil {
		return nil
	}
	l := c.lanes[t.Lane]
	if l == nil {
		own := *t.Lane
		own.begun, own.kept, own.left = 0, 0, slices.Clone(own.left)
		l = &own
		c.lanes[t.Lane] = l
	}
	return &Throttle{t.Limit, l, c.throttle(t.Next)}
}
