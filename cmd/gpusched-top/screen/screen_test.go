package screen

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/golden"
	"github.com/gpusched/gpusched/units/contract"
)

var at = time.Date(2026, 11, 23, 14, 30, 0, 0, time.UTC)

const (
	alice = 1000
	bob   = 1001
	gib   = 1 << 30
)

func gpu(index int, used uint64, state job.GPUState, shares ...job.GPUShare) api.GPU {
	g := api.GPU{GPU: job.GPU{
		Index: index, UUID: fmt.Sprintf("GPU-%d", index), Name: "NVIDIA A100-SXM4-80GB", State: state, Shares: shares,
		MemTotalBytes: 80 * gib, MemUsedBytes: used * gib, UtilPercent: min(99, int(used)), TempC: 30 + int(used/2), PowerMilliW: 60_000 + 4_000*int64(used),
	}}
	for _, s := range shares {
		g.Jobs = append(g.Jobs, s.Job)
	}
	return g
}

func part(id job.ID, milli int, used int64) job.GPUShare {
	return job.GPUShare{Job: id, Called: id.String(), Milli: milli, UsedBytes: used * gib}
}

func running(id job.ID, uid int, name string, since time.Duration, gpus ...int) api.Job {
	j := api.Job{UID: uid, User: map[int]string{alice: "alice", bob: "bob"}[uid], State: job.Running, SubmittedAt: at.Add(-since - time.Minute), StartedAt: at.Add(-since)}
	j.ID, j.Name, j.GPUMilli = id, name, 1000*len(gpus)
	for _, g := range gpus {
		j.GPUs = append(j.GPUs, api.Allocation{GPU: contract.GPU{Index: g, Milli: 1000}})
	}
	return j
}

func waiting(id job.ID, uid int, name, why string, since, start time.Duration) api.Job {
	j := api.Job{UID: uid, User: map[int]string{alice: "alice", bob: "bob"}[uid], State: job.Queued, SubmittedAt: at.Add(-since), Why: why}
	j.ID, j.Name, j.GPUMilli = id, name, 2000
	if start > 0 {
		j.ExpectedStart = at.Add(start)
	}
	return j
}

// lab returns a picture of eight GPUs and of jobs in all states.
func lab() Picture {
	train, shared, half := running(41, alice, "train-resnet", 3*time.Hour+12*time.Minute, 0, 1), running(42, bob, "notebook", 26*time.Hour, 2), running(43, alice, "eval", 5*time.Minute, 2)
	train.TimeLimit = job.Span(8 * time.Hour)
	train.ExpectedEnd = at.Add(95 * time.Minute)
	shared.GPUs[0].Milli, half.GPUs[0].Milli = 500, 500
	shared.GPUMilli, half.GPUMilli = 500, 500
	halted := running(44, bob, "größe-模型", 50*time.Minute, 3)
	halted.SuspendedAt, halted.SuspendedBy = at.Add(-10*time.Minute), "bob"
	idle := running(45, bob, "idle", 9*time.Hour, 6)
	idle.TimeLimit = job.Span(10 * time.Hour)
	idle.Warnings = []job.Warning{{Code: "gpu-idle", GPU: 6, Sentence: "has not used GPU 6 for 2h"}}
	kept := waiting(48, bob, "later", "held by bob", time.Hour, 0)
	kept.HeldBy = "bob"
	sweep := waiting(47, alice, "sweep", "GPUs 0-3,6 are in use by jobs 41,42,43,…; 2 jobs are before it", 40*time.Minute, 3*time.Hour)
	sweep.Array = &api.Array{Spec: "0-99%4", Size: 100}
	jobs := []api.Job{train, shared, half, halted, idle,
		waiting(46, alice, "big-finetune", "GPUs 0-3,6 are in use by jobs 41,42,43,…", 2*time.Hour, 95*time.Minute), sweep, kept}
	foreign := gpu(4, 12, job.GPUFree)
	foreign.Processes = []job.GPUProcess{{PID: 77, UID: 1002, User: "carol", UsedBytes: 11 * gib}}
	paused, sick := gpu(5, 0, job.GPUPaused), gpu(7, 0, job.GPUSick)
	paused.Paused, paused.PausedReason, paused.PausedUntil = true, "new fan", at.Add(2*time.Hour)
	sick.StateDetail = "it needs a reset"
	sick.UtilPercent, sick.TempC, sick.PowerMilliW = -1, -1, -1
	gpus := []api.GPU{
		gpu(0, 61, job.GPUBusy, part(41, 1000, 60)), gpu(1, 78, job.GPUBusy, part(41, 1000, 77)),
		gpu(2, 40, job.GPUBusy, part(42, 500, 10), part(43, 500, 20)), gpu(3, 30, job.GPUBusy, part(44, 1000, 29)),
		foreign, paused, gpu(6, 1, job.GPUBusy, part(45, 1000, 0)), sick,
	}
	status := api.StatusReply{
		Health: job.Degraded, Counts: map[job.State]int{"running": 5, "queued": 3}, Running: jobs[:5],
		Host: job.HostView{MemBytes: 503 * gib, PromisedMem: 120 * gib, CPUs: 64, PromisedCPUs: 24},
	}
	return Picture{
		At: at, GPUs: api.GPUsReply{GPUs: gpus, GPUSource: job.GPUSource{SampledAt: at.Add(-time.Second)}}, List: &api.ListReply{Jobs: jobs},
		Status: &status, Own: &api.ListReply{Jobs: jobs[5:6], Omitted: 1},
	}
}

// screenOf returns a screen that shows the picture.
func screenOf(p Picture, width, height int, s Setting) *Model {
	s.UID = alice
	m := New(s)
	m.Update(Size{width, height})
	m.Update(Tick{at})
	// Add samples that vary over a minute.
	for i := range 12 {
		past := p.GPUs
		past.SampledAt, past.GPUs = at.Add(time.Duration(i-12)*5*time.Second), nil
		for _, g := range p.GPUs.GPUs {
			if g.UtilPercent > 0 {
				g.UtilPercent = g.UtilPercent * (i%4 + 1) / 4
			}
			past.GPUs = append(past.GPUs, g)
		}
		m.remember(&past)
	}
	m.Update(p)
	return m
}

// Each golden file contains the frame after some messages at one screen size.
func TestFrames(t *testing.T) {
	away := Failed{At: at, Err: errors.New("the scheduler at /run/gpusched/gpusched.sock cannot be reached: nobody listens there")}
	many := lab()
	for i := range 56 {
		many.GPUs.GPUs = append(many.GPUs.GPUs, gpu(8+i, uint64(i), job.GPUBusy, part(41, 1000, int64(i))))
	}
	none := Picture{At: at, Status: &api.StatusReply{Health: job.Healthy}}
	long := lab()
	long.List.Omitted, long.Status.Counts["queued"] = 9_997, 10_000
	for _, c := range []struct {
		name    string
		picture Picture
		w, h    int
		setting Setting
		then    []any
	}{
		{name: "80x24", picture: lab(), w: 80, h: 24},
		{name: "120x40", picture: lab(), w: 120, h: 40},
		{name: "160x30", picture: lab(), w: 160, h: 30},
		{name: "40x10", picture: lab(), w: 40, h: 10},
		{name: "60x14", picture: lab(), w: 60, h: 14},
		{name: "ascii", picture: lab(), w: 80, h: 24, setting: Setting{ASCII: true}},
		{name: "64-gpus", picture: many, w: 80, h: 24},
		{name: "no-gpus", picture: none, w: 80, h: 24},
		{name: "many-jobs", picture: long, w: 80, h: 24, then: []any{Key{Name: "end"}}},
		{name: "tasks", picture: sweepPicture(100), w: 80, h: 12},
		{name: "help", picture: lab(), w: 80, h: 24, then: []any{Key{Name: "?"}}},
		{name: "help-40x10", picture: lab(), w: 40, h: 10, then: []any{Key{Name: "?"}}},
		{name: "cancel", picture: lab(), w: 80, h: 24, then: []any{Key{Name: "down"}, Key{Name: "c"}}},
		{name: "cancel-40x10", picture: lab(), w: 40, h: 10, then: []any{Key{Name: "end"}, Key{Name: "up"}, Key{Name: "c"}}},
		{name: "pause", picture: lab(), w: 80, h: 24, then: []any{Key{Name: "tab"}, Key{Name: "j"}, Key{Name: "p"}}},
		{name: "filter", picture: lab(), w: 80, h: 24, then: []any{Key{Name: "/"}, Key{Name: "b", Text: "b"}, Key{Name: "o", Text: "o"}, Key{Name: "b", Text: "b"}}},
		{name: "filtered", picture: lab(), w: 80, h: 24, then: []any{Key{Name: "/"}, Key{Text: "alice"}, Key{Name: "enter"}, Key{Name: "o"}, Key{Name: "o"}}},
		{name: "nothing-found", picture: lab(), w: 80, h: 24, then: []any{Key{Name: "/"}, Key{Text: "zebra"}, Key{Name: "enter"}}},
		{name: "away", picture: lab(), w: 80, h: 24, then: []any{away, Tick{at.Add(42 * time.Second)}}},
		{name: "never-there", w: 80, h: 24, then: []any{away}},
		{name: "logs", picture: lab(), w: 80, h: 12, then: []any{Key{Name: "l"}, Printed{Pane: 1, Lines: []string{"epoch 1\tloss 0.5", strings.Repeat("long ", 20), "größe 模型 \x1b[31mred"}, Last: "50 %"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(c.setting)
			if !c.picture.At.IsZero() {
				m = screenOf(c.picture, c.w, c.h, c.setting)
			} else {
				m.Update(Tick{at})
			}
			for _, msg := range c.then {
				m.Update(msg)
			}
			frame := m.Frame()
			checkFrame(t, frame, c.w, c.h)
			golden.Check(t, c.name+".txt", frame.String()+"\n")
		})
	}
}

// checkFrame checks that a frame has the size of the screen and no control characters.
func checkFrame(t *testing.T, f Frame, width, height int) {
	t.Helper()
	text := f.String()
	lines := strings.Split(text, "\n")
	if len(lines) != height {
		t.Errorf("%d lines on a screen of %d", len(lines), height)
	}
	for i, line := range lines {
		if n := term.Columns(line); n > width {
			t.Errorf("line %d has %d columns of %d: %q", i+1, n, width, line)
		}
		if term.Clean(line) != line {
			t.Errorf("line %d: a terminal acts on %q", i+1, line)
		}
	}
}

// The manual and help list the same keys.
func TestManualListsTheKeys(t *testing.T) {
	page, err := os.ReadFile("../../gpusched/manual/text/top.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys {
		about := k[1]
		if line := "    " + term.Pad(k[0], keyWidth, false) + " " + strings.TrimPrefix(about, "this "); !strings.Contains(string(page), line+"\n") {
			t.Errorf("gpusched-top(1) lacks %q", line)
		}
	}
}
