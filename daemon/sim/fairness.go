package sim

import (
	"cmp"
	"slices"
	"time"
)

// Fairness reports which users got the GPUs, and which users should have got them. It does so for
// each window of time. The first window begins at the trace's Begin.
//
// The even division gives every user with jobs the same number of the GPUs in use. A user who
// requests less than that gets no more than requested, and the other users share the rest (max-min
// fairness). The division is computed for each instant. Misplaced is the part of the used GPU time
// that users got beyond their even part: 0 is even, and 0.5 means that only one of two users who
// want GPUs is served.
type Fairness struct {
	Window    float64     `json:"window_s"`
	Users     []string    `json:"users"`
	GPUTime   [][]float64 `json:"gpu_s"`  // GPU time of a user's jobs, by user and window
	Even      [][]float64 `json:"even_s"` // GPU time by the even division, by user and window
	Waited    [][]float64 `json:"wait_s"` // time in which the user had a job that did not run, by user and window
	Misplaced []float64   `json:"misplaced"`
}

// fairnessWindow returns the shortest window for which a run has at most maxWindows windows.
func fairnessWindow(run time.Duration) time.Duration {
	const maxWindows = 400
	for _, window := range []time.Duration{6 * time.Hour, day, 7 * day} {
		if run <= maxWindows*window {
			return window
		}
	}
	return 28 * day
}

// Fairness uses windows of six hours. If there would be too many windows, it uses longer ones.
func (o *Outcome) Fairness() *Fairness {
	return o.FairnessBy(fairnessWindow(o.lastEnd()))
}

// FairnessBy uses windows of the given length.
func (o *Outcome) FairnessBy(window time.Duration) *Fairness {
	c := newCensus(o.Jobs)
	n := int((o.lastEnd() + window - 1) / window)
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

// add adds a period of this many seconds in which nothing changes.
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

// A census tracks how many milli-GPUs each user requests and holds over time.
type census struct {
	users  []string
	asked  []int // milli-GPUs that all unfinished jobs of the user request
	held   []int
	active []int     // users who request something, as indexes of users
	even   []float64 // each active user's part, in the order of active
	turns  []turn
}

// A turn is a change in what a user requests or holds.
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

// walk visits all intervals in which nothing changes and somebody requests something.
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

// divide computes the even division of the GPUs in use.
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
