package core_test

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// copied is a process whose GPU memory is in the host's memory.
type copied struct {
	gpu  string // the UUID
	what gpu.Process
}

// fate is how the driver ends the next copies of a job.
type fate struct {
	end  core.ParkEnd
	says string
}

// copy simulates the driver, to which copying twice is the same as once. The answer follows later.
func (w *world) copy(a *core.Park, back bool) {
	u, end := w.units[a.Job], w.fates[a.Job].end
	if u == nil || u.attempt != a.Attempt || end != core.ParkDone && end != core.ParkUnsure || w.busDown {
		return
	}
	if back {
		w.giveBack(u, a)
		return
	}
	if !w.jobs[a.Job].ParkAwake {
		u.Frozen = true
	}
	if need := w.jobs[a.Job]; u.MemMax < need.Request.MemBytes+need.ParkBytes && need.Request.MemBytes > 0 {
		w.fault("job %d is parked with a limit of %s", a.Job, job.FormatSize(u.MemMax))
	}
	for i := range w.gpus {
		g := &w.gpus[i]
		for _, p := range g.Processes {
			if slices.Contains(a.Processes, job.ParkedProcess{PID: p.PID, Start: p.Start}) {
				u.copied = append(u.copied, copied{g.UUID, p})
			}
		}
		w.drop(g.Index, func(p gpu.Process) bool {
			return slices.Contains(a.Processes, job.ParkedProcess{PID: p.PID, Start: p.Start})
		})
	}
	if u.left = 0; len(u.gpus) > 0 {
		u.parkedOn, u.gpus = u.gpus, nil
	}
}

// giveBack puts what was copied on the GPUs again, or on those to which it moves.
func (w *world) giveBack(u *unit, a *core.Park) {
	if a.From != nil && u.gpus == nil {
		u.parkedOn = job.Indexes(a.GPUs)
	}
	for _, c := range u.copied {
		for i := range a.From {
			if a.From[i].UUID == c.gpu {
				c.gpu = a.GPUs[i].UUID
				break
			}
		}
		for i := range w.gpus {
			if w.gpus[i].UUID == c.gpu {
				w.put(&w.gpus[i], c.what)
			}
		}
	}
	if u.copied, u.Frozen = nil, false; u.gpus == nil {
		u.gpus, u.parkedOn = u.parkedOn, nil
	}
}

// put adds a process to a GPU.
func (w *world) put(g *gpu.Device, p gpu.Process) {
	g.Processes = append(slices.Clone(g.Processes), p)
	bytes := min(uint64(max(0, p.UsedBytes)), g.MemFreeBytes)
	g.MemUsedBytes += bytes
	g.MemFreeBytes -= bytes
}

// copyEnds returns how a Park or an Unpark action ended.
func (w *world) copyEnds(a *core.Park, back bool) core.Parked {
	f, u := w.fates[a.Job], w.units[a.Job]
	done := u == nil || (u.parkedOn == nil) == back
	switch {
	case w.busDown, !done && f.end == core.ParkDone:
		f = fate{end: core.ParkUnsure}
	case done && f.end == core.ParkRefused:
		f = fate{}
	}
	return core.Parked{Job: a.Job, Attempt: a.Attempt, End: f.end, Says: f.says}
}

// checkReturn checks that nobody else holds the GPUs that a parked job gets back.
func (w *world) checkReturn(j *job.Job) {
	for _, ref := range j.Attempt.GPUs {
		shares := 0
		for _, o := range w.jobs {
			if o.State.Live() && o.Park != job.IsParked {
				shares += shareOf(&o, ref.Index)
			}
		}
		if shares > job.WholeGPU {
			w.fault("GPU %d is given out to %d milli with job %d, which returns", ref.Index, shares, j.ID)
		}
	}
}

// copies job=N end=done|refused|broken|unsure|failed says=WORD: so the driver ends the job's copies from
// now on.
func (s *script) copies() {
	ends := map[string]core.ParkEnd{
		"done": core.ParkDone, "refused": core.ParkRefused, "broken": core.ParkBroken, "unsure": core.ParkUnsure, "failed": core.ParkFailed,
	}
	s.w.fates[s.id()] = fate{ends[s.text("end")], s.text("says")}
}

// A job is parked again while its unit's memory limit is still being lowered. A listing from before
// shows the higher limit, which the unit no longer has when the driver copies.
func TestParkAwaitsTheMemoryLimit(t *testing.T) {
	w := newWorld(1, t.Logf)
	w.policy.Park.Allow, w.policy.HostMemBytes = true, 200<<30
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.queue(func(r *job.Request) { r.MemBytes = 8 << 30 })
	w.settle()
	command := func(kind job.CommandKind) {
		w.step(w.sample(^uint64(0)), -1)
		w.token++
		w.step(core.Command{Token: w.token, Who: job.Actor{UID: 1001}, What: job.Command{Kind: kind, Job: 1}}, -1)
	}
	command(job.CommandPark)
	w.settle()
	before := w.listed()
	command(job.CommandUnpark)
	w.step(w.answer(0), -1)
	command(job.CommandPark)
	w.step(before, -1)
	if len(w.pending) != 1 {
		t.Errorf("the actions %v are under way", w.pending)
	}
	w.settle()
	if j := w.jobs[1]; j.Park != job.IsParked || len(w.faults) > 0 {
		t.Errorf("parking %q, faults %q", j.Park, w.faults)
	}
}
