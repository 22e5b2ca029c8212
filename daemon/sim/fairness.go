package sim

import (
	"cmp"
	"slices"
	"time"
)

// Fairness is who got the GPUs, and who should have, window by window from the
// trace's Begin on.
//
// The even division gives each user with jobs as many of the GPUs in use as any
// other, but nobody more than all of one's jobs ask; what is left goes to the
// others (max-min fairness). It is made anew at each instant. Misplaced is the
// share of the GPU time in use that went to others than these: 0 is even; while
// two users wait and one of them is served alone, it is a half.
type Fairness struct {
	Window    float64     `json:"window_s"`
	Users     []string    `json:"users"`
	GPUTime   [][]float64 `json:"gpu_s"`  // that a user's jobs held, by user and window
	Even      [][]float64 `json:"even_s"` // that the even division gives, by user and window
	Waited    [][]float64 `json:"wait_s"` // for how long the user had a job that did not run, by user and window
	Misplaced []float64   `json:"misplaced"`
}

// fairnessWindow is the shortest window that divides a run into no more than
// maxWindows.
func fairnessWindow(run time.Duration) time.Duration {
	const maxWindows = 400
	for _, window := range []time.Duration{6 * time.Hour, day, 7 * day} {
		if run <= maxWindows*window {
			return window
		}
	}
	return 28 * day
}

// Fairness divides the run into windows of six hours, or longer ones where these
// would be many.
func (o *Outcome) Fairness() *Fairness {
	return o.FairnessBy(fairnessWindow(o.end()))
}

// FairnessBy divides the run into windows of that length.
func (o *Outcome) FairnessBy(window time.Duration) *Fairness {
	c := newCensus(o.Jobs)
	n := int((o.end() + window - 1) / window)
	f := &Fairness{Window: window.Seconds(), Users: c.users, Misplaced: make([]float64, n)}
	for range f.Users {
		f.GPUTime = append(f.GPUTime, make([]float64, n))
		f.Even = append(f.Even, make([]float64, n))
		f.Waited = append(f.Waited, make([]float64, n))
	}
	c.walk(func(from, to time.Duration) {
		c.divide()
		for from < to {
			k := int(from / window)
			edge := min(to, time.Duration(k+1)*window)
			f.add(c, k, (edge - from).Seconds())
			from = edge
		}
	})
	for k := range f.Misplaced {
		used := 0.0
		for u := range f.Users {
			used += f.GPUTime[u][k]
		}
		f.Misplaced[k] /= max(used, 1e-9)
	}
	return f
}

// add takes in so many seconds in which nothing changes.
func (f *Fairness) add(c *census, window int, seconds float64) {
	for i, u := range c.active {
		held, even := float64(c.held[u])/1000, c.even[i]/1000
		f.GPUTime[u][window] += seconds * held
		f.Even[u][window] += seconds * even
		f.Misplaced[window] += seconds * max(0, even-held)
		if c.held[u] < c.asked[u] {
			f.Waited[u][window] += seconds
		}
	}
}

// census follows what each user asks and holds, in milli-GPUs, over time.
type census struct {
	users  []string
	asked  []int // by all of the user's jobs that have not ended
	held   []int
	active []int     // users who ask something, by position in users
	even   []float64 // of what is in use, by position in active
	turns  []turn
}

// turn is an instant at which a user asks or holds more or less than before.
type turn struct {
	at          time.Duration
	user        int
	asked, held int
}

func newCensus(jobs []JobOutcome) *census {
	c := &census{}
	for i := range jobs {
		c.users = append(c.users, jobs[i].User)
	}
	slices.Sort(c.users)
	c.users = slices.Compact(c.users)
	c.asked, c.held = make([]int, len(c.users)), make([]int, len(c.users))
	for i := range jobs {
		j := &jobs[i]
		user, _ := slices.BinarySearch(c.users, j.User)
		c.turns = append(c.turns, turn{at: j.Submit, user: user, asked: j.GPUMilli},
			turn{at: j.End, user: user, asked: -j.GPUMilli})
		for _, h := range j.Held {
			c.turns = append(c.turns, turn{at: h.From, user: user, held: j.GPUMilli},
				turn{at: h.To, user: user, held: -j.GPUMilli})
		}
	}
	slices.SortStableFunc(c.turns, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
	return c
}

// walk goes through all times in which nothing changes and somebody asks
// something.
func (c *census) walk(visit func(from, to time.Duration)) {
	for i, t := range c.turns {
		if i > 0 && t.at > c.turns[i-1].at && len(c.active) > 0 {
			visit(c.turns[i-1].at, t.at)
		}
		before := c.asked[t.user]
		c.asked[t.user] += t.asked
		c.held[t.user] += t.held
		switch {
		case before == 0 && t.asked > 0:
			c.active = append(c.active, t.user)
		case t.asked < 0 && c.asked[t.user] == 0:
			c.active = slices.DeleteFunc(c.active, func(u int) bool { return u == t.user })
		}
	}
}

// divide computes the even division of what is in use.
func (c *census) divide() {
	left, waits := 0.0, false
	c.even = c.even[:0]
	for _, u := range c.active {
		left += float64(c.held[u])
		waits = waits || c.held[u] < c.asked[u]
		c.even = append(c.even, float64(c.held[u]))
	}
	if !waits {
		return
	}
	slices.SortFunc(c.active, func(a, b int) int { return cmp.Or(cmp.Compare(c.asked[a], c.asked[b]), cmp.Compare(a, b)) })
	for i, u := range c.active {
		c.even[i] = min(float64(c.asked[u]), left/float64(len(c.active)-i))
		left -= c.even[i]
	}
}
