package sched

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// rivals are users who always have jobs waiting. The number of a user's waiting jobs never changes.
type rivals struct {
	*loop
	users   []*Account
	backlog []int
	used    map[*Account]time.Duration // the GPU time of each user
	draw    func(*Account) (milli int, run time.Duration)
}

// compete simulates the given time and returns each user's part of the GPU time.
func (r *rivals) compete(until time.Duration) (parts []float64) {
	r.used = map[*Account]time.Duration{}
	for i, u := range r.users {
		for range r.backlog[i] {
			r.another(u)
		}
	}
	r.ended = func(j *loopJob) { r.used[j.Account] += j.run * time.Duration(j.Request.GPUMilli) / job.WholeGPU }
	r.passed = func(p *Plan, _ []job.ID) {
		for _, x := range p.Place {
			r.another(r.jobs[x.Job-1].Account)
		}
	}
	r.runUntil(noon.Add(until))
	sum := time.Duration(0)
	for _, d := range r.used {
		sum += d
	}
	for _, u := range r.users {
		parts = append(parts, float64(r.used[u])/float64(sum))
	}
	return parts
}

func (r *rivals) another(u *Account) {
	milli, run := r.draw(u)
	j := r.add(time.Duration(r.s.Now-noon)+time.Second, u, job.Request{GPUMilli: milli}, run)
	for i := len(r.coming) - 1; i > 0 && r.coming[i-1].came > j.came; i-- {
		r.coming[i], r.coming[i-1] = r.coming[i-1], r.coming[i]
	}
}

func newRivals(t *testing.T, seed uint64, shares, backlog []int) *rivals {
	r := &rivals{loop: newLoop(t, seed, 8, Policy{HalfLife: week, ReservationDepth: 1}), backlog: backlog}
	for i, share := range shares {
		r.users = append(r.users, &Account{UID: 1001 + i, Share: share})
	}
	r.draw = func(*Account) (int, time.Duration) {
		return oneOf(r.loop, 250, 1000, 1000, 2000, 4000), time.Duration(1+r.IntN(240)) * time.Minute
	}
	return r
}

// If two equal users always have jobs waiting, their GPU times differ by at most 5 percent in the
// end.
func TestFairShare(t *testing.T) {
	for seed := range drawing(3) {
		r := newRivals(t, seed, []int{1, 1}, []int{10, 10})
		parts := r.compete(40 * 24 * time.Hour)
		if d := math.Abs(parts[0]-parts[1]) / max(parts[0], parts[1]); d > 0.05 {
			t.Errorf("seed %d: parts %v differ by %.1f %%", seed, parts, 100*d)
		}
	}
}

// The user with the larger share gets more of the machine.
func TestLargerShare(t *testing.T) {
	for seed := range drawing(2) {
		r := newRivals(t, seed, []int{1, 2, 8}, []int{10, 10, 10})
		if parts := r.compete(40 * 24 * time.Hour); parts[0] >= parts[1] || parts[1] >= parts[2] {
			t.Errorf("seed %d: shares of 1, 2 and 8 have the parts %.3f", seed, parts)
		}
	}
}

// Two users have shares of 1 and 3. The second user gets three times as much GPU time, within 10
// percent: if all jobs came at once and have the same expected run time, and also if each user
// always has ten jobs waiting, and a new job comes for each job that starts. There the ratio of the
// waits must match the ratio of the factors. Without the set-back it does when the first user gets
// 1.54 times the fair part and the second 0.82 times: 2^(1.54 - 0.82) is 1.6, and so is the ratio
// of the waits. With the set-back it does at 1.036 and 0.988 times: 2^(33 * 0.046) is 2.86.
func TestUnequalShares(t *testing.T) {
	readPolicy(t).hasSentence("So of two users with shares of 1 and 3 who always have jobs waiting, the second gets three times as much.")
	for _, c := range []struct {
		backlog   int
		days      int
		low, high float64
	}{{600, 4, 2.7, 3.3}, {10, 40, 2.7, 3.3}} {
		for seed := range drawing(3) {
			r := newRivals(t, seed, []int{1, 3}, []int{c.backlog, c.backlog})
			r.draw = func(*Account) (int, time.Duration) { return oneOf(r.loop, 500, 1000, 1000, 2000), 2 * time.Hour }
			parts := r.compete(time.Duration(c.days) * 24 * time.Hour)
			if ratio := parts[1] / parts[0]; ratio < c.low || ratio > c.high {
				t.Errorf("seed %d, %d waiting: shares of 1 and 3 have the parts %.3f, %.2f to one", seed, c.backlog, parts, ratio)
			}
		}
	}
}

// usedOf returns the account of a user who had used the given number of GPU-hours by noon.
func usedOf(uid int, hours int, groups ...*Account) *Account {
	a := &Account{UID: uid, Groups: groups}
	a.Restore(time.Duration(hours)*time.Hour, noon)
	return a
}

// Accounts without waiting and running jobs do not count, whatever they have used. The factors of
// all other accounts are the same as if these accounts did not exist.
func TestIdleAccounts(t *testing.T) {
	sc := newScene(t, 8)
	sc.s.Policy.HalfLife = week
	ann, ben := usedOf(1, 400), usedOf(2, 100)
	sc.queueJob(1, 1000, of(ann))
	sc.queueJob(2, 1000, of(ben))
	for id := range job.ID(50) {
		sc.queueJob(100+id, 1000, of(usedOf(int(100+id), 1000)))
	}
	sc.p.Plan(&sc.s, sc.q)
	with := []float64{ann.factor, ben.factor}
	for id := range job.ID(50) {
		sc.q.Remove(100 + id)
	}
	sc.p.Plan(&sc.s, sc.q)
	alone := factorsOn(t, 8, noon, usedOf(1, 400), usedOf(2, 100))
	if got := []float64{ann.factor, ben.factor}; !slices.Equal(got, alone) || slices.Equal(with, alone) {
		t.Errorf("factors are %.3f with the idle ones, %.3f once these are away, %.3f without them", with, got, alone)
	}
}

// factorsOn returns the factors of waiting users at the given moment, on a machine with the given
// number of GPUs.
func factorsOn(t *testing.T, gpus int, now Instant, users ...*Account) []float64 {
	sc := newScene(t, gpus)
	sc.s.Policy.HalfLife, sc.s.Now = week, now
	return factorsIn(sc, users)
}

// On a machine that is an hour old, use makes little difference: if one of two users has used the
// whole machine, this user's factor is half of the other's, not a quarter. On a machine that others
// have used for weeks, a new user loses hardly anything by an hour of use.
func TestAnHourOldAccount(t *testing.T) {
	first := factorsOn(t, 8, noon, usedOf(1, 8), usedOf(2, 0))
	if ratio := first[1] / first[0]; math.Abs(ratio-2) > 0.01 {
		t.Errorf("after an hour the factors are %.3f", first)
	}
	old := factorsOn(t, 8, noon, usedOf(1, 400), usedOf(2, 8))
	none := factorsOn(t, 8, noon, usedOf(1, 400), usedOf(2, 0))
	if old[1] < 0.95*none[1] || old[1] >= none[1] || old[1] < 3*old[0] {
		t.Errorf("beside one of weeks the factor is %.3f after an hour, %.3f before", old, none)
	}
}

// Over a weekend without use, the use of all users decays alike. The order remains, and nobody
// gains an advantage. A user who worked through the weekend ranks lower on Monday.
func TestAWeekendWithoutUse(t *testing.T) {
	monday := noon.Add(60 * time.Hour)
	before := factorsOn(t, 8, noon, usedOf(1, 400), usedOf(2, 100), usedOf(3, 10))
	after := factorsOn(t, 8, monday, usedOf(1, 400), usedOf(2, 100), usedOf(3, 10))
	for i, f := range after {
		if math.Abs(f-before[i]) > 0.02*before[i] || i > 0 && f <= after[i-1] {
			t.Errorf("on Monday the factors are %.3f, before the weekend %.3f", after, before)
		}
	}
	worked, rested := usedOf(1, 100), usedOf(2, 100)
	worked.Start(4000, gpuRate(4000), noon, week)
	worked.Finish(4000, gpuRate(4000), monday, week)
	if f := factorsOn(t, 8, monday, worked, rested); f[0] >= 1 || f[1] <= 1 || f[1] > 2 {
		t.Errorf("the user who worked through the weekend and the one who did not have the factors %.3f", f)
	}
}

// A group's fair part does not grow with the number of its members. If two groups have used the
// same, all their users rank alike. If all users have used the same, the only user of one group
// goes before each of the three users of another group.
func TestGroupsOfUnequalSize(t *testing.T) {
	lab, class := usedOf(-1, 300), usedOf(-1, 300)
	lab.Share, class.Share = 1, 1
	even := factorsOn(t, 8, noon, usedOf(1, 100, lab), usedOf(2, 100, lab), usedOf(3, 100, lab), usedOf(4, 300, class))
	for _, f := range even {
		if math.Abs(f-1) > 1e-9 {
			t.Errorf("where the groups have had the same the factors are %.3f", even)
			break
		}
	}
	lab, class = usedOf(-1, 450), usedOf(-1, 150)
	lab.Share, class.Share = 1, 1
	f := factorsOn(t, 8, noon, usedOf(1, 150, lab), usedOf(2, 150, lab), usedOf(3, 150, lab), usedOf(4, 150, class))
	if f[0] != f[1] || f[1] != f[2] || f[3] < 1.4 || f[0] > 0.75 {
		t.Errorf("where all have had the same, and one is alone in a group, the factors are %.3f", f)
	}
}
