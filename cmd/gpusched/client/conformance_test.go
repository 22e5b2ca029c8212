package client

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

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/onslurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// A rig is an engine and the functions by which a test controls its jobs.
type rig struct {
	api.Engine
	begin func(id job.ID)               // starts a job, unless the engine starts it
	end   func(id job.ID, r job.Result) // ends a job, unless its command has ended
	// the engine must refuse requests that only this machine's scheduler supports
	lacks bool
}

// If the variable realVariable is set, the suite uses the machine's own Slurm.
const realVariable = "GPUSCHED_TEST_REAL_SLURM"

// Both engines refuse the same requests and give the same answers.
func TestEnginesAnswerAlike(t *testing.T) {
	t.Run("local", func(t *testing.T) { conform(t, localRig(t)) })
	t.Run("slurm", func(t *testing.T) {
		environ := []string{"PATH=/usr/bin:/bin", "HOME=" + os.Getenv("HOME"), "USER=" + os.Getenv("USER")}
		if os.Getenv(realVariable) == "" {
			environ = installFakeSlurm(t)
		}
		conform(t, rig{onslurm.New(environ, os.Getuid(), func(string) {}), func(job.ID) {}, func(job.ID, job.Result) {}, true})
	})
}

// localRig returns a rig with a gpusched server. The test starts and ends its jobs.
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
	return rig{&api.Client{Socket: path}, b.Start, b.End, false}
}

// ask queues a job that needs no GPU.
func (r rig) ask(t *testing.T, name string, change func(*api.SubmitRequest), argv ...string) api.Job {
	t.Helper()
	req, err := api.NewRequest([]string{"PATH=/usr/bin:/bin"}, argv...)
	if err != nil {
		t.Fatal(err)
	}
	req.Name, req.Dir = name, "/tmp"
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

// checkCode checks that an error has one of these codes.
func checkCode(t *testing.T, what string, err error, codes ...api.Code) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || !slices.Contains(codes, e.Code) || e.Message == "" {
		t.Errorf("%s: %#v, want %v", what, err, codes)
	}
}

// conform checks an engine's answers.
func conform(t *testing.T, r rig) {
	t.Run("a job is listed", func(t *testing.T) { conformListing(t, r) })
	t.Run("a job ends", func(t *testing.T) { conformEnd(t, r) })
	t.Run("a job is held", func(t *testing.T) { conformHold(t, r) })
	t.Run("a job is changed", func(t *testing.T) { conformChange(t, r) })
	t.Run("a job runs", func(t *testing.T) { conformRunning(t, r) })
	t.Run("what is refused", func(t *testing.T) { conformRefusals(t, r) })
	t.Run("what was", func(t *testing.T) { conformPast(t, r) })
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
		reply, err := api.List(ctx, r.Engine, q)
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
		"by state": {States: []job.State{job.Queued}}, "with reasons": {Reasons: api.WithReasons},
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
	lines, err := api.IDs(ctx, r.Engine, api.ListQuery{Name: "listed"})
	if err != nil || !slices.Contains(strings.Fields(string(lines)), id.String()) {
		t.Errorf("ids %q %v", lines, err)
	}
	if _, err := api.ActOnJob(ctx, r.Engine, api.RouteCancel, id.String(), api.CancelRequest{}); err != nil {
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
		reply, err := api.Wait(t.Context(), r.Engine, id.String(), time.Minute)
		if err != nil || reply.Job.State != want.Outcome || reply.Job.Result == nil {
			t.Errorf("%+v %v", reply.Job, err)
			continue
		}
		if got := reply.Job.Result; got.Code != want.ExitCode || got.ExitCode != want.ExitCode || got.Sentence == "" {
			t.Errorf("%+v", got)
		}
		whole, err := api.Show(t.Context(), r.Engine, id.String(), api.JobQuery{Results: true})
		if err != nil || whole.Job.Result == nil || whole.Job.Result.Code != want.ExitCode {
			t.Errorf("results: %+v %v", whole.Job, err)
		}
		r.refuseAll(t, id.String(), api.CodeConflict)
	}
}

// refuseAll checks that every action on a job is refused with this code.
func (r rig) refuseAll(t *testing.T, id string, code api.Code) {
	t.Helper()
	ctx, name := t.Context(), "renamed"
	for what, act := range map[string]func() (api.JobReply, error){
		"cancel": func() (api.JobReply, error) {
			return api.ActOnJob(ctx, r.Engine, api.RouteCancel, id, api.CancelRequest{})
		},
		"hold":            func() (api.JobReply, error) { return api.ActOnJob(ctx, r.Engine, api.RouteHold, id, nil) },
		"release":         func() (api.JobReply, error) { return api.ActOnJob(ctx, r.Engine, api.RouteRelease, id, nil) },
		"requeue":         func() (api.JobReply, error) { return api.ActOnJob(ctx, r.Engine, api.RouteRequeue, id, nil) },
		"suspend":         func() (api.JobReply, error) { return api.ActOnJob(ctx, r.Engine, api.RouteSuspend, id, nil) },
		"resume of a GPU": func() (api.JobReply, error) { return api.ActOnJob(ctx, r.Engine, api.RouteResume, id, nil) },
		"update": func() (api.JobReply, error) {
			return api.ActOnJob(ctx, r.Engine, api.RouteUpdate, id, job.Change{Name: &name})
		},
	} {
		_, err := act()
		checkCode(t, what+" of job "+id, err, code)
	}
}

// inAnHour makes a job wait for an hour, without a hold.
func inAnHour(r *api.SubmitRequest) { r.Begin = time.Now().Add(time.Hour) }

// conformChange checks that a waiting job can be held, changed and released. It also checks that
// actions on running jobs are refused.
func conformChange(t *testing.T, r rig) {
	ctx := t.Context()
	id := r.ask(t, "changed", inAnHour, "true").ID.String()
	takes := func(command job.CommandKind) bool {
		ids, users, err := api.Takes(ctx, r.Engine, api.ListQuery{UID: new(os.Getuid())}, command)
		if err != nil || len(ids) > 0 && users != 1 {
			t.Errorf("%s: %v of %d users, %v", command, ids, users, err)
		}
		return slices.Contains(ids, id)
	}
	if !takes(job.CommandCancel) || !takes(job.CommandHold) || takes(job.CommandRelease) || takes(job.CommandResume) {
		t.Error("a job that waits can't be cancelled and held, or can be released or resumed")
	}
	reply, err := api.ActOnJob(ctx, r.Engine, api.RouteHold, id, nil)
	if j := reply.Job; err != nil || j.HeldBy == "" || j.State != job.Queued {
		t.Errorf("held: %+v %v", j, err)
	}
	if takes(job.CommandHold) || !takes(job.CommandRelease) {
		t.Error("a job that is held can be held, or can't be released")
	}
	name, comment, limit := "renamed", "two words, a=b", job.Span(30*time.Minute)
	reply, err = api.ActOnJob(ctx, r.Engine, api.RouteUpdate, id, job.Change{Name: &name, Comment: &comment, TimeLimit: &limit})
	if j := reply.Job; err != nil || j.Name != name || j.Comment != comment || j.TimeLimit != limit || j.HeldBy == "" {
		t.Errorf("changed: %+v %v", j, err)
	}
	if reply, err = api.ActOnJob(ctx, r.Engine, api.RouteRelease, id, nil); err != nil || reply.Job.HeldBy != "" || reply.Job.State != job.Queued {
		t.Errorf("released: %+v %v", reply.Job, err)
	}
	_, err = api.ActOnJob(ctx, r.Engine, api.RouteRequeue, id, nil)
	checkCode(t, "requeue of one that waits", err, api.CodeConflict)
	_, err = api.ActOnJob(ctx, r.Engine, api.RouteSuspend, id, nil)
	checkCode(t, "suspend of one that waits", err, api.CodeConflict)
	_, err = api.ActOnJob(ctx, r.Engine, api.RouteResume, id, nil)
	checkCode(t, "resume of one that waits", err, api.CodeConflict)
	if _, err = api.ActOnJob(ctx, r.Engine, api.RouteCancel, id, api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}

// conformPast checks that the history contains only ended jobs.
func conformPast(t *testing.T, r rig) {
	ctx := t.Context()
	ended, waits := r.ask(t, "past", nil, "sh", "-c", "exit 5").ID, r.ask(t, "past", onHold, "true").ID
	r.end(ended, job.Result{Outcome: job.Failed, ExitCode: 5})
	if _, err := api.Wait(ctx, r.Engine, ended.String(), time.Minute); err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]struct {
		q     api.HistoryQuery
		found bool
	}{
		"by name": {api.HistoryQuery{Name: "past"}, true}, "by number": {api.HistoryQuery{IDs: ended.String()}, true},
		"by state": {api.HistoryQuery{Name: "past", States: []job.State{job.Failed}}, true},
		"of me":    {api.HistoryQuery{Name: "past", UID: new(os.Getuid())}, true}, "another name": {api.HistoryQuery{Name: "x"}, false},
		"another state": {api.HistoryQuery{Name: "past", States: []job.State{job.Completed}}, false},
		"what waits":    {api.HistoryQuery{IDs: waits.String()}, false},
	} {
		reply, err := api.History(ctx, r.Engine, x.q)
		var each []job.ID
		errEach := api.EachPast(ctx, r.Engine, x.q, func(p api.PastJob) error {
			each = append(each, p.ID)
			return nil
		})
		if err != nil || errEach != nil || len(reply.Jobs) != len(each) || (len(each) == 1) != x.found {
			t.Errorf("%s: %+v %v, %v %v", what, reply.Jobs, err, each, errEach)
			continue
		}
		if x.found && (each[0] != ended || reply.Jobs[0].Result == nil || reply.Jobs[0].Result.ExitCode != 5) {
			t.Errorf("%s: %+v", what, reply.Jobs[0])
		}
	}
	if _, err := api.ActOnJob(ctx, r.Engine, api.RouteCancel, waits.String(), api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}

func conformHold(t *testing.T, r rig) {
	ctx := t.Context()
	id := r.ask(t, "held", onHold, "sleep", "60").ID.String()
	reply, err := api.Show(ctx, r.Engine, id, api.JobQuery{Why: true})
	if j := reply.Job; err != nil || j.HeldBy == "" || j.State != job.Queued || len(j.Reasons) == 0 || j.Reasons[0].Code != job.ReasonHeld {
		t.Errorf("held: %+v %v", j, err)
	}
	if _, err = api.Wait(ctx, r.Engine, id, 10*time.Millisecond); err == nil {
		t.Error("a held job ended")
	}
	checkCode(t, "a wait that is too short", err, api.CodeWaitTimeout)
	if reply, err = api.ActOnJob(ctx, r.Engine, api.RouteRelease, id, nil); err != nil || reply.Job.HeldBy != "" {
		t.Errorf("released: %+v %v", reply.Job, err)
	}
	if _, err = api.ActOnJob(ctx, r.Engine, api.RouteCancel, id, api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}

func conformCancel(t *testing.T, r rig) {
	ctx := t.Context()
	id := r.ask(t, "doomed", onHold, "sleep", "600").ID.String()
	if _, err := api.ActOnJob(ctx, r.Engine, api.RouteCancel, id, api.CancelRequest{}); err != nil {
		t.Fatal(err)
	}
	reply, err := api.Wait(ctx, r.Engine, id, time.Minute)
	if j := reply.Job; err != nil || j.State != job.Cancelled || j.Result == nil || j.Result.Code == 0 {
		t.Errorf("%+v %v", j, err)
	}
	_, err = api.ActOnJob(ctx, r.Engine, api.RouteCancel, id, api.CancelRequest{})
	checkCode(t, "once more", err, api.CodeConflict)
}

func conformMany(t *testing.T, r rig) {
	ids := []string{r.ask(t, "one", onHold, "true").ID.String(), r.ask(t, "two", onHold, "true").ID.String(), "99999999"}
	var done, not []string
	over := false
	err := api.Many(t.Context(), r.Engine, api.ManyRequest{Command: job.CommandCancel, Jobs: ids}, func(p api.ManyPart) {
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
		"job":  func() error { _, err := api.Show(ctx, r.Engine, id, api.JobQuery{}); return err },
		"why":  func() error { _, err := api.Show(ctx, r.Engine, id, api.JobQuery{Why: true}); return err },
		"wait": func() error { _, err := api.Wait(ctx, r.Engine, id, time.Minute); return err },
		"pause of a GPU": func() error {
			_, err := api.ActOnGPU(ctx, r.Engine, api.RoutePauseGPU, 99, api.PauseRequest{})
			return err
		},
		"drain of a GPU": func() error {
			_, err := api.ActOnGPU(ctx, r.Engine, api.RouteDrainGPU, 99, api.PauseRequest{})
			return err
		},
		"resume of a GPU":  func() error { _, err := api.ActOnGPU(ctx, r.Engine, api.RouteResumeGPU, 99, nil); return err },
		"undrain of a GPU": func() error { _, err := api.ActOnGPU(ctx, r.Engine, api.RouteUndrainGPU, 99, nil); return err },
	} {
		codes := []api.Code{api.CodeNotFound}
		if strings.Contains(what, "GPU") && os.Getuid() != 0 {
			codes = append(codes, api.CodeForbidden) // one engine checks the user first, the other checks the request first
		}
		checkCode(t, what, ask(), codes...)
	}
	r.refuseAll(t, id, api.CodeNotFound)
	reply, err := api.List(ctx, r.Engine, api.ListQuery{IDs: id})
	if err != nil || len(reply.Jobs) > 0 {
		t.Errorf("list: %+v %v", reply.Jobs, err)
	}
}

func conformArray(t *testing.T, r rig) {
	j := r.ask(t, "array", func(q *api.SubmitRequest) { q.Hold, q.Array = true, &job.Array{Written: "0-4%2"} }, "true")
	reply, err := api.Show(t.Context(), r.Engine, j.ID.String(), api.JobQuery{})
	if a := reply.Job.Array; err != nil || a == nil || a.Size != 5 || a.Limit != 2 || j.Array == nil || j.Array.Size != 5 {
		t.Errorf("%+v %v", reply.Job, err)
	}
	if reply, err = api.Show(t.Context(), r.Engine, j.ID.String(), api.JobQuery{Results: true}); err != nil || reply.Job.Array == nil || reply.Results == nil {
		t.Errorf("results: %+v %v", reply, err)
	}
	_, err = api.ActOnJob(t.Context(), r.Engine, api.RouteCancel, j.ID.String(), api.CancelRequest{Signal: 10})
	checkCode(t, "a signal where no task runs", err, api.CodeConflict)
	if _, err := api.ActOnJob(t.Context(), r.Engine, api.RouteCancel, j.ID.String(), api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}

func conformWhole(t *testing.T, r rig) {
	ctx := t.Context()
	gpus, err := api.GPUs(ctx, r.Engine)
	for i, g := range gpus.GPUs {
		if g.Index != i || g.UUID == "" {
			t.Errorf("GPU %d: %+v", i, g)
		}
	}
	if err != nil || len(gpus.GPUs) == 0 {
		t.Errorf("%d GPUs: %v", len(gpus.GPUs), err)
	}
	if s, err := api.Status(ctx, r.Engine); err != nil || s.Version == "" || len(s.GPUs) != len(gpus.GPUs) || s.Health == "" {
		t.Errorf("status %+v %v", s, err)
	}
	if h, err := api.Health(ctx, r.Engine); err != nil || h.Health != job.Worst(h.Checks) || len(h.Checks) == 0 {
		t.Errorf("health %+v %v", h, err)
	}
	if v, err := api.Version(ctx, r.Engine); err != nil || v.Version == "" {
		t.Errorf("version %+v %v", v, err)
	}
}
