package sched

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// TestNever has each reason why this machine can never serve a request, in the words that people
// read. It also has requests that the machine can serve, now or later.
func TestNever(t *testing.T) {
	lab := &Account{UID: -1, Name: "lab", MaxMilli: 3000}
	for want, c := range map[string]struct {
		r    job.Request
		a    *Account
		host Host
	}{
		"asks for 5 GPUs, this machine has 4":                                             {r: job.Request{GPUMilli: 5000}},
		"asks for 4.5 GPUs, this machine has 4":                                           {r: job.Request{GPUMilli: 4500}},
		"asks for 1 GPU of type h100, this machine has 0":                                 {r: job.Request{GPUMilli: 1000, GPUType: "h100"}},
		"asks for 0.5 of a GPU with 90G of memory, and no GPU has more than 80G for jobs": {r: job.Request{GPUMilli: 500, GPUMemBytes: 90 * gib}},
		"asks for 2 GPUs among 3, this machine has 1":                                     {r: job.Request{GPUMilli: 2000, GPUsFrom: []int{3}}},
		"asks for 2 GPUs among 1,2,3 other than 0,2,3, this machine has 1":                {r: job.Request{GPUMilli: 2000, GPUsFrom: []int{1, 2, 3}, ExcludeGPUs: []int{0, 2, 3}}},
		"asks for GPU 7, which this machine does not have or does not offer":              {r: job.Request{GPUMilli: 1000, GPUIDs: []int{7}}},
		"asks for 0.5 of a GPU among 2,3, and this site gives parts of GPU 0,1 only":      {r: job.Request{GPUMilli: 500, GPUsFrom: []int{2, 3}}},
		"asks for 1.5 GPUs among 2,3, and this site gives parts of GPU 0,1 only":          {r: job.Request{GPUMilli: 1500, GPUsFrom: []int{2, 3}}},
		"      ": {r: job.Request{GPUMilli: 1500, GPUsFrom: []int{1, 3}}},
		"asks for 20G of host memory, this machine has 16G for jobs": {r: job.Request{MemBytes: 20 * gib}, host: Host{MemBytes: 16 * gib}},
		"asks for 2 GPUs, the quota of ann is 1.5":                   {r: job.Request{GPUMilli: 2000}, a: &Account{Name: "ann", MaxMilli: 1500}},
		"this part of a GPU counts as 1 GPU, because it chooses its GPU or asks for more of the GPU's memory than of the GPU; the quota of ann is 0.5": {r: job.Request{GPUMilli: 500, Spread: true}, a: &Account{Name: "ann", MaxMilli: 500}},
		"           ": {r: job.Request{GPUMilli: 500}, a: &Account{Name: "ann", MaxMilli: 500}},
		"this part of a GPU counts as 0.75 of a GPU, because it chooses its GPU or asks for more of the GPU's memory than of the GPU; the quota of ann is 0.5": {
			r: job.Request{GPUMilli: 50, GPUMemBytes: 60 * gib, Derived: job.Derived{MemMilli: 750}}, a: &Account{Name: "ann", MaxMilli: 500},
		},
		"asks for 4 GPUs, the quota of group lab is 3":           {r: job.Request{GPUMilli: 4000}, a: &Account{Name: "ann", Groups: []*Account{lab}}},
		"asks for 5 GPUs with 80G of memory, this machine has 4": {r: job.Request{GPUMilli: 5000, GPUMemBytes: 80 * gib}},
		"asks for 9 CPUs, this machine has 8 CPUs for jobs":      {r: job.Request{CPUs: 9, GPUMilli: 1000}, host: Host{CPUs: 8, NoGPUCPUs: 6}},
		"asks for 7 CPUs, jobs without a GPU have 6 CPUs here":   {r: job.Request{CPUs: 7}, host: Host{CPUs: 8, NoGPUCPUs: 6}},
		"asks for 9G of host memory, the quota of ann is 8G":     {r: job.Request{MemBytes: 9 * gib}, a: &Account{Name: "ann", MaxMem: 8 * gib}},
		"asks for 5 CPUs, the quota of ann is 4 CPUs":            {r: job.Request{CPUs: 5}, a: &Account{Name: "ann", MaxCPUs: 4}},
		"       ":   {r: job.Request{CPUs: 6}, host: Host{CPUs: 8, NoGPUCPUs: 6}},
		"        ":  {r: job.Request{CPUs: 8, GPUMilli: 1000}, host: Host{CPUs: 8, NoGPUCPUs: 6}},
		"         ": {r: job.Request{CPUs: 99}},                                                             // CPUs are not counted
		"    ":      {r: job.Request{MemBytes: 9 * gib}, host: Host{MemBytes: 16 * gib, NoGPUMem: 8 * gib}}, // it runs alone
		"     ":     {r: job.Request{MemBytes: 16 * gib, GPUMilli: 1000}, host: Host{MemBytes: 16 * gib, NoGPUMem: 8 * gib}},
		"":          {r: job.Request{GPUMilli: 4000, GPUMemBytes: 80 * gib, GPUType: "a100"}},
		" ":         {r: job.Request{MemBytes: 20 * gib}}, // memory is not counted
		"  ":        {r: job.Request{GPUMilli: 3000}, a: &Account{Name: "ann", Groups: []*Account{lab}, MaxMilli: 3000}},
		"   ":       {r: job.Request{}},
	} {
		sc := newScene(t, 4)
		sc.s.GPUs[2].WholeOnly, sc.s.GPUs[3].WholeOnly = true, true
		sc.s.Host = c.host
		sc.s.GPUs[0].State = Lost // the GPU may come back
		sc.s.GPUs[1].Held = []Hold{{Job: 9, Milli: 1000}}
		checkNever(t, Infeasible(&sc.s, c.a, &c.r), want)
	}
}

func checkNever(t *testing.T, got *job.Refusal, want string) {
	t.Helper()
	for len(want) > 0 && want[0] == ' ' {
		want = want[1:]
	}
	switch {
	case want == "" && got != nil:
		t.Errorf("refused: %s", got)
	case want != "" && (got == nil || !strings.HasPrefix(words.Error(got), "can never start: "+want+" (") || got.Kind() != job.RefusedNever):
		t.Errorf("got %v, want %q with a hint", got, want)
	}
}

// If a GPU was lost from the beginning, it may turn out to be of any kind.
func TestNeverOfAnUnreadGPU(t *testing.T) {
	sc := newScene(t, 4)
	sc.s.GPUs[2] = GPU{Index: 2, State: Lost}
	for _, r := range []job.Request{
		{GPUMilli: 4000, GPUMemBytes: 10 * gib}, {GPUMilli: 4000, GPUType: "a100"}, {GPUMilli: 1000, GPUIDs: []int{2}, GPUMemBytes: 200 * gib},
		{GPUMilli: 1000, GPUMemBytes: 200 * gib},
	} {
		checkNever(t, Infeasible(&sc.s, nil, &r), "")
	}
	checkNever(t, Infeasible(&sc.s, nil, &job.Request{GPUMilli: 2000, GPUMemBytes: 90 * gib}), "asks for 2 GPUs with 90G of memory, and no GPU has more than 80G for jobs")
}

// If no GPU is known, the answer depends on whether the reason for that is known.
func TestNeverWithoutGPUs(t *testing.T) {
	ask := job.Request{GPUMilli: 1500}
	for want, host := range map[string]Host{
		"": {}, // there was no sample yet
		"asks for 1.5 GPUs, this machine has none":                          {GPUsSeen: true},
		"asks for 1.5 GPUs, and no GPU is known. The driver is not loaded.": {NoGPUs: "The driver is not loaded."},
	} {
		checkNever(t, Infeasible(&Snapshot{Host: host}, nil, &ask), want)
	}
	checkNever(t, Infeasible(&Snapshot{Host: Host{GPUsSeen: true}}, nil, &job.Request{}), "")
}

// GPUs that use host memory have no memory that a job can ask for. Other GPUs of the same machine
// may have memory.
func TestNeverOfUnifiedMemory(t *testing.T) {
	for want, c := range map[string]struct {
		unified int
		r       job.Request
	}{
		"":                                    {1, job.Request{GPUMilli: 1000, GPUMemBytes: 80 * gib}},
		" ":                                   {2, job.Request{GPUMilli: 2000}},
		"asks for 3 GPUs, this machine has 2": {2, job.Request{GPUMilli: 3000}},
		"asks for 1 GPU with 8G of memory, and these GPUs use the host's memory, which can't be kept for a GPU": {2, job.Request{GPUMilli: 1000, GPUMemBytes: 8 * gib}},
	} {
		sc := newScene(t, 2)
		for i := range c.unified {
			g := &sc.s.GPUs[i]
			g.MemTotalBytes, g.MemFreeBytes, g.UsableBytes = 0, 0, 0
		}
		checkNever(t, Infeasible(&sc.s, nil, &c.r), want)
	}
}
