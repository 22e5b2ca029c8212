package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestThresholds has one GPU with a load of 50 percent and half of its memory in use. The site and
// the job can each limit the load and the used memory; the stricter limit applies.
func TestThresholds(t *testing.T) {
	const start, wait = "start 1 on 0", "wait"
	for name, c := range map[string]struct {
		site Policy
		ask  job.Request
		want string
	}{
		"no bound":                  {want: start},
		"a load within the site's":  {site: Policy{MaxLoadPercent: 50}, want: start},
		"a load above the site's":   {site: Policy{MaxLoadPercent: 49}, want: wait},
		"above the job's":           {ask: job.Request{MaxLoadPercent: 49}, want: wait},
		"the job's is tighter":      {site: Policy{MaxLoadPercent: 90}, ask: job.Request{MaxLoadPercent: 10}, want: wait},
		"the site's is tighter":     {site: Policy{MaxLoadPercent: 10}, ask: job.Request{MaxLoadPercent: 90}, want: wait},
		"use within the site's":     {site: Policy{MaxUsedPercent: 50}, want: start},
		"use above the site's":      {site: Policy{MaxUsedPercent: 49}, want: wait},
		"use above the job's":       {ask: job.Request{MaxUsedPercent: 49}, want: wait},
		"as much free as the bound": {site: Policy{MinFreeBytes: 40 * gib}, want: start},
		"less free than the bound":  {site: Policy{MinFreeBytes: 40*gib + 1}, want: wait},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 1)
			sc.s.Policy = c.site
			sc.s.GPUs[0].LoadPercent, sc.s.GPUs[0].MemFreeBytes = 50, 40*gib
			sc.queueJob(1, 1000, asks(func(r *job.Request) { r.MaxLoadPercent, r.MaxUsedPercent = c.ask.MaxLoadPercent, c.ask.MaxUsedPercent }))
			sc.expect(c.want)
		})
	}
}

// If the load of a GPU is unknown, it is within every limit of the load.
func TestUnknownLoad(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Policy.MaxLoadPercent, sc.s.GPUs[0].LoadPercent = 1, -1
	sc.queueJob(1, 1000)
	sc.expect("start 1 on 0")
}

// TestQuotas has four GPUs, three jobs of ann with one GPU each, and one job of bob. A job that a
// quota holds back is skipped and gets no reservation.
func TestQuotas(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(ann, lab *Account)
		want string
	}{
		"none":                    {func(_, _ *Account) {}, "start 1 on 0, start 2 on 1, start 3 on 2, start 4 on 3"},
		"two jobs":                {func(ann, _ *Account) { ann.MaxJobs = 2 }, "start 1 on 0, start 2 on 1, start 4 on 2"},
		"two, of which one runs":  {func(ann, _ *Account) { ann.MaxJobs, ann.Jobs = 2, 1 }, "start 1 on 0, start 4 on 1"},
		"one and a half GPUs":     {func(ann, _ *Account) { ann.MaxMilli = 1500 }, "start 1 on 0, start 4 on 1"},
		"of which a half is used": {func(ann, _ *Account) { ann.MaxMilli, ann.Milli = 1500, 600 }, "start 4 on 0"},
		"the group's two jobs":    {func(_, lab *Account) { lab.MaxJobs = 2 }, "start 1 on 0, start 2 on 1, start 4 on 2"},
		"the group's two GPUs":    {func(_, lab *Account) { lab.MaxMilli = 2000 }, "start 1 on 0, start 2 on 1, start 4 on 2"},
		"hours that are used up":  {func(ann, _ *Account) { ann.MaxUsage = time.Hour }, "start 4 on 0"},
		"hours that are not":      {func(ann, _ *Account) { ann.MaxUsage = 3 * time.Hour }, "start 1 on 0, start 2 on 1, start 3 on 2, start 4 on 3"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 4)
			sc.s.Policy = Policy{FIFO: true, HalfLife: week, ReservationDepth: 1}
			ann, lab := sc.user("ann"), &Account{UID: -1, Name: "lab"}
			ann.Groups = []*Account{lab}
			ann.Restore(2*time.Hour, noon)
			c.set(ann, lab)
			for id := range job.ID(3) {
				sc.queueJob(id+1, 1000)
			}
			sc.queueJob(4, 1000, of(sc.user("bob")))
			sc.expect(c.want)
		})
	}
}

// Quotas of GPUs and GPU hours do not concern jobs without GPUs, but a quota of jobs does.
func TestQuotasWithoutGPU(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Policy.HalfLife = week
	ann := sc.user("ann")
	ann.MaxMilli, ann.MaxUsage, ann.MaxJobs = 1000, 1, 2
	ann.Milli = 1000
	ann.Restore(time.Hour, noon)
	for id := range job.ID(3) {
		sc.queueJob(id+1, 0)
	}
	sc.expect("start 1 on none, start 2 on none")
}

// An array is one entry in the queue. As many of its tasks start as its throttle allows.
func TestArray(t *testing.T) {
	for left, want := range map[int]string{
		0: "start 2 on 0", 2: "start 1 on 0, start 1 on 1, start 2 on 2", 9: "start 1 on 0, start 1 on 1, start 1 on 2, start 2 on 3",
	} {
		sc := newScene(t, 4)
		gate := atMost(left)
		sc.queueJob(1, 1000, func(w *Waiting) { w.Count, w.Throttle = 3, gate })
		sc.queueJob(2, 1000)
		sc.expect(want)
		sc.expect(want) // a plan does not change the throttle
	}
}

// No job starts if that would exceed the site's limit of running jobs, or the host's memory or
// CPUs.
func TestHost(t *testing.T) {
	for name, c := range map[string]struct {
		host Host
		want string
	}{
		"no bound":       {Host{}, "start 1 on none, start 2 on none"},
		"one more job":   {Host{Running: 4, MaxRunning: 5}, "start 1 on none"},
		"none":           {Host{Running: 5, MaxRunning: 5}, "wait"},
		"memory for one": {Host{MemBytes: 10 * gib, PromisedMem: 5 * gib}, "start 1 on none"},
		"for none":       {Host{MemBytes: 10 * gib, PromisedMem: 8 * gib}, "wait"},
		"one without":    {Host{MaxRunning: 9, NoGPUSlots: 1}, "start 1 on none"},
		"memory of one":  {Host{MemBytes: 10 * gib, NoGPUMem: 5 * gib}, "start 1 on none"},
		"CPUs for one":   {Host{CPUs: 10, PromisedCPUs: 5}, "start 1 on none"},
		"for no job":     {Host{CPUs: 10, PromisedCPUs: 8}, "wait"},
		"CPUs of one":    {Host{CPUs: 10, NoGPUCPUs: 5}, "start 1 on none"},
		"more than have": {Host{CPUs: 10, PromisedCPUs: 18}, "wait"},
		"over-promised":  {Host{MemBytes: 10 * gib, PromisedMem: 18 * gib}, "wait"},
	} {
		sc := newScene(t, 0)
		sc.s.Host, sc.s.Policy.ReservationDepth = c.host, 0
		for id := range job.ID(2) {
			sc.queueJob(id+1, 0, asks(func(r *job.Request) { r.MemBytes, r.CPUs = 3*gib, 3 }))
		}
		t.Run(name, func(t *testing.T) { sc.expect(c.want) })
	}
}
