package screen

import (
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

const (
	// span is the period that a sparkline covers.
	span = time.Minute
	// held is how long a sample counts if no other sample
	// follows. By default, the scheduler samples every 5 s.
	held = 15 * time.Second
	// maxPoints is the maximum number of samples of a
	// GPU. The screen requests at most one per second.
	maxPoints = 90
)

// A point is one sample of a GPU's utilisation in percent.
type point struct {
	at   time.Time
	util int
}

// remember stores the utilisation of each GPU. It stores each sample only once.
func (m *Model) remember(reply *api.GPUsReply) {
	at := reply.SampledAt
	if at.IsZero() {
		return
	}
	kept := map[string][]point{}
	for i := range reply.GPUs {
		g := &reply.GPUs[i]
		points := m.points[g.UUID]
		switch n := len(points); {
		case g.UtilPercent < 0:
		case n > 0 && !at.After(points[n-1].at): // the same sample again, or the clock was set back
			if at.Before(points[n-1].at.Add(-span)) {
				points = []point{{at, g.UtilPercent}}
			}
		default:
			points = append(points, point{at, g.UtilPercent})
		}
		for len(points) > maxPoints || len(points) > 1 && points[1].at.Before(at.Add(-span-held)) {
			points = points[1:]
		}
		kept[g.UUID] = points
	}
	m.points = kept
}

var levels = []rune("▁▂▃▄▅▆▇█")

// sparkline draws the last minute in the given number of columns. A column shows the highest sample
// of its part of the minute. If that part has no sample, the column shows the last earlier sample,
// or a space if that sample is too old. In ASCII, the digit 7 means 70 to 79 %.
func sparkline(points []point, now time.Time, width int, ascii bool) string {
	var b strings.Builder
	step := span / time.Duration(max(1, width))
	from := now.Add(-span)
	for i := range width {
		start := from.Add(time.Duration(i) * step)
		switch util := highest(points, start, start.Add(step)); {
		case util < 0:
			b.WriteByte(' ')
		case ascii:
			b.WriteByte('0' + byte(min(util/10, 9)))
		default:
			b.WriteRune(levels[level(util)])
		}
	}
	return b.String()
}

// level returns the index of a block. The lowest block means exactly 0 %.
func level(util int) int {
	if util <= 0 {
		return 0
	}
	return min(1+util*(len(levels)-1)/100, len(levels)-1)
}

// highest returns the highest sample in a period that excludes its start (from) and includes its
// end (to). Without such a sample, it returns the last earlier sample that still counts, or -1.
func highest(points []point, from, to time.Time) int {
	before, within := -1, -1
	for _, p := range points {
		switch {
		case p.at.After(to):
		case p.at.After(from):
			within = max(within, p.util)
		case from.Sub(p.at) < held:
			before = p.util
		}
	}
	if within < 0 {
		return before
	}
	return within
}
