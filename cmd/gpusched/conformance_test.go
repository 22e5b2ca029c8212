package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/onslurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// rig is an engine with what a test needs besides.
type rig struct {
	engine
	end func(id job.ID, r job.Result) // has a job end, where its command does not
}

// realVariable has the suite run against the Slurm of the machine, as in a box that has one.
const realVariable = "GPUSCHED_TEST_REAL_SLURM"

// TestConformance: every engine answers alike.
func TestConformance(t *testing.T) {
	t.Run("local", func(t *testing.T) { conform(t, localRig(t)) })
	t.Run("slurm", func(t *testing.T) {
		environ := []string{"PATH=/usr/bin:/bin", "HOME=" + os.Getenv("HOME"), "USER=" + os.Getenv("USER")}
		if os.Getenv(realVariable) == "" {
			environ = installFakeSlurm(t)
		}
		conform(t, rig{onslurm.New(environ, os.Getuid(), func(string) {}), func(job.ID, job.Result) {}})
	})
}

// localRig is the client of a server whose jobs end when they are told.
func localRig(t *testing.T) rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	b := &servertest.Backend{Now: time.Now()}
	b.View.GPUs = []job.GPUView{{GPU: job.GPU{Index: 0, UUID: "GPU-a"}}, {GPU: job.GPU{Index: 1, UUID: "GPU-b"}}}
	b.Checks = []job.Check{{Name: "all", Health: job.Healthy}}
	s := server.New(server.Options{
		Backend: func(context.Context) server.Backend { return b }, Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
		UserName: func(int) string { return "me" },
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return rig{&api.Client{Socket: path}, b.End}
}

// ask queues a job without a GPU.
func (r rig) ask(t *testing.T, name string, change func(*api.SubmitRequest), argv ...string) api.Job {
	t.Helper()
	req, err := api.NewRequest([]string{"PATH=/usr/bin:/bin"}, argv...)
	if err != nil {
		t.Fatal(err)
	}
	req.Name, req.Dir = name, []byte("/tmp")
	req.GPUMilli, req.MemBytes = 0, 16<<20
	if change != nil {
		change(&req)
	}
	reply, err := r.Submit(t.Context(), req)
	if err != nil || reply.Job.ID <= 0 || reply.Job.State.Terminal() || reply.Job.Name != name {
		t.Fatalf("submit: %+v %v", reply.Job, err)
	}
	return reply.Job
}

func onHold(r *api.SubmitRequest) { r.Hold = true }

// refused checks that an error is of a kind.
func refused(t *testing.T, what string, err error, codes ...api.Code) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || !slices.Contains(codes, e.Code) || e.Message == "" {
		t.Errorf("%s: %#v, want %v", what, err, codes)
	}
}

// conform holds an engine to what engine says.
func conform(t *testing.T, r rig) {
	t.Run("a job is listed", func(t *testing.T) { conformListing(t, r) })
	t.Run("a job ends", func(t *testing.T) { conformEnd(t, r) })
	t.Run("a job is held", func(t *testing.T) { conformHold(t, r) })
	t.Run("a job is cancelled", func(t *testing.T) { conformCancel(t, r) })
	t.Run("many are cancelled", func(t *testing.T) { conformMany(t, r) })
	t.Run("no such job", func(t *testing.T) { conformMissing(t, r) })
	t.Run("an array", func(t *testing.T) { conformArray(t, r) })
	t.Run("the whole", func(t *testing.T) { conformWhole(t, r) })
}

func conformListing(t *testing.T, r rig) {
	ctx, uid, other := t.Context(), os.Getuid(), os.Getuid()+12345
	id := r.ask(t, "listed", onHold, "true").ID
	find := func(q api.ListQuery) (found []api.Job) {
		reply, err := r.List(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range reply.Jobs {
			if j.ID == id {
				found = append(found, j)
			}
		}
		return found
	}
	for when, q := range map[string]api.ListQuery{
		"all": {}, "mine": {UID: &uid}, "by name": {Name: "listed"}, "by pattern": {Like: "list*"}, "by number": {IDs: id.String()},
		"by state": {States: []job.State{job.Queued}}, "with reasons": {Reasons: true},
	} {
		if found := find(q); len(found) != 1 || found[0].Name != "listed" || found[0].UID != uid || found[0].SubmittedAt.IsZero() {
			t.Errorf("%s: %+v", when, found)
		}
	}
	for when, q := range map[string]api.ListQuery{
		"another's": {UID: &other}, "another name": {Name: "x"}, "running": {States: []job.State{job.Running}},
	} {
		if found := find(q); len(found) > 0 {
			t.Errorf("%s: %+v", when, found)
		}
	}
	lines, err := r.IDs(ctx, api.ListQuery{Name: "listed"})
	if err != nil || !slices.Contains(strings.Fields(string(lines)), id.String()) {
		t.Errorf("ids %q %v", lines, err)
	}
	if _, err := r.Cancel(ctx, id.String(), api.CancelRequest{}); err != nil {
		t.Error(err)
	}
	if found := find(api.ListQuery{}); len(found) > 0 {
		t.Errorf("one that has ended is listed: %+v", found)
	}
	if found := find(api.ListQuery{Ended: 1000}); len(found) != 1 || !found[0].State.Terminal() {
		t.Errorf("one that has ended: %+v", found)
	}
}

func conformEnd(t *testing.T, r rig) {
	good, bad := r.ask(t, "good", nil, "true").ID, r.ask(t, "bad", nil, "sh", "-c", "exit 3").ID
	r.end(good, job.Result{Outcome: job.Completed})
	r.end(bad, job.Result{Outcome: job.Failed, ExitCode: 3})
	for id, want := range map[job.ID]job.Result{good: {Outcome: job.Completed}, bad: {Outcome: job.Failed, ExitCode: 3}} {
		reply, err := r.Wait(t.Context(), id.String(), time.Minute)
		if err != nil || reply.Job.State != want.Outcome || reply.Job.Result == nil {
			t.Errorf("%+v %v", reply.Job, err)
			continue
		}
		if got := reply.Job.Result; got.Code != want.ExitCode || got.ExitCode != want.ExitCode || got.Sentence == "" {
			t.Errorf("%+v", got)
		}
		_, err = r.Hold(t.Context(), id.String())
		refused(t, "hold of one that has ended", err, api.CodeConflict)
		_, err = r.Cancel(t.Context(), id.String(), api.CancelRequest{})
		refused(t, "cancel of one that has ended", err, api.CodeConflict)
	}
}

func conformHold(t *testing.T, r rig) {
	ctx := t.Context()
	id := r.ask(t, "held", onHold, "sleep", "60").ID.String()
	reply, err := r.Why(ctx, id)
	if j := reply.Job; err != nil || j.HeldBy == "" || j.State != job.Queued || len(j.Reasons) == 0 || j.Reasons[0].Code != string(job.ReasonHeld) {
		t.Errorf("held: %+v %v", j, err)
	}
	if _, err = r.Wait(ctx, id, 10*time.Millisecond); err == nil {
		t.Error("a held job ended")
	}
	refused(t, "a wait that is too short", err, api.CodeWaitTimeout)
	if reply, err = r.Release(ctx, id); err != nil || reply.Job.HeldBy != "" {
		t.Errorf("released: %+v %v", reply.Job, err)
	}
	if _, err = r.Cancel(ctx, id, api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}

func conformCancel(t *testing.T, r rig) {
	ctx := t.Context()
	id := r.ask(t, "doomed", onHold, "sleep", "600").ID.String()
	if _, err := r.Cancel(ctx, id, api.CancelRequest{}); err != nil {
		t.Fatal(err)
	}
	reply, err := r.Wait(ctx, id, time.Minute)
	if j := reply.Job; err != nil || j.State != job.Cancelled || j.Result == nil || j.Result.Code == 0 {
		t.Errorf("%+v %v", j, err)
	}
	_, err = r.Cancel(ctx, id, api.CancelRequest{})
	refused(t, "once more", err, api.CodeConflict)
}

func conformMany(t *testing.T, r rig) {
	ids := []string{r.ask(t, "one", onHold, "true").ID.String(), r.ask(t, "two", onHold, "true").ID.String(), "99999999"}
	var done, not []string
	over := false
	err := r.Many(t.Context(), api.ManyRequest{Command: job.CommandCancel, Jobs: ids}, func(p api.ManyPart) {
		for _, j := range p.Jobs {
			done = append(done, j.ID.String())
		}
		for _, x := range p.Refused {
			not = append(not, x.Job+" "+string(x.Error.Code))
		}
		over = over || p.Done
	})
	if err != nil || !over || !slices.Equal(done, ids[:2]) || !slices.Equal(not, []string{"99999999 not-found"}) {
		t.Errorf("done %v, refused %v, over %v: %v", done, not, over, err)
	}
}

func conformMissing(t *testing.T, r rig) {
	ctx, id := t.Context(), "99999999"
	for what, ask := range map[string]func() error{
		"job":     func() error { _, err := r.Job(ctx, id); return err },
		"why":     func() error { _, err := r.Why(ctx, id); return err },
		"wait":    func() error { _, err := r.Wait(ctx, id, time.Minute); return err },
		"cancel":  func() error { _, err := r.Cancel(ctx, id, api.CancelRequest{}); return err },
		"hold":    func() error { _, err := r.Hold(ctx, id); return err },
		"release": func() error { _, err := r.Release(ctx, id); return err },
		"gpu":     func() error { _, err := r.PauseGPU(ctx, 99, api.PauseRequest{}); return err },
	} {
		refused(t, what, ask(), api.CodeNotFound)
	}
	reply, err := r.List(ctx, api.ListQuery{IDs: id})
	if err != nil || len(reply.Jobs) > 0 {
		t.Errorf("list: %+v %v", reply.Jobs, err)
	}
}

func conformArray(t *testing.T, r rig) {
	j := r.ask(t, "array", func(q *api.SubmitRequest) { q.Hold, q.Array = true, &api.ArraySpec{Spec: "0-4%2"} }, "true")
	reply, err := r.Job(t.Context(), j.ID.String())
	if a := reply.Job.Array; err != nil || a == nil || a.Size != 5 || a.Limit != 2 || j.Array == nil || j.Array.Size != 5 {
		t.Errorf("%+v %v", reply.Job, err)
	}
	if _, err := r.Cancel(t.Context(), j.ID.String(), api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}

func conformWhole(t *testing.T, r rig) {
	ctx := t.Context()
	gpus, err := r.GPUs(ctx)
	for i, g := range gpus.GPUs {
		if g.Index != i || g.UUID == "" {
			t.Errorf("GPU %d: %+v", i, g)
		}
	}
	if err != nil || len(gpus.GPUs) == 0 {
		t.Errorf("%d GPUs: %v", len(gpus.GPUs), err)
	}
	if s, err := r.Status(ctx); err != nil || s.Version == "" || len(s.GPUs) != len(gpus.GPUs) || s.Health == "" {
		t.Errorf("status %+v %v", s, err)
	}
	if h, err := r.Health(ctx); err != nil || h.Health != job.Worst(h.Checks) || len(h.Checks) == 0 {
		t.Errorf("health %+v %v", h, err)
	}
	if v, err := r.Version(ctx); err != nil && v.Version == "" {
		t.Errorf("version %+v %v", v, err)
	}
	_, errUsage := r.Usage(ctx, "", "0")
	_, errPlan := r.Plan(ctx, 0)
	_, errRecent := r.engine.Recent(ctx, 0)
	for what, err := range map[string]error{"usage": errUsage, "plan": errPlan, "recent": errRecent} {
		if err != nil {
			refused(t, what, err, api.CodeUsage)
		}
	}
}
