package nvml

import (
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// topology remembers the connections between GPUs. A new set of GPUs is surveyed at once, and the
// same set again from time to time, because on some machines the service of the NVSwitches starts
// later than this program.
type topology struct {
	of      map[int]string // the GPUs in links: UUIDs by index
	links   []gpu.Link
	running chan []gpu.Link // result of the running survey, or nil
	about   map[int]string  // the GPUs of the running survey: UUIDs by index
	since   time.Time       // beginning of the last survey
}

// isBusy reports whether a survey is still under way. If the survey has ended, isBusy stores its
// result.
func (t *topology) isBusy() bool {
	if t.running == nil {
		return false
	}
	select {
	case links := <-t.running:
		t.take(links)
		return false
	default:
		return true
	}
}

func (t *topology) take(links []gpu.Link) {
	t.of, t.links, t.running = t.about, links, nil
}

// covers reports whether the links include every GPU that is well.
func (t *topology) covers(devices []gpu.Device) bool {
	for _, d := range devices {
		if uuid, ok := t.of[d.Index]; d.Health == gpu.HealthOK && (!ok || uuid != d.UUID) {
			return false
		}
	}
	return true
}

// linksAmong returns the links between GPUs whose identity has not changed.
func (t *topology) linksAmong(devices []gpu.Device) []gpu.Link {
	same := make(map[int]bool, len(devices))
	for _, d := range devices {
		uuid, ok := t.of[d.Index]
		same[d.Index] = ok && uuid == d.UUID
	}
	var links []gpu.Link
	for _, l := range t.links {
		if same[l.A] && same[l.B] {
			links = append(links, l)
		}
	}
	return links
}

// readLinks returns the connections between devices. If a survey returns only after the channel
// expired was closed, its result appears in a later Snapshot. Nobody waits for a repeated survey.
func (l *Library) readLinks(devices []gpu.Device, expired <-chan struct{}) []gpu.Link {
	t := &l.topology
	well := wellOf(devices)
	if t.isBusy() || len(well) < 2 {
		return t.linksAmong(devices)
	}
	known := t.covers(devices)
	if known && (len(well) < len(devices) || l.opts.Now().Sub(t.since) < l.opts.TopologyEvery) {
		return t.linksAmong(devices)
	}
	t.begin(l.survey(devices), well, l.opts.Now())
	if !known {
		select {
		case links := <-t.running:
			t.take(links)
		case <-expired:
		}
	}
	return t.linksAmong(devices)
}

// begin starts a survey in its own goroutine, which lives until its last call into the driver
// returns.
func (t *topology) begin(s *survey, about map[int]string, now time.Time) {
	answer := make(chan []gpu.Link, 1)
	t.running, t.about, t.since = answer, about, now
	go func() { answer <- s.readPairs() }()
}

func wellOf(devices []gpu.Device) map[int]string {
	well := make(map[int]string, len(devices))
	for _, d := range devices {
		if d.Health == gpu.HealthOK {
			well[d.Index] = d.UUID
		}
	}
	return well
}
