package nvml

import (
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// topology remembers how the GPUs are connected. It is read once of a set of
// GPUs, and again now and then: the NVSwitches of some machines are brought up
// by a service that may come later than we do.
type topology struct {
	of      map[int]string // the UUIDs by index that links are about
	links   []gpu.Link
	running chan []gpu.Link // the survey under way; nil: none
	about   map[int]string  // what running is about
	since   time.Time       // the begin of the last survey
}

// busy says whether a survey has still not returned, and takes its answer if it
// has.
func (t *topology) busy() bool {
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

// covers says whether every GPU that is well is one that links are about.
func (t *topology) covers(devices []gpu.Device) bool {
	for _, d := range devices {
		if uuid, ok := t.of[d.Index]; d.Health == gpu.HealthOK && (!ok || uuid != d.UUID) {
			return false
		}
	}
	return true
}

// among are the links between GPUs that are still who they were.
func (t *topology) among(devices []gpu.Device) []gpu.Link {
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

// readLinks is how the devices are connected. A survey that is not back before
// expired shows in a later Snapshot; one that only looks again is not waited for.
func (l *Library) readLinks(devices []gpu.Device, expired <-chan struct{}) []gpu.Link {
	t := &l.topology
	well := wellOf(devices)
	if t.busy() || len(well) < 2 {
		return t.among(devices)
	}
	known := t.covers(devices)
	if known && (len(well) < len(devices) || l.opts.Now().Sub(t.since) < l.opts.TopologyEvery) {
		return t.among(devices)
	}
	t.begin(l.survey(devices), well, l.opts.Now())
	if !known {
		select {
		case links := <-t.running:
			t.take(links)
		case <-expired:
		}
	}
	return t.among(devices)
}

// begin starts a survey in a goroutine of its own, which ends with its last call
// into the driver.
func (t *topology) begin(s *survey, about map[int]string, now time.Time) {
	answer := make(chan []gpu.Link, 1)
	t.running, t.about, t.since = answer, about, now
	go func() { answer <- s.links() }()
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
