package vm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A Wire is a network that connects only two boxes. Even the host is not on it.
type Wire struct{ ends [2]*box }

// WireAddresses are the addresses of the first and the second box on a Wire. They are from a block
// that is reserved for documentation.
var WireAddresses = [2]string{"198.51.100.1", "198.51.100.2"}

// These are the name of the network card in both boxes, and the time limit of each change of a
// Wire.
const (
	wireCard  = "wire0"
	wireLimit = 30 * time.Second
)

// Connect connects two boxes by a wire. The wire is gone when either box ends or reboots. Emulated
// machines are not supported.
func Connect(ctx context.Context, one, other *Machine) (*Wire, error) {
	w := &Wire{}
	for i, m := range []*Machine{one, other} {
		b, ok := m.guest.(*box)
		if !ok {
			return nil, errors.New("connect: only boxes can be")
		}
		w.ends[i] = b
	}
	second := strconv.Itoa(w.ends[1].leader)
	err := w.ip(ctx, 0, "link", "add", wireCard, "type", "veth", "peer", "name", wireCard, "netns", second)
	for i := range w.ends {
		if err == nil {
			err = w.ip(ctx, i, "addr", "add", WireAddresses[i]+"/24", "dev", wireCard)
		}
	}
	if err == nil {
		err = w.Plug(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return w, nil
}

// Pull unplugs the second box. Packets are then lost without an error.
func (w *Wire) Pull(ctx context.Context) error { return w.ip(ctx, 1, "link", "set", wireCard, "down") }

// Plug plugs the second box in again.
func (w *Wire) Plug(ctx context.Context) error {
	return errors.Join(w.ip(ctx, 0, "link", "set", wireCard, "up"), w.ip(ctx, 1, "link", "set", wireCard, "up"))
}

// ip runs the host's ip program in the network namespace of a box.
func (w *Wire) ip(ctx context.Context, end int, words ...string) error {
	argv := append([]string{"nsenter", "-t", strconv.Itoa(w.ends[end].leader), "-n", "--", "ip"}, words...)
	_, err := await.Output(ctx, wireLimit, argv)
	return err
}
