package look

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// The line has the facts that matter to the user now, and no others.
func TestShortLine(t *testing.T) {
	out, _ := screen(80, false)
	at := out.Now.Add(time.Hour)
	gpu := func(index int, state job.GPUState, jobs []job.ID, processes ...job.GPUProcess) api.GPU {
		g := api.GPU{GPU: job.GPU{Index: index, State: state, Processes: processes}}
		g.Jobs = jobs
		return g
	}
	needs := gpu(0, job.GPUSick, nil)
	needs.StateWhy = job.Say("detail/needs", job.Say("detail/driver", "560.1", "550.1"), "a reboot")
	stranger := job.GPUProcess{PID: 4711, UID: 1002, ToldAt: at}
	for _, c := range []struct {
		status api.StatusReply
		own    api.ListReply
		uid    int
		want   string
	}{
		{api.StatusReply{}, api.ListReply{}, 1001, "no job waiting"},
		{api.StatusReply{GPUs: []api.GPU{gpu(0, job.GPUFree, nil), gpu(1, job.GPUBusy, []job.ID{4}), gpu(2, job.GPUFree, nil, job.GPUProcess{PID: 3, UID: 5})},
			Counts: map[job.State]int{job.Queued: 5}}, api.ListReply{}, 1001, "1 of 3 GPUs free, 5 jobs waiting"},
		{api.StatusReply{Drain: &api.Drain{By: "root"}}, api.ListReply{Jobs: []api.Job{{State: job.Running}, {State: job.Ending}, {State: job.Completed}}}, 1001,
			"no job waiting; yours: 2 running; no new job starts: drained by root"},
		{api.StatusReply{}, api.ListReply{Omitted: 30, Jobs: []api.Job{{State: job.Queued}, {State: job.Queued, ExpectedStart: at}, {State: job.Queued, ExpectedStart: at.Add(time.Hour)}}}, 1001,
			"no job waiting; yours: 33 waiting (the next is expected to start at " + out.Clock(at) + ")"},
		{api.StatusReply{GPUs: []api.GPU{gpu(0, job.GPUBusy, []job.ID{12}, stranger)}}, api.ListReply{}, 1002, "0 of 1 GPUs free, no job waiting; your process 4711 uses GPU 0, which job 12 has"},
		{api.StatusReply{GPUs: []api.GPU{gpu(0, job.GPUBusy, []job.ID{12}, stranger)}}, api.ListReply{}, 1003, "0 of 1 GPUs free, no job waiting"},
		{api.StatusReply{GPUs: []api.GPU{needs}}, api.ListReply{}, 1001, "0 of 1 GPUs free, no job waiting; reboot due: the driver was upgraded"},
	} {
		if got := shortLine(&cli.App{Env: cli.Env{Out: out, UID: c.uid}}, &c.status, &c.own); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// hung is a scheduler that does not answer.
type hung struct{ api.Engine }

func (hung) Get(ctx context.Context, _ *api.Route, _ string, _, _ any) error {
	<-ctx.Done()
	return ctx.Err()
}

// A login does not wait for a scheduler that hangs, and prints nothing about it.
func TestShortGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, b := screen(80, false)
		began := time.Now()
		err := showShort(t.Context(), &cli.App{Env: cli.Env{Out: out, UID: 1001}, Session: cli.Session{Client: hung{}}})
		out.W.Flush()
		if took := time.Since(began); err != nil || took != shortPatience || b.Len() != 0 {
			t.Errorf("after %s it prints %q and fails with %v", took, b, err)
		}
	})
}
