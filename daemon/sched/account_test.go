package sched

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

const week = 7 * 24 * time.Hour

// factors returns the fair-share factors of waiting users on a machine of two GPUs. If the
// half-life is a week, the factors count two GPU-hours (evenPart) in addition to all users' use.
func factors(t *testing.T, half time.Duration, users ...*Account) []float64 {
	sc := newScene(t, 2)
	sc.s.Policy.HalfLife = half
	return factorsIn(sc, users)
}

func factorsIn(sc *scene, users []*Account) (list []float64) {
	for i, a := range users {
		sc.queueJob(job.ID(i+1), 1000, of(a))
	}
	sc.p.Plan(&sc.s, sc.q)
	for _, a := range users {
		list = append(list, a.factor)
	}
	return list
}

// A user's use is compared with the user's fair part of the use of all active users. evenPart adds
// one hour of the whole machine to the use of all, and each user's fair part of that hour to the
// user's own use.
func TestFactor(t *testing.T) {
	used := func(share int, hours float64, groups ...*Account) *Account {
		a := &Account{UID: 1, Share: share, Groups: groups}
		a.Restore(time.Duration(hours*float64(time.Hour)), noon)
		return a
	}
	group := func(share int, hours float64) *Account {
		g := used(share, hours)
		g.UID = -1
		return g
	}
	lab, class, plain := group(1, 8), group(1, 0), group(0, 100)
	for name, c := range map[string]struct {
		users []*Account
		want  []float64 // exponents: by how much each user is above the user's part, relative to that part
	}{
		"nobody used anything":   {[]*Account{used(1, 0), used(1, 0)}, []float64{0, 0}},
		"alone":                  {[]*Account{used(1, 100)}, []float64{0}},
		"one had all":            {[]*Account{used(1, 6), used(1, 0)}, []float64{0.75, -0.75}}, // 7/8 and 1/8, divided by 1/2
		"little decides little":  {[]*Account{used(1, 0.02), used(1, 0)}, []float64{0.02 / 2.02, -0.02 / 2.02}},
		"as they are entitled":   {[]*Account{used(3, 30), used(1, 10)}, []float64{0, 0}},
		"less than its share":    {[]*Account{used(3, 3), used(1, 3)}, []float64{4.5/8/0.75 - 1, 3.5/8/0.25 - 1 + 2*0.75*math.Log2(3)}},
		"a little less":          {[]*Account{used(3, 29.6), used(1, 10.4)}, []float64{-0.4 / 31.5, 33*0.4/10.5 + 32*0.4/31.5}},
		"a group without share":  {[]*Account{used(1, 6, plain), used(1, 0)}, []float64{0.75, -0.75}},
		"a group, and one alone": {[]*Account{used(1, 4, lab), used(1, 4, lab), used(1, 8)}, []float64{0, 0, 0}},
		"within a group":         {[]*Account{used(1, 8, lab), used(1, 0, lab), used(1, 8)}, []float64{0.8, -0.8, 0}},
		"two groups":             {[]*Account{used(1, 8, lab), used(1, 0, class)}, []float64{0.8, -0.8}},
		"the mean over groups":   {[]*Account{used(1, 8, lab, class), used(1, 0, class)}, []float64{(0.8 + (-0.8 + 0.8)) / 2, -0.8 - 0.8}},
	} {
		for i, got := range factors(t, week, c.users...) {
			if want := math.Exp2(-c.want[i]); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: user %d has the factor %g, want %g", name, i, got, want)
			}
		}
	}
	for _, got := range factors(t, 0, used(1, 100), used(1, 0)) {
		if got != 1 {
			t.Errorf("where use does not count the factor is %g", got)
		}
	}
}

// A quota of GPU time is used up as soon as the use reaches the quota.
func TestUsedUp(t *testing.T) {
	for _, c := range []struct {
		half, used, most time.Duration
		over             bool
	}{
		{week, time.Hour, 0, false}, {0, time.Hour, time.Minute, false},
		{week, time.Hour, time.Hour, true}, {week, time.Hour, time.Hour + 1, false},
	} {
		a := &Account{MaxUsage: c.most}
		a.Restore(c.used, noon)
		if factors(t, c.half, a); a.over != c.over {
			t.Errorf("%+v: used up %t", c, a.over)
		}
	}
}

// If the members of two groups always have jobs waiting, the groups get GPU time in proportion to
// their shares, 2 to 1. All members of a group get the same.
func TestGroupsSettleByTheirShares(t *testing.T) {
	lab, class := &Account{UID: -1, Share: 2}, &Account{UID: -1, Share: 1}
	var users []*Account
	for i := range 6 {
		users = append(users, &Account{UID: i, Groups: []*Account{[]*Account{lab, class}[i%2]}})
	}
	sc := newScene(t, 1)
	sc.s.Policy.HalfLife = week
	for i, a := range users {
		sc.queueJob(job.ID(i+1), 1000, of(a))
	}
	got := make([]time.Duration, len(users))
	for now := Instant(0); now < Instant(20*week); now = now.Add(time.Hour) {
		sc.s.Now = now
		sc.p.Plan(&sc.s, sc.q)
		best := slices.MaxFunc(users, func(a, b *Account) int { return cmp.Compare(a.factor, b.factor) })
		for _, a := range []*Account{best, best.Groups[0]} {
			a.Start(1000, gpuRate(1000), now, week)
			a.Finish(1000, gpuRate(1000), now.Add(time.Hour), week)
		}
		if now > Instant(5*week) {
			got[best.UID] += time.Hour
		}
	}
	ratio := float64(got[0]+got[2]+got[4]) / float64(got[1]+got[3]+got[5])
	if math.Abs(ratio-2) > 0.05 {
		t.Errorf("the groups got %v, %.2f times as much, want twice", got, ratio)
	}
	for i := 2; i < 6; i++ {
		if off := float64(got[i]) / float64(got[i%2]); math.Abs(off-1) > 0.05 {
			t.Errorf("members of one group got %v", got)
		}
	}
}
