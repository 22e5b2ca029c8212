package screen

import (
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

const (
	// span is the time that a sparkline shows.
	span = time.Minute
	// held is for how long a sample counts where no other follows it. The scheduler looks every
	// 5 s unless the site has changed that.
	held = 15 * time.Second
	// maxPoints bounds what is kept of one GPU: more than one a second is never asked for.
	maxPoints = 90
)

// point is one sample of a GPU's utilisation, in percent.
type point struct {
	at   time.Time
	util int
}

// remember keeps what a sample says of each GPU, once.
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
		case n > 0 && !at.After(points[n-1].at): // the same one again, or the clock was set back
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

// sparkline draws the last minute up to now in so many columns. Each is the same part of that
// minute and shows the highest sample of it; of a part without a sample it shows the one before,
// and a space where that is too long ago. In ASCII a digit is so many tenths.
func sparkline(points []point, now time.Time, width int, ascii bool) string {
	var b strings.Builder
	step := span / time.Duration(max(1, width))
	from := now.Add(-span)
	for i := range width {
		start := from.Add(time.Duration(i) * step)
		switch util := between(points, start, start.Add(step)); {
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

// level has one of its own for what does nothing.
func level(util int) int {
	if util <= 0 {
		return 0
	}
	return min(1+util*(len(levels)-1)/100, len(levels)-1)
}

// between is the highest sample after one moment and up to another, or the last before them that
// still counts; -1: there is none.
func between(points []point, from, to time.Time) int {
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
