package sbatch

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Each gap of new jobs is either refused with the gap's own text or mentioned in a note.
func TestEveryGap(t *testing.T) {
	minute := job.Span(time.Minute)
	asks := map[string]func(r *api.SubmitRequest){
		"--gpu-ids, --gpus-from, --exclude-gpus": func(r *api.SubmitRequest) { r.GPUIDs = []int{0} },
		"-g 1.5":                                 func(r *api.SubmitRequest) { r.GPUMilli = 1500 },
		"--max-load, --max-used":                 func(r *api.SubmitRequest) { r.MaxUsedPercent = 10 },
		"--gpu-mem auto":                         func(r *api.SubmitRequest) { r.GPUMemBytes = job.AutoGPUMem },
		"--mps, --mps-fair":                      func(r *api.SubmitRequest) { r.MPS, r.GPUMilli = true, 250 },
		"--dedup":                                func(r *api.SubmitRequest) { r.Dedup = "abc" },
		"--objective, --batch":                   func(r *api.SubmitRequest) { r.Objective, r.Batch = job.Makespan, "night" },
		"--lane":                                 func(r *api.SubmitRequest) { r.Lane = "sweep=2" },
		"--max-failures":                         func(r *api.SubmitRequest) { r.MaxFailures, r.Array = 2, &job.Array{Written: "0-3"} },
		"--on-timeout requeue":                   func(r *api.SubmitRequest) { r.OnTimeout, r.TimeLimit = job.TimeoutRequeue, minute },
		"--signal-to main":                       func(r *api.SubmitRequest) { r.SignalTo = job.SignalMain },
		"--screen":                               func(r *api.SubmitRequest) { r.Screen = true },
		"--image":                                func(r *api.SubmitRequest) { r.Container.Image = "alpine" },
		"--snapshot":                             func(r *api.SubmitRequest) { r.Snapshot.Source = "/home/me/proj" },
		"--notify webhook:end, --notify terminal:end": func(r *api.SubmitRequest) {
			r.Notify = []job.Notify{{On: []job.NotifyEvent{job.NotifyEnd}, Way: job.NotifyTerminal}}
		},
		"--grace":        func(r *api.SubmitRequest) { r.Grace = &minute },
		"--spread":       func(r *api.SubmitRequest) { r.Spread, r.GPUMilli = true, 500 },
		"--preemptible":  func(r *api.SubmitRequest) { r.Preemptible = true },
		"--log-truncate": func(r *api.SubmitRequest) { r.Log.Path, r.Log.Truncate, r.Retries = "x", true, 1 },
	}
	if len(asks) != len(Gaps()) {
		t.Errorf("%d options are tried, and there are %d", len(asks), len(Gaps()))
	}
	for _, g := range Gaps() {
		r := request("ls")
		if asks[g.Option] == nil {
			t.Errorf("nobody tries %s", g.Option)
			continue
		}
		asks[g.Option](&r)
		s, err := Command(r, site)
		want := g.Option + ": " + g.Why
		if g.Next != "" {
			want = g.text()
		}
		said := strings.Join(s.Notes, "\n")
		if err != nil {
			said = err.Error()
		}
		if (err != nil) != (g.Next != "") || !strings.Contains(said, want) {
			t.Errorf("%s: no %q in %q (%v)", g.Option, want, said, err)
		}
	}
}

// Each gap of update is refused with its own text.
func TestEveryGapOfUpdates(t *testing.T) {
	half, bytes, n, yes := 500, int64(1<<30), 3, true
	changes := map[string]job.Change{
		"--gpus 0.5": {GPUMilli: &half}, "--gpu-mem": {GPUMemBytes: &bytes}, "--preemptible": {Preemptible: &yes}, "--retries": {Retries: &n},
		"--max-failures": {MaxFailures: &n}, "--lane": {Lane: new(job.Lane(""))},
	}
	if len(changes) != len(UpdateGaps()) {
		t.Errorf("%d options are tried, and there are %d", len(changes), len(UpdateGaps()))
	}
	for _, g := range UpdateGaps() {
		if _, err := Update("12", changes[g.Option], Current{}, site); err == nil || !strings.Contains(err.Error(), g.Why) || g.Next == "" {
			t.Errorf("%s: %v", g.Option, err)
		}
	}
}
