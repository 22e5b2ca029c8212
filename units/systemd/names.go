package systemd

import "sync"

// names is a set of units. It only saves work: a unit in it is asked about
// directly, any other one is looked up first, because asking systemd about a
// unit that it does not have makes it load and drop an empty one, and that
// sends the same signals as a real change.
type names struct {
	mu  sync.Mutex
	set map[string]struct{}
}

func newNames() *names { return &names{set: map[string]struct{}{}} }

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.set[name] = struct{}{}
}

func (n *names) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.set, name)
}

func (n *names) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.set[name]
	return ok
}

func (n *names) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.set)
}
