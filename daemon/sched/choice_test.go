package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// gpuShare returns a share of a GPU.
func gpuShare(gpu, milli int) Grant { return Grant{GPU: gpu, Milli: milli} }

// TestChoiceOfAPart places one job that asks for a part of a GPU on four GPUs, the first of which
// is free.
func TestChoiceOfAPart(t *testing.T) {
	spread := asks(func(r *job.Request) { r.Spread = true })
	for name, c := range map[string]struct {
		held   []Grant // each is held by another job
		milli  int
		change func(*Waiting)
		want   string
	}{
		"the fullest that has room":             {[]Grant{gpuShare(1, 250), gpuShare(2, 500), gpuShare(3, 700)}, 500, nil, "start 1 on 500m of 2"},
		"the next fuller one where it does not": {[]Grant{gpuShare(1, 250), gpuShare(2, 700), gpuShare(3, 800)}, 500, nil, "start 1 on 500m of 1"},
		"a free one where none has room":        {[]Grant{gpuShare(1, 750), gpuShare(2, 750), gpuShare(3, 750)}, 500, nil, "start 1 on 500m of 0"},
		"fewest jobs among the equally full":    {[]Grant{gpuShare(1, 250), gpuShare(1, 250), gpuShare(2, 500), gpuShare(3, 500)}, 500, nil, "start 1 on 500m of 2"},
		"the lowest of equals":                  {[]Grant{gpuShare(3, 500), gpuShare(2, 500)}, 500, nil, "start 1 on 500m of 2"},
		"spread takes the emptiest":             {[]Grant{gpuShare(1, 250), gpuShare(2, 500), gpuShare(3, 700)}, 250, spread, "start 1 on 250m of 0"},
		"spread among GPUs in use":              {[]Grant{gpuShare(0, 600), gpuShare(1, 250), gpuShare(2, 500), gpuShare(3, 700)}, 250, spread, "start 1 on 250m of 1"},
		"exactly what is left":                  {[]Grant{gpuShare(1, 700), gpuShare(2, 600)}, 300, nil, "start 1 on 300m of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 4)
			for i, g := range c.held {
				sc.runJob(job.ID(101+i), time.Hour, g)
			}
			if c.change == nil {
				c.change = func(*Waiting) {}
			}
			sc.queueJob(1, c.milli, c.change)
			sc.expect(c.want)
		})
	}
}

// A part of a GPU goes to a GPU without a reservation even if a reserved GPU is fuller. If the
// part's job ran longer than expected, it would delay a job that is to get the reserved GPU as a
// whole. If only the reserved GPU has room, the part goes there, provided its job is expected to
// end in time.
func TestChoiceOfAPartBesideAReservation(t *testing.T) {
	readPolicy(t).hasSentence("A job that asks for a part of a GPU gets one that is not kept as a whole, if such a GPU has room, " +
		"even if a fuller one has room too.")
	for name, c := range map[string]struct {
		wide int // GPUs that the job ahead asks for, in thousandths
		want string
	}{
		"one that is not kept":          {2000, "start 2 on 250m of 2, keep 0+1 for 1 at +1h0m0s"},
		"only kept ones":                {3000, "start 2 on 250m of 1, keep 0+1+2 for 1 at +2h0m0s"},
		"a part that is kept is shared": {1250, "start 2 on 250m of 1, keep 0+250m of 1 for 1 at +1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 3)
			sc.runJob(101, time.Hour, onGPUs(0)...)
			sc.runJob(102, time.Hour, gpuShare(1, 500))
			sc.runJob(103, 2*time.Hour, gpuShare(2, 250))
			sc.queueJob(1, c.wide)
			sc.queueJob(2, 250, expected(30*time.Minute))
			sc.expect(c.want)
		})
	}
}

// A job of one and a half GPUs takes its half from a GPU in use if it can, so that as many GPUs as
// possible stay whole. It never takes the half from the only GPU that is still whole.
func TestChoiceOfWholeAndPart(t *testing.T) {
	for name, c := range map[string]struct {
		held  []Grant
		milli int
		want  string
	}{
		"both on free GPUs":           {nil, 1500, "start 1 on 500m of 0+1"},
		"the half on one in use":      {[]Grant{gpuShare(2, 500)}, 1500, "start 1 on 0+500m of 2"},
		"the half beside, if it fits": {[]Grant{gpuShare(2, 600)}, 1500, "start 1 on 500m of 0+1"},
		"no whole one is left":        {[]Grant{gpuShare(0, 100), gpuShare(1, 100), gpuShare(2, 100)}, 1500, "wait"},
		"whole ones and a half":       {[]Grant{gpuShare(0, 500)}, 2500, "start 1 on 500m of 0+1+2"},
		"one whole GPU too few":       {[]Grant{gpuShare(0, 500), gpuShare(1, 500)}, 2500, "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 3)
			sc.s.Policy.ReservationDepth = 0
			for i, g := range c.held {
				sc.runJob(job.ID(101+i), time.Hour, g)
			}
			sc.queueJob(1, c.milli)
			sc.expect(c.want)
		})
	}
}

// A GPU with a foreign process is chosen last, for parts and for whole GPUs.
func TestForeignComesLast(t *testing.T) {
	for want, milli := range map[string]int{
		"start 1 on 500m of 1": 500, "start 1 on 1": 1000, "start 1 on 1+2": 2000, "start 1 on 0+1+2": 3000, "start 1 on 500m of 1+2": 1500,
	} {
		sc := newScene(t, 3)
		sc.s.GPUs[0].Foreign = true
		sc.queueJob(1, milli)
		sc.expect(want)
	}
}

// The memory of a part is the amount that was asked for, or else the same part of the GPU's usable
// memory. If it was not asked for in bytes, it may be smaller by the slack.
func TestMemoryOfAPart(t *testing.T) {
	for name, c := range map[string]struct {
		free, slack, asked int64
		want               string
	}{
		"half of it is there":             {40, 0, 0, "start 1 on 500m of 0"},
		"it is not":                       {39, 0, 0, "wait"},
		"but for the slack":               {39, 1, 0, "start 1 on 500m of 0"},
		"short by more than the slack":    {38, 1, 0, "wait"},
		"less was asked":                  {10, 0, 10, "start 1 on 500m of 0"},
		"bytes are exact, whatever slack": {9, 1, 10, "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 1)
			sc.s.Policy.ReservationDepth = 0
			g := &sc.s.GPUs[0]
			g.MemFreeBytes, g.SlackBytes = c.free*gib, c.slack*gib
			g.UsableBytes = 80 * 1000 * (gib / 1000) // a half is 40 GiB, minus the rounding to thousandths
			sc.queueJob(1, 500, asks(func(r *job.Request) { r.GPUMemBytes = c.asked * gib }))
			sc.expect(c.want)
		})
	}
}

// Memory that was promised to a job is not free, even if the job does not use it yet.
func TestPromisesAreNotFree(t *testing.T) {
	for seen, want := range map[int64]string{0: "wait", 10: "wait", 20: "start 1 on 500m of 0", 30: "start 1 on 500m of 0"} {
		sc := newScene(t, 1)
		sc.s.Policy.ReservationDepth = 0
		sc.runJob(101, time.Hour, Grant{GPU: 0, Milli: 500, Bytes: 30 * gib})
		sc.s.GPUs[0].Held[0].SeenBytes = seen * gib
		sc.s.GPUs[0].MemFreeBytes = 40 * gib // the job asks for 30 GiB
		sc.queueJob(1, 500, asks(func(r *job.Request) { r.GPUMemBytes = 30 * gib }))
		sc.expect(want)
	}
}

// A job's GPUs are of one model if possible. A GPU with little memory, such as a GPU for a display,
// is chosen last.
func TestModelsAndSmallGPUs(t *testing.T) {
	const big, other, tiny = "NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 3090", "NVIDIA T400 4GB"
	size := map[string]int64{big: 80 * gib, other: 24 * gib, tiny: 4 * gib}
	for name, c := range map[string]struct {
		models []string
		busy   []int
		milli  int
		want   string
	}{
		"a pair of one model":                  {[]string{big, other, big, other}, nil, 2000, "0+2"},
		"the model of which two are free":      {[]string{big, other, big, other}, []int{0}, 2000, "1+3"},
		"two models when it must be":           {[]string{big, other, big, other}, nil, 3000, "0+1+2"},
		"one, as always":                       {[]string{other, big, big}, nil, 1000, "0"},
		"not the display card":                 {[]string{tiny, big, other}, nil, 1000, "1"},
		"the display card when it is the last": {[]string{tiny, big, other}, []int{1, 2}, 1000, "0"},
		"no pair with the display card":        {[]string{tiny, tiny, big, other}, nil, 2000, "2+3"},
		"a part of another":                    {[]string{tiny, big}, nil, 500, "500m of 1"},
		"display cards alone are like others":  {[]string{tiny, tiny}, nil, 1000, "0"},
	} {
		for _, linked := range []bool{false, true} {
			sc := newScene(t, len(c.models))
			for i, model := range c.models {
				g := &sc.s.GPUs[i]
				g.Model, g.MemTotalBytes = model, size[model]
				g.MemFreeBytes, g.UsableBytes = size[model], size[model]
				if linked && i > 0 {
					sc.link(9, i-1, i)
				}
			}
			for i, g := range c.busy {
				sc.runJob(job.ID(101+i), time.Hour, onGPUs(g)...)
			}
			sc.queueJob(1, c.milli)
			if !linked || len(c.models) != 4 || c.milli != 3000 {
				t.Run(name, func(*testing.T) { sc.expect("start 1 on " + c.want) })
			}
		}
	}
}
