package nvml

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// A slot keeps, between Snapshots, what is known about the GPU at one index.
type slot struct {
	known      card      // the GPU, as it was last read without an error; Health "" if never
	running    chan card // result of the running reading, or nil
	started    time.Time // when the running reading was started
	whole      bool      // the running reading is complete
	needsWhole bool      // the last complete reading failed, or there was none: the next must be complete
}

// isBusy reports whether an earlier reading is still under way.
func (s *slot) isBusy() bool {
	if s.running == nil {
		return false
	}
	select {
	case <-s.running: // a late answer is useless
		s.running = nil
		return false
	default:
		return true
	}
}

// begin starts a reading in its own goroutine, which lives until its last call into the driver
// returns. If an earlier reading is still running, begin starts nothing and returns false.
func (s *slot) begin(r *reader, now time.Time) bool {
	if s.isBusy() {
		return false
	}
	answer := make(chan card, 1)
	r.look = r.look && !s.needsWhole
	s.running, s.started, s.whole = answer, now, !r.look
	go func() { answer <- r.readAll() }()
	return true
}

// collect waits for the reading until the channel expired is closed.
func (s *slot) collect(index int, expired <-chan struct{}) card {
	select {
	case d := <-s.running:
		return s.done(d)
	case <-expired:
	}
	select {
	case d := <-s.running:
		return s.done(d)
	default:
		return s.hungCard(index)
	}
}

func (s *slot) done(d card) card {
	s.running = nil
	if s.whole {
		s.needsWhole = d.Health != gpu.HealthOK
	}
	if d.Health == gpu.HealthOK {
		s.known = d
		return d
	}
	return s.restoreIdentity(d.Device)
}

// hungCard returns the GPU as not well, because its reading has not returned.
func (s *slot) hungCard(index int) card {
	s.needsWhole = s.needsWhole || s.whole
	d := blankDevice(index)
	d.Health = gpu.HealthError
	d.HealthDetail = fmt.Sprintf("a call into the driver hangs since %s", s.started.UTC().Format(time.RFC3339))
	return s.restoreIdentity(d)
}

// restoreIdentity fills in the identity of the GPU as it was last read without an error, unless d
// has another UUID. It adds the slices that the GPU had at that reading, with the health of d.
func (s *slot) restoreIdentity(d gpu.Device) card {
	k, c := s.known, card{Device: d}
	if k.Health != "" && (d.UUID == "" || d.UUID == k.UUID) {
		d.UUID, d.Minor = k.UUID, k.Minor
		d.Name, d.PCI = k.Name, k.PCI
		d.NUMANode, d.CPUs = k.NUMANode, k.CPUs
		c = card{Device: d, slices: k.knownSlices(d)}
	}
	return c
}
