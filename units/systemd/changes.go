package systemd

import (
	"context"
	"sync"

	"github.com/gpusched/gpusched/units"
)

// changes is the set of changed units that the reader has not been told about. A name leaves the
// set before the reader gets it, so that a later change adds it again. A pending resync includes
// every name.
type changes struct {
	out  chan units.Change
	wake chan struct{} // holds at most one token

	mu      sync.Mutex // guards what follows
	order   []string   // the names in the order of their first change
	pending map[string]struct{}
	all     bool
}

func newChanges() *changes {
	return &changes{out: make(chan units.Change), wake: make(chan struct{}, 1), pending: map[string]struct{}{}}
}

func (c *changes) add(name string) {
	c.mu.Lock()
	if _, known := c.pending[name]; !known && !c.all {
		c.pending[name] = struct{}{}
		c.order = append(c.order, name)
	}
	c.mu.Unlock()
	c.rouse()
}

func (c *changes) resync() {
	c.mu.Lock()
	c.all = true
	clear(c.pending)
	c.order = nil
	c.mu.Unlock()
	c.rouse()
}

func (c *changes) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take removes the next change from the set.
func (c *changes) take() (units.Change, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all {
		c.all = false
		return units.Change{Resync: true}, true
	}
	if len(c.order) == 0 {
		return units.Change{}, false
	}
	name := c.order[0]
	c.order = c.order[1:]
	delete(c.pending, name)
	return units.Change{Name: name}, true
}

// pump hands changes to the reader until ctx ends, and closes the channel.
func (c *changes) pump(ctx context.Context) {
	defer close(c.out)
	for {
		next, ok := c.take()
		if !ok {
			select {
			case <-c.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case c.out <- next:
		case <-ctx.Done():
			return
		}
	}
}
