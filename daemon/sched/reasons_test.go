package sched

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// printReasons prints why a job that came last waits, such as "gpu-memory on 0: need 2 have 1" for
// a GPU and "quota-jobs" for the machine.
func (sc *scene) printReasons(w Waiting) string {
	sc.p.Plan(&sc.s, sc.q)
	var list []string
	for _, r := range sc.p.Explain(&w) {
		text := string(r.Code)
		if r.GPU != job.NoGPU {
			text += fmt.Sprintf(" on %d", r.GPU)
		}
		if r.Job != 0 {
			text += fmt.Sprintf(", job %d", r.Job)
		}
		if r.Need != 0 || r.Have != 0 {
			text += fmt.Sprintf(", need %d have %d", r.Need, r.Have)
		}
		if !r.Detail.IsZero() {
			text += ", " + words.Say(r.Detail)
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// lastJob returns a job that came after all others.
func (sc *scene) lastJob(milli int, change ...func(*Waiting)) Waiting {
	w := Waiting{ID: 99, Request: &job.Request{GPUMilli: milli}, Account: sc.user("ann"), Expected: time.Hour, Count: 1, Since: noon}
	for _, f := range change {
		f(&w)
	}
	return w
}

// TestReasonOfAGPU has each reason that there can be for a single GPU. For each GPU, only the most
// important reason is given.
func TestReasonOfAGPU(t *testing.T) {
	state := func(s GPUState, detail string) func(*scene) {
		return func(sc *scene) {
			sc.s.GPUs[0].State, sc.s.GPUs[0].Detail, sc.s.GPUs[0].CleaningAfter = s, job.Text(detail), 9
		}
	}
	for want, c := range map[string]struct {
		set   func(*scene)
		milli int
		ask   func(*job.Request)
	}{
		"too-much, can never start: asks for GPU 3, which this machine does not have or does not offer (see 'gpusched gpus'); gpu-excluded on 0":                                  {nil, 1000, func(r *job.Request) { r.GPUIDs = []int{3} }},
		"too-much, can never start: asks for 0.5 of a GPU among 1,2, this machine has 0 (see 'gpusched gpus'); gpu-excluded on 0":                                                 {nil, 500, func(r *job.Request) { r.GPUsFrom = []int{1, 2} }},
		"too-much, can never start: asks for 0.5 of a GPU other than 0, this machine has 0 (see 'gpusched gpus'); gpu-excluded on 0":                                              {nil, 500, func(r *job.Request) { r.ExcludeGPUs = []int{0} }},
		"too-much, can never start: asks for 0.5 of a GPU, and this site gives parts of GPU - only (ask for whole GPUs, or leave the choice to the scheduler); gpu-no-parts on 0": {func(sc *scene) { sc.s.GPUs[0].WholeOnly = true }, 500, nil},
		"too-much, can never start: asks for 1 GPU of type h100, this machine has 0 (see 'gpusched gpus'); gpu-type on 0, NVIDIA A100-SXM4-80GB":                                  {nil, 1000, func(r *job.Request) { r.GPUType = "h100" }},
		"gpu-lost on 0, fell off the bus":    {state(Lost, "fell off the bus"), 1000, nil},
		"gpu-unknown on 0, no answer":        {state(Unknown, "no answer"), 1000, nil},
		"gpu-paused on 0, dust":              {state(Paused, "dust"), 1000, nil},
		"gpu-drained on 0, repair":           {state(Drained, "repair"), 1000, nil},
		"gpu-cleaning on 0, job 9":           {state(Cleaning, ""), 1000, nil},
		"gpu-suspect on 0, job 9, a process": {state(Suspect, "a process"), 1000, nil},
		"gpu-busy on 0, job 103": {func(sc *scene) {
			sc.runJob(103, time.Hour, onGPUs(0)...)
			state(Paused, "dust")(sc)
		}, 1000, nil},
		"gpu-paused on 0": {func(sc *scene) {
			sc.runJob(103, time.Hour, gpuShare(0, 500))
			state(Paused, "")(sc)
		}, 500, nil},
		"gpu-foreign on 0":                        {func(sc *scene) { sc.s.GPUs[0].Occupied = true }, 1000, nil},
		"gpu-busy on 0, job 101":                  {func(sc *scene) { sc.runJob(101, time.Hour, onGPUs(0)...) }, 1000, nil},
		"gpu-busy on 0, job 102":                  {func(sc *scene) { sc.runJob(102, time.Hour, onGPUs(0)...) }, 500, nil},
		"gpu-share on 0, need 500 have 300":       {func(sc *scene) { sc.runJob(101, time.Hour, gpuShare(0, 700)) }, 500, nil},
		"gpu-memory on 0, need 30 have 20":        {func(sc *scene) { sc.s.GPUs[0].MemFreeBytes = 20 }, 1000, func(r *job.Request) { r.GPUMemBytes = 30 }},
		"gpu-memory on 0, need 40000 have 39999":  {func(sc *scene) { sc.s.GPUs[0].UsableBytes, sc.s.GPUs[0].MemFreeBytes = 80_000, 39_999 }, 500, nil},
		"gpu-memory on 0, need 7 have 6":          {func(sc *scene) { sc.s.Policy.MinFreeBytes, sc.s.GPUs[0].MemFreeBytes = 7, 6 }, 1000, nil},
		"gpu-load on 0, need 30 have 31":          {func(sc *scene) { sc.s.GPUs[0].LoadPercent = 31 }, 1000, func(r *job.Request) { r.MaxLoadPercent = 30 }},
		"gpu-used on 0, need 40 have 50":          {func(sc *scene) { sc.s.GPUs[0].MemFreeBytes = 40 * gib }, 1000, func(r *job.Request) { r.MaxUsedPercent = 40 }},
		"gpu-kept on 0, job 1":                    {func(sc *scene) { sc.queueJob(1, 1000) }, 1000, nil},
		"gpu-reserved on 0, for the lab till one": {func(sc *scene) { sc.reserve(-time.Hour, time.Hour, "for the lab till one", 0) }, 1000, nil},
		"": {nil, 1000, nil},
	} {
		sc := newScene(t, 1)
		if c.set != nil {
			c.set(sc)
		}
		w := sc.lastJob(c.milli)
		if c.ask != nil {
			c.ask(w.Request)
		}
		if got := sc.printReasons(w); got != strings.TrimSpace(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// reserve makes an advance reservation for users that the scene does not have.
func (sc *scene) reserve(from, to time.Duration, detail string, gpus ...int) *AdvanceReservation {
	r := AdvanceReservation{From: noon + Instant(from), To: noon + Instant(to), Detail: job.Text(detail), GPUs: make([]bool, len(sc.s.GPUs))}
	for _, g := range gpus {
		r.GPUs[g] = true
	}
	sc.s.Reserved = append(sc.s.Reserved, r)
	return &sc.s.Reserved[len(sc.s.Reserved)-1]
}

// A job that would still run at the reserved start does not get a reserved GPU. For any other job,
// the GPU is free.
func TestReasonIsTheReservation(t *testing.T) {
	sc := newScene(t, 2)
	sc.runJob(101, time.Hour, onGPUs(0)...)
	sc.queueJob(1, 2000)
	if got, want := sc.printReasons(sc.lastJob(1000, expected(2*time.Hour))), "gpu-busy on 0, job 101; gpu-kept on 1, job 1"; got != want {
		t.Errorf("of a long job: %s, want %s", got, want)
	}
	if got := sc.printReasons(sc.lastJob(1000, expected(30*time.Minute))); got != "" {
		t.Errorf("a short job has the reasons %s", got)
	}
}

// Reasons about the owner and the machine come first. If a job asks for several GPUs, one reason
// compares their number with the number that it could get.
func TestReasonsOfTheMachine(t *testing.T) {
	sc := newScene(t, 3)
	sc.s.Policy.HalfLife = week
	sc.s.Host = Host{MemBytes: 10, PromisedMem: 8, Running: 2, MaxRunning: 2, GPUsSeen: true}
	sc.runJob(101, time.Hour, onGPUs(2)...)
	lab := &Account{UID: -1, Name: "lab", MaxJobs: 1, Jobs: 1}
	bob := &Account{UID: 1, Name: "bob", Groups: []*Account{lab}, MaxMilli: 1500, Milli: 500, MaxUsage: 2 * time.Hour}
	bob.Restore(3*time.Hour, noon)
	w := sc.lastJob(2000, of(bob), asks(func(r *job.Request) { r.MemBytes = 3; r.GPUMemBytes = 1 }))
	sc.s.GPUs[1].MemFreeBytes = 0
	want := []string{
		"too-much, can never start: asks for 2 GPUs with 1B of memory, the quota of bob is 1.5 (ask for fewer, or an administrator for a larger quota)",
		"quota-gpus, need 2000 have 1000, bob has 1 of 1.5 left", "quota-hours, need 2 have 3, bob", "quota-jobs, need 1 have 1, group lab",
		"max-running, need 2 have 0, ann's jobs hold 1", "host-memory, need 3 have 2", "gpu-count, need 2 have 1",
		"gpu-free on 0", "gpu-memory on 1, need 1 have 0", "gpu-busy on 2, job 101",
	}
	if got := sc.printReasons(w); got != strings.Join(want, "; ") {
		t.Errorf("reasons\n%s, want\n%s", strings.ReplaceAll(got, "; ", "\n"), strings.Join(want, "\n"))
	}
	w.Request.GPUMilli = 0
	if got, want := sc.printReasons(w), "quota-jobs, need 1 have 1, group lab; max-running, need 2 have 0, ann's jobs hold 1; host-memory, need 3 have 2"; got != want {
		t.Errorf("without a GPU: %s, want %s", got, want)
	}
	sc.s.GPUs, sc.s.Host = nil, Host{}
	sc.s.Running = nil
	if got := sc.printReasons(sc.lastJob(1000)); got != "starting-up" {
		t.Errorf("before the first look at the GPUs: %s", got)
	}
}

// A quota of GPU time is used up only when nothing at all is left of it. If a job waits only
// because of a quota, the GPUs are reported as free.
func TestReasonOfAQuota(t *testing.T) {
	sc := newScene(t, 2)
	sc.s.Policy.HalfLife = week
	ann := sc.user("ann")
	ann.Restore(2*time.Hour, noon)
	ann.MaxUsage = 2 * time.Hour
	if got, want := sc.printReasons(sc.lastJob(2000)), "quota-hours, need 2 have 2, ann; gpu-free on 0; gpu-free on 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	ann.MaxUsage++
	if got := sc.printReasons(sc.lastJob(2000)); got != "" {
		t.Errorf("with a moment more: %s", got)
	}
}

// If jobs without GPUs have used up their part of the host, the reason names the user who has the
// most of it. If several users have equally much, the reason names the first of them.
func TestReasonsWithoutGPU(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Host = Host{MaxRunning: 10, Running: 4, MemBytes: 100, PromisedMem: 60, NoGPUSlots: 3, NoGPUMem: 20, GPUsSeen: true}
	for i, mem := range []int64{40, 5, 5, 10} {
		r := sc.runJob(job.ID(101+i), time.Hour)
		r.MemBytes = mem
		r.Account = sc.user([]string{"ann", "bob", "cid", "cid"}[i])
		if i == 0 {
			r.Grants = onGPUs(0)
		}
	}
	ask := asks(func(r *job.Request) { r.MemBytes = 2 })
	if got, want := sc.printReasons(sc.lastJob(0, ask)), "no-gpu-jobs, need 3 have 0, cid's jobs hold 2; no-gpu-memory, need 2 have 0, cid's jobs hold 15B"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	sc.s.Running[3].Account = sc.user("dot")
	if got, want := sc.printReasons(sc.lastJob(0, ask)), "no-gpu-jobs, need 3 have 0, bob's jobs hold 1; no-gpu-memory, need 2 have 0, dot's jobs hold 10B"; got != want {
		t.Errorf("among equals: %s, want %s", got, want)
	}
}

// A plan reports which jobs it starts.
func TestPlaced(t *testing.T) {
	sc := newScene(t, 1)
	sc.queueJob(1, 1000)
	sc.queueJob(2, 1000)
	sc.plan()
	if !sc.p.Placed(1) || sc.p.Placed(2) {
		t.Errorf("job 1 is started: %t, job 2: %t", sc.p.Placed(1), sc.p.Placed(2))
	}
}
