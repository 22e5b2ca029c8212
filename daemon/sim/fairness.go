package sim

import (
	"cmp"
	"slices"
	"time"
)

// Fairness is who got the GPUs, and who should have, window by window from the
// trace's Begin on.
//
// At each instant the GPUs in use are divided evenly among the users who have
// jobs, but nobody is given more than all of one's jobs ask, and what is left
// goes to the others (max-min fairness). Misplaced is the share of the GPU time
// in use that went to others than these: 0 is even, and with two users who both
// wait, one of them served alone, it is a half.
type Fairness struct {
	Window    float64     `json:"window_s"`
	Users     []string    `json:"users"`
	GPUTime   [][]float64 `json:"gpu_s"`     // by user and window
	Misplaced []float64   `json:"misplaced"` // by window
}

// Fairness divides the run into windows.
func (o *Outcome) Fairness(window time.Duration) *Fairness {
	c := newCensus(o.Jobs)
	f := &Fairness{Window: window.Seconds(), Users: c.users}
	n := 0
	for i := range o.Jobs {
		n = max(n, int((o.Jobs[i].End+window-1)/window))
	}
	used := make([]float64, n)
	f.Misplaced = make([]float64, n)
	for range f.Users {
		f.GPUTime = append(f.GPUTime, make([]float64, n))
	}
	c.walk(func(from, to time.Duration) {
		wrong := c.misplaced()
		for at := from; at < to; {
			k := int(at / window)
			edge := min(to, time.Duration(k+1)*window)
			step := (edge - at).Seconds() / 1000
			for _, u := range c.active {
				f.GPUTime[u][k] += step * float64(c.held[u])
				used[k] += step * float64(c.held[u])
			}
			f.Misplaced[k] += step * wrong
			at = edge
		}
	})
	for k := range used {
		if used[k] > 0 {
			f.Misplaced[k] /= used[k]
		}
	}
	return f
}

// census follows what each user asks and holds, in milli-GPUs, over time.
type census struct {
	users  []string
	asked  []int // by all of the user's jobs that have not ended
	held   []int
	active []int // users who ask something, by position in users
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

// misplaced is how many milli-GPUs are held by others than an even division of
// what is in use would have.
func (c *census) misplaced() float64 {
	left, waits := 0.0, false
	for _, u := range c.active {
		left += float64(c.held[u])
		waits = waits || c.held[u] < c.asked[u]
	}
	if !waits {
		return 0
	}
	slices.SortFunc(c.active, func(a, b int) int { return cmp.Or(cmp.Compare(c.asked[a], c.asked[b]), cmp.Compare(a, b)) })
	wrong := 0.0
	for i, u := range c.active {
		share := min(float64(c.asked[u]), left/float64(len(c.active)-i))
		left -= share
		wrong += max(0, share-float64(c.held[u]))
	}
	return wrong
}
