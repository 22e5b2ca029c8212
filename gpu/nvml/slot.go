package nvml

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// slot is what is remembered of the GPU at one index between Snapshots.
type slot struct {
	known   gpu.Device      // who it was when it was last well; Health "" if never
	running chan gpu.Device // the reading under way; nil: none
	started time.Time       // of running
	whole   bool            // running leaves nothing out
	doubted bool            // the last whole reading went wrong, or there was none: the next is to leave nothing out
}

// stuck says whether an earlier reading has still not returned.
func (s *slot) stuck() bool {
	if s.running == nil {
		return false
	}
	select {
	case <-s.running: // too late to be of use
		s.running = nil
		return false
	default:
		return true
	}
}

// begin starts a reading in a goroutine of its own, which ends with its last
// call into the driver and not before. It starts none beside one that is stuck
// and says so.
func (s *slot) begin(r *reader, now time.Time) bool {
	if s.stuck() {
		return false
	}
	answer := make(chan gpu.Device, 1)
	r.look = r.look && !s.doubted
	s.running, s.started, s.whole = answer, now, !r.look
	go func() { answer <- r.device() }()
	return true
}

// collect waits for the reading until expired is closed.
func (s *slot) collect(index int, expired <-chan struct{}) gpu.Device {
	select {
	case d := <-s.running:
		return s.done(d)
	case <-expired:
	}
	select {
	case d := <-s.running:
		return s.done(d)
	default:
		return s.hung(index)
	}
}

func (s *slot) done(d gpu.Device) gpu.Device {
	s.running = nil
	if s.whole {
		s.doubted = d.Health != gpu.HealthOK
	}
	if d.Health == gpu.HealthOK {
		s.known = d
		return d
	}
	return s.recall(d)
}

// hung is the GPU whose reading has not returned.
func (s *slot) hung(index int) gpu.Device {
	s.doubted = s.doubted || s.whole
	d := blank(index)
	d.Health = gpu.HealthError
	d.HealthDetail = fmt.Sprintf("a call into the driver hangs since %s", s.started.UTC().Format(time.RFC3339))
	return s.recall(d)
}

// recall fills in who the GPU was when it was last well, unless it says that it
// is another one now.
func (s *slot) recall(d gpu.Device) gpu.Device {
	k := s.known
	if k.Health != "" && (d.UUID == "" || d.UUID == k.UUID) {
		d.UUID, d.Minor = k.UUID, k.Minor
		d.Name, d.PCI = k.Name, k.PCI
		d.NUMANode, d.CPUs = k.NUMANode, k.CPUs
	}
	return d
}
