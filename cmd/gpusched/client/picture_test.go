package client

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/contrib/pictures"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/units/contract"
)

var labTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// lab returns the backend of a machine with four GPUs on an ordinary day.
func lab() *servertest.Backend {
	alice, bob, carol := job.Owner{UID: 1001, User: "alice"}, job.Owner{UID: 1002, User: "bob"}, job.Owner{UID: 1003, User: "carol"}
	at := func(d time.Duration) time.Time { return labTime.Add(d) }
	gpu := func(i int, state job.GPUState, util int, used uint64, shares ...job.GPUShare) job.GPUView {
		return job.GPUView{GPU: job.GPU{Index: i, UUID: "GPU-" + string(rune('a'+i)), Name: "NVIDIA A100-SXM4-80GB", State: state, Shares: shares,
			UtilPercent: util, MemTotalBytes: 80 << 30, MemUsedBytes: used << 30, TempC: 33 + util/3, PowerMilliW: 60_000}}
	}
	share := func(id job.ID, milli int) job.GPUShare {
		return job.GPUShare{Job: id, Called: id.String(), Milli: milli}
	}
	run := func(id job.ID, o job.Owner, name string, since, limit time.Duration, milli int, gpus ...int) job.JobView {
		j := job.Job{ID: id, Owner: o, Label: job.Label{Name: name}, State: job.Running, SubmittedAt: at(-since - time.Minute), ChangedAt: at(-since)}
		j.Request = job.Request{GPUMilli: milli * len(gpus), TimeLimit: job.Span(limit)}
		j.Attempt = &job.Attempt{Number: 1, PlacedAt: at(-since), StartedAt: at(-since)}
		for _, i := range gpus {
			j.Attempt.GPUs = append(j.Attempt.GPUs, job.Allocation{GPU: contract.GPU{Index: i, UUID: "GPU-" + string(rune('a'+i)), Milli: milli}})
		}
		return job.JobView{Job: j}
	}
	queue := func(id job.ID, o job.Owner, name string, since time.Duration, gpus int, start job.ExpectedStart, why ...job.Reason) job.JobView {
		j := job.Job{ID: id, Owner: o, Label: job.Label{Name: name}, State: job.Queued, SubmittedAt: at(-since), ChangedAt: at(-since)}
		j.Request, j.Life = job.Request{GPUMilli: 1000 * gpus}, job.Life{QueuedAt: at(-since)}
		return job.JobView{Job: j, Reasons: why, Start: start}
	}
	busy := func(gpu int, id job.ID) job.Reason { return job.Reason{Code: job.ReasonGPUBusy, GPU: gpu, Job: id} }
	big := queue(46, bob, "finetune-70b", 40*time.Minute, 4, job.ExpectedStart{At: at(4 * time.Hour), From: at(3 * time.Hour), By: at(6 * time.Hour)},
		busy(0, 41), busy(1, 41), busy(2, 42), busy(3, 45))
	night := queue(47, alice, "ablation", 20*time.Minute, 1, job.ExpectedStart{At: at(10 * time.Hour)},
		job.Reason{Code: job.ReasonBegin, GPU: job.NoGPU, Detail: job.Say("detail/at", at(10*time.Hour))})
	eval := queue(48, carol, "eval", 5*time.Minute, 1, job.ExpectedStart{Unknown: true},
		job.Reason{Code: job.ReasonDependency, GPU: job.NoGPU, Job: 41, Detail: job.Say("detail/has-completed")})
	return &servertest.Backend{Now: labTime, View: job.View{
		StartedAt: at(-240 * time.Hour), GPUSource: job.GPUSource{SampledAt: labTime}, Host: job.HostView{MemBytes: 512 << 30, CPUs: 64},
		GPUs: []job.GPUView{
			gpu(0, job.GPUBusy, 97, 61, share(41, 1000)), gpu(1, job.GPUBusy, 94, 61, share(41, 1000)),
			gpu(2, job.GPUShared, 38, 34, share(42, 500), share(43, 500)), gpu(3, job.GPUBusy, 88, 22, share(45, 1000)),
		},
		Jobs: []job.JobView{
			run(41, alice, "train-vit", 3*time.Hour+12*time.Minute, 12*time.Hour, 1000, 0, 1), run(42, bob, "notebook", 65*time.Minute, 8*time.Hour, 500, 2),
			run(43, carol, "serve", 26*time.Hour, 0, 500, 2), run(45, carol, "fold", 7*time.Minute, time.Hour, 1000, 3), big, night, eval,
		},
	}}
}

// The README's picture of the command list equals the output of that command.
func TestPicture(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{Backend: func(context.Context) server.Backend { return lab() }})
	go func() { _ = s.Serve(t.Context(), l) }()
	const width = 118
	var out bytes.Buffer
	a := &cli.App{
		Env: cli.Env{
			Out:    &term.Terminal{W: bufio.NewWriter(&out), TTY: true, Colour: true, Width: width, Now: labTime},
			Err:    &term.Terminal{W: bufio.NewWriter(&out), Now: labTime},
			Getenv: func(string) string { return "" }, UID: 1001,
		},
		Session: cli.Session{Client: &api.Client{Socket: socket}},
	}
	if code := run(t.Context(), a, []string{"list"}); code != 0 {
		t.Fatalf("list exits %d: %s", code, out.String())
	}
	svg := pictures.SVG("gpusched list: GPUs, and jobs with the reason why they wait", "\x1b[2malice$\x1b[0m gpusched list\n"+out.String(), width)
	const file = "../../../contrib/pictures/list.svg"
	if *update {
		if err := os.WriteFile(file, []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != svg {
		t.Errorf("%s is not what list prints any more (%v): run 'make pictures' and look at the result\n%s", file, err, out.String())
	}
}
