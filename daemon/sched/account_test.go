package sched

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"
)

const week = 7 * 24 * time.Hour

// A group with a share counts beside its members, one without does not, and a
// user in no group counts as a group of one.
func TestFactorOfAMember(t *testing.T) {
	capacity := 2 * lifetime(1<<62, 0, week)
	used := func(uid, share int, part float64, groups ...*Account) *Account {
		a := &Account{UID: uid, Share: share, Groups: groups}
		a.Restore(time.Duration(part*capacity), 0)
		return a
	}
	lab, plain := used(-1, 4, 0.5), used(-1, 0, 0.9)
	for name, c := range map[string]struct {
		of   *Account
		want float64 // exponent
	}{
		"nothing used":         {used(1, 0, 0), 0},
		"alone":                {used(1, 0, 0.5), 0.5},
		"alone with a share":   {used(1, 2, 0.5), 0.25},
		"group without share":  {used(1, 0, 0.5, plain), 0.5},
		"group with a share":   {used(1, 0, 0.5, lab), (0.5 + 0.125) / 2},
		"both":                 {used(1, 2, 0.5, lab, plain), (0.25 + 0.125) / 2},
		"a group of one equal": {used(1, 0, 0.5, used(-1, 1, 0.5)), 0.5},
	} {
		c.of.beginPass(0, week, capacity)
		if want := math.Exp2(-c.want); math.Abs(c.of.factor-want) > 1e-9 {
			t.Errorf("%s: factor %g, want %g", name, c.of.factor, want)
		}
	}
}

// Where nothing could be given out nobody has used a part of it, and time that is
// used up to the last moment is used up.
func TestMeasuredUse(t *testing.T) {
	for _, c := range []struct {
		capacity, half, used, most time.Duration
		factor                     float64
		over                       bool
	}{
		{0, week, time.Hour, 0, 1, false}, {0, week, 0, 0, 1, false}, {2 * time.Hour, week, time.Hour, 0, math.Exp2(-0.5), false},
		{2 * time.Hour, 0, time.Hour, time.Minute, 1, false}, {time.Hour, week, time.Hour, time.Hour, 0.5, true},
		{time.Hour, week, time.Hour, time.Hour + 1, 0.5, false}, {time.Hour, week, time.Hour, 0, 0.5, false},
	} {
		a := &Account{MaxUsage: c.most}
		a.Restore(c.used, 0)
		if a.beginPass(0, c.half, float64(c.capacity)); a.factor != c.factor || a.over != c.over {
			t.Errorf("%+v: factor %g, used up %t", c, a.factor, a.over)
		}
	}
}

// Members of two groups who always want more settle where the rule's exponents
// are equal: the group of share 2 gets more, and within a group all get alike.
func TestGroupsSettleByTheirShares(t *testing.T) {
	lab, class := &Account{UID: -1, Share: 2}, &Account{UID: -1, Share: 1}
	var users []*Account
	for i := range 6 {
		users = append(users, &Account{UID: i, Groups: []*Account{[]*Account{lab, class}[i%2]}})
	}
	capacity := lifetime(1<<62, 0, week)
	got := make([]time.Duration, len(users))
	for now := Instant(0); now < Instant(20*week); now = now.Add(time.Hour) {
		for _, a := range users {
			a.beginPass(now, week, capacity)
		}
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
	if want := (1 + 1.0/3) / (1.0/2 + 1.0/3); math.Abs(ratio-want) > 0.05 {
		t.Errorf("the groups got %v, %.2f times as much, want %.2f", got, ratio, want)
	}
	for i := 2; i < 6; i++ {
		if off := float64(got[i]) / float64(got[i%2]); math.Abs(off-1) > 0.05 {
			t.Errorf("members of one group got %v", got)
		}
	}
}
