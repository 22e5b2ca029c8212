package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/packaging/test/golden"
	"github.com/gpusched/gpusched/units/contract"
)

// aWeek returns a history of seven days, on two of which nothing ran.
func aWeek() pastDays {
	day := func(n int) string { return noon.AddDate(0, 0, n-6).Format(time.DateOnly) }
	row := func(hours float64, keys ...string) api.ReportRow { return api.ReportRow{Keys: keys, GPUHours: hours} }
	full := row(80, day(0))
	full.Jobs, full.Ended = 12, map[job.State]int{"completed": 9, "failed": 2, "cancelled": 1}
	full.Wait, full.Efficiency.GPU = &job.Times{Of: 12, Mean: 400, Median: 90, P95: 5000}, new(62.5)
	late := row(24, day(6))
	late.Ended = map[job.State]int{"completed": 1, "gpu-out-of-memory": 3}
	p := pastDays{length: 7, gpus: 4, at: noon, asked: noon}
	p.days = api.ReportReply{
		Since: noon.AddDate(0, 0, -6).Truncate(24 * time.Hour), Until: noon, By: []string{"day"},
		Rows:  []api.ReportRow{full, row(48, day(1)), row(10, day(4)), row(2, day(5)), late},
		Total: api.ReportRow{Jobs: 20, GPUHours: 164, Ended: map[job.State]int{"completed": 10, "failed": 2, "gpu-out-of-memory": 3}, Wait: full.Wait},
	}
	p.users.Rows = []api.ReportRow{row(50, "alice", day(0)), row(30, attack, day(0)), row(48, attack, day(1)), row(10, "alice", day(4)), row(2, "bob", day(5)), row(24, "bob", day(6))}
	return p
}

func TestHistoryPage(t *testing.T) {
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, "history", historyViewOf("lab", aWeek(), time.UTC)); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "history.html", b.String())
	if err := wellFormed(b.String()); err != nil {
		t.Error(err)
	}
	for _, no := range []string{"<script>", `"'&`, "style=", "http:", "NaN", "Inf"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("the page has %q", no)
		}
	}
}

// The parts of each column add up to the whole: with many
// users, with rows for days only, and without users.
func TestHoursByUser(t *testing.T) {
	p := aWeek()
	all := func(v *chartView) (last string) { return v.Rows[6][len(v.Rows[6])-1] }
	d := daysOf(p, time.UTC)
	if v := d.drawHours(&p.users); all(v) != "80.0 h" || len(v.Key) != 3 || v.Key[0].Name != attack || v.Key[2].Figure != "26.0 h" {
		t.Errorf("%+v", v)
	}
	if v := d.drawHours(&api.ReportReply{}); all(v) != "80.0 h" || len(v.Key) != 1 || v.Key[0].Name != "all users" {
		t.Errorf("%+v", v)
	}
	many := api.ReportReply{}
	for n := range 40 {
		many.Rows = append(many.Rows, api.ReportRow{Keys: []string{fmt.Sprint("user", n), d.slots[0]}, GPUHours: 2})
	}
	if v := d.drawHours(&many); all(v) != "80.0 h" || len(v.Key) != maxUserSeries+1 || v.Key[maxUserSeries].Name != "others" || v.Key[maxUserSeries].Figure != "150.0 h" {
		t.Errorf("%+v", v.Key)
	}
	none := pastDays{days: api.ReportReply{Since: noon, Until: noon}}
	e := daysOf(none, time.UTC)
	for _, v := range []*chartView{e.drawHours(&many), e.drawUse(0), e.drawUse(4), e.drawEnded(), e.drawWaits()} {
		if v != nil {
			t.Errorf("there is a chart of nothing: %+v", v)
		}
	}
}

// A day may have 23 hours because of a clock change. Today has only the hours up to now.
func TestHoursOfDays(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	since := time.Date(2026, 3, 28, 0, 0, 0, 0, berlin)
	d := daysOf(pastDays{days: api.ReportReply{Since: since.UTC(), Until: since.AddDate(0, 0, 2).Add(90 * time.Minute).UTC()}}, berlin)
	if fmt.Sprint(d.slots, d.long) != "[2026-03-28 2026-03-29 2026-03-30] [24 23 1.5]" {
		t.Errorf("%v %v", d.slots, d.long)
	}
}

// A countingScheduler counts how often the history is read.
type countingScheduler struct {
	*servertest.Backend
	runs atomic.Int64
}

func (c *countingScheduler) Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error {
	c.runs.Add(1)
	return c.Backend.Runs(ctx, q, f)
}

// usedLab returns the scheduler of lab plus jobs that ended on the days before now.
func usedLab(now time.Time) *servertest.Backend {
	b := labAt(now)
	b.View.Jobs[2].Label.Name, b.View.Jobs[3].Label.Name, b.View.Jobs[3].Owner.User = "eval-llama", "sweep-lr", "carol"
	b.View.Jobs[3].Reasons = b.View.Jobs[2].Reasons
	users := []string{"alice", "bob", "carol", "dmitri", "erika-mustermann-von-und-zu", "femi", "grace", "heidi", "ivan"}
	ends := []job.State{job.Completed, job.Completed, job.Failed, job.Completed, job.Cancelled, job.Completed, job.TimedOut, job.GPUOutOfMemory}
	for n := range 420 {
		k := n * n % 97 // repeatable numbers without an order
		end := now.Add(-time.Duration(60+n*5*60+k*7) * time.Minute)
		start := end.Add(-time.Duration(20+k*9) * time.Minute)
		queued := start.Add(-time.Duration(k*k/40) * time.Minute)
		on := job.Allocation{GPU: contract.GPU{UUID: "GPU-a", Milli: 1000 * (1 + k%3)}}
		on.Use = job.GPUUse{Seen: end.Sub(start), Busy: end.Sub(start) * time.Duration(40+k%55) / 100}
		b.View.Jobs = append(b.View.Jobs, job.JobView{Job: job.Job{
			ID: job.ID(1000 + n), Owner: job.Owner{UID: 2000 + k%len(users), User: users[k%len(users)]}, State: ends[k%len(ends)],
			SubmittedAt: queued, ChangedAt: end, Request: job.Request{GPUMilli: 1000}, Life: job.Life{QueuedAt: queued},
			Result: &job.Result{Outcome: ends[k%len(ends)]}, Label: job.Label{Name: fmt.Sprint("run-", n)},
			Attempt: &job.Attempt{Number: 1, EligibleAt: queued, PlacedAt: start, StartedAt: start, EndedAt: end, GPUs: []job.Allocation{on}},
		}})
	}
	return b
}

// Invariant 7: many viewers share one request.
func TestHistoryIsRequestedOnce(t *testing.T) {
	b := &countingScheduler{Backend: usedLab(time.Now())}
	socket, stop := serveScheduler(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := newSite(newWatcher((&source{client: &api.Client{Socket: socket}}).everything, askInterval), &api.Client{Socket: socket}, "lab")
	go s.watcher.run(ctx)
	web := serveSite(t, s)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			status, _, text := get(t, web.URL+"/history?days=7")
			if status != 200 || !strings.Contains(text, "GPU-hours by day and user") || strings.Contains(text, "secret") {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	all.Wait()
	if n := b.runs.Load(); n != 2 {
		t.Errorf("asked %d times for 20 who look", n)
	}
	get(t, web.URL+"/history")
	if n := b.runs.Load(); n != 4 {
		t.Errorf("asked %d times", n)
	}
	stop()
	if _, _, text := get(t, web.URL+"/history?days=7"); strings.Contains(text, "alert") {
		t.Errorf("the history is requested again within a minute: %s", text)
	}
	p := s.archive.kept[7]
	p.asked = p.asked.Add(-2 * time.Minute)
	s.archive.kept[7] = p
	status, _, text := get(t, web.URL+"/history?days=7")
	if status != 200 || !strings.Contains(text, `role="alert"`) || !strings.Contains(text, "GPU-hours by day and user") {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := get(t, web.URL+"/history?days=90"); status != 503 || !strings.Contains(text, "cannot be reached") {
		t.Errorf("%d %s", status, text)
	}
	for _, words := range []string{"8", "-7", "x", "007777777777777777777"} {
		if status, _, _ := get(t, web.URL+"/history?days="+words); status != 404 {
			t.Errorf("%s days: %d", words, status)
		}
	}
}
