package report

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func hour(n float64) time.Time { return noon.Add(time.Duration(n * float64(time.Hour))) }

// runOf returns a run of one whole GPU from one hour to another, with 3600 J per hour. If the
// second hour is 0, the run has not ended.
func runOf(id job.ID, from, to float64) *job.Run {
	r := &job.Run{Job: id, Owner: job.Owner{User: "alice", GID: 7}, Name: "n", Mem: 1 << 30}
	a := &r.Attempt
	a.Number, a.PlacedAt, a.StartedAt = 1, hour(from), hour(from)
	a.EligibleAt = hour(from - 1)
	long := max(0, time.Duration((to-from)*float64(time.Hour)))
	if to != 0 {
		a.EndedAt, r.End = hour(to), job.Completed
	} else {
		long = hour(10).Sub(hour(from))
	}
	use := job.GPUUse{Seen: long, Busy: long / 2, PeakBusy: 90, Metered: long, MilliJ: int64(long.Seconds() * 1000)}
	a.GPUs = []job.Allocation{{GPU: contract.GPU{UUID: "GPU-a"}, Use: use}}
	return r
}

func counted(t *testing.T, q Query, runs ...*job.Run) *Book {
	t.Helper()
	if q.Now.IsZero() {
		q.Now = hour(10)
	}
	b := NewBook(q)
	for _, r := range runs {
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func near(x, y float64) bool { return math.Abs(x-y) < 1e-6*max(1, math.Abs(y)) }

// Invariant 1: if a run crosses an edge of the window, the part inside counts. A start or an end
// counts if it is inside the window.
func TestEdgesOfTheWindow(t *testing.T) {
	for name, c := range map[string]struct {
		run               *job.Run
		jobs, ends, waits int
		hours             float64
	}{
		"inside":               {runOf(1, 2, 3), 1, 1, 1, 1},
		"before":               {runOf(1, -3, -2), 0, 0, 0, 0},
		"up to the beginning":  {runOf(1, -3, 1), 1, 1, 0, 0},
		"from the end on":      {runOf(1, 5, 6), 0, 0, 0, 0},
		"over the beginning":   {runOf(1, -1, 2), 1, 1, 0, 1},
		"over the end":         {runOf(1, 4, 8), 1, 0, 1, 1},
		"over both":            {runOf(1, -2, 8), 1, 0, 0, 4},
		"goes on":              {runOf(1, 4, 0), 1, 0, 1, 1},
		"ends before it began": {runOf(1, 3, 2), 1, 1, 1, 0}, // invariant 3
		"at one moment":        {runOf(1, 3, 3), 1, 1, 1, 0},
	} {
		total := counted(t, Query{From: hour(1), To: hour(5)}, c.run).Total
		if total.Jobs != c.jobs || total.Ended[job.Completed] != c.ends || len(total.Waits) != c.waits {
			t.Errorf("%s: %d jobs, %d ends, %d waits", name, total.Jobs, total.Ended[job.Completed], len(total.Waits))
		}
		if !near(total.GPUSeconds, c.hours*3600) || !near(total.Joules, c.hours*3600) || !near(total.MemSeconds, c.hours*3600*(1<<30)) {
			t.Errorf("%s: %g GPU-seconds, %g J, want %g h", name, total.GPUSeconds, total.Joules, c.hours)
		}
	}
}

// Invariant 1: the days of a run add up to the run, even on a day on which the clock changes.
func TestDaysMakeUpARun(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		day  time.Time // a day on which the clock changes
		long float64
	}{
		{time.Date(2026, 3, 29, 0, 0, 0, 0, berlin), 23}, {time.Date(2026, 10, 25, 0, 0, 0, 0, berlin), 25},
	} {
		from, to := c.day.AddDate(0, 0, -3), c.day.AddDate(0, 0, 4)
		zone, err := ParseZone(ZoneOf(berlin, from, to).String())
		if err != nil || len(zone) != 2 {
			t.Fatal(zone, err)
		}
		r := runOf(1, 0, 1)
		r.Attempt.PlacedAt, r.Attempt.EndedAt = from.Add(time.Hour), to.Add(-time.Hour)
		b := counted(t, Query{From: from, To: to, Now: to, Zone: zone, By: []Dim{{Kind: "day"}}}, r)
		rows, sum := b.Rows(), 0.0
		if len(rows) != 7 {
			t.Fatalf("%d days", len(rows))
		}
		for i, row := range rows {
			want := []float64{23, 24, 24, c.long, 24, 24, 23}[i] * 3600
			if row.Keys[0] != from.AddDate(0, 0, i).Format(time.DateOnly) || !near(row.GPUSeconds, want) {
				t.Errorf("%s: %g s, want %g", row.Keys[0], row.GPUSeconds, want)
			}
			sum += row.GPUSeconds
		}
		if !near(sum, b.Total.GPUSeconds) {
			t.Errorf("the days come to %g, the whole is %g", sum, b.Total.GPUSeconds)
		}
		weeks := counted(t, Query{From: from, To: to, Now: to, Zone: zone, By: []Dim{{Kind: "week"}}}, r).Rows()
		if len(weeks) != 2 || weeks[1].Keys[0] != c.day.AddDate(0, 0, 1).Format(time.DateOnly) {
			t.Errorf("weeks: %+v", weeks)
		}
	}
	for _, bad := range []string{"x", "1;2", "3600;5:1;4:2", "999999", ";"} {
		if z, err := ParseZone(bad); err == nil {
			t.Errorf("%q is %v", bad, z)
		}
	}
}

// Invariant 2: no mean and no sum includes unknown values.
func TestUnknownIsNotZero(t *testing.T) {
	old := runOf(1, 2, 4)
	old.Attempt.EligibleAt = time.Time{}
	old.Attempt.GPUs[0].Use = job.GPUUse{PeakBytes: 5, Seen: time.Hour, Busy: time.Hour}
	total := counted(t, Query{From: hour(1), To: hour(5)}, old).Total
	if len(total.Waits) != 0 || total.JoulesKnown != 0 || total.GPUMemKnown != 0 || total.BusyKnown || TimesOf(total.Waits) != nil {
		t.Errorf("%+v", total)
	}
	if total.CPU.Percent() != nil || total.Mem.Percent() != nil || total.Time.Percent() != nil || *total.GPU.Percent() != 100 {
		t.Errorf("%+v", total.Efficiency)
	}
	part := runOf(1, 2, 4) // two hours, of which one was metered
	part.Attempt.GPUs[0].Use.Metered = time.Hour
	if w := counted(t, Query{From: hour(1), To: hour(5)}, part).Total; !near(w.JoulesKnown, 3600) || !near(w.GPUSeconds, 7200) {
		t.Errorf("%+v", w)
	}
	both := counted(t, Query{From: hour(1), To: hour(5)}, old, runOf(2, 2, 3)).Total
	if !near(both.Joules, 3600) || !near(both.JoulesKnown, 3600) || len(both.Waits) != 1 || both.PeakBusy != 90 {
		t.Errorf("%+v", both)
	}
}

// Invariant 4: there are rows of each kind.
func TestRowsByEachKind(t *testing.T) {
	a, b := runOf(1, 2, 3), runOf(2, 2, 4)
	a.Owner.Groups, a.Tags = []string{"lab", "course"}, map[string]string{"p": "x", "q": "y"}
	b.Owner.User, b.Class, b.Name = "bob", job.High, "m"
	b.Attempt.GPUs = append(b.Attempt.GPUs, job.Allocation{GPU: contract.GPU{UUID: "GPU-b", Index: 10, Milli: 500}})
	for by, want := range map[string]string{
		"user":     "[bob]=3 [alice]=1 ",
		"group":    "[gid 7]=3 [course]=1 [lab]=1 ",
		"gpu":      "[0 GPU-a]=3 [10 GPU-b]=1 ",
		"tag":      "[none]=3 [p=x]=1 [q=y]=1 ",
		"tag=p":    "[none]=3 [x]=1 ",
		"class":    "[high]=3 [normal]=1 ",
		"name":     "[m]=3 [n]=1 ",
		"day":      "[2026-03-01]=4 ",
		"month":    "[2026-03-01]=4 ",
		"user,gpu": "[bob 0 GPU-a]=2 [bob 10 GPU-b]=1 [alice 0 GPU-a]=1 ",
		"":         "",
	} {
		dims, err := ParseDims(by)
		if err != nil {
			t.Fatal(err)
		}
		book, got := counted(t, Query{From: hour(1), To: hour(5), By: dims}, a, b), ""
		for _, row := range book.Rows() {
			got += fmt.Sprintf("%v=%g ", row.Keys, row.GPUSeconds/3600)
		}
		if got != want || book.Total.Jobs != 2 || !near(book.Total.GPUSeconds, 4*3600) {
			t.Errorf("by %q: %s, want %s; in all %d jobs, %g s", by, got, want, book.Total.Jobs, book.Total.GPUSeconds)
		}
	}
	for _, bad := range []string{"users", "user,gpu,day", "day,week", "user,user", "tag=", "user=x", ","} {
		if _, err := ParseDims(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A report has a bounded number of rows (invariant 5).
func TestRowsAreBounded(t *testing.T) {
	b := NewBook(Query{From: hour(1), Now: hour(5), By: []Dim{{Kind: "name"}}})
	var err error
	for i := 0; err == nil && i <= maxRows; i++ {
		r := runOf(job.ID(i), 2, 3)
		r.Name = fmt.Sprint(i)
		err = b.Add(r)
	}
	if err != ErrTooMany || len(b.rows) != maxRows {
		t.Errorf("%v with %d rows", err, len(b.rows))
	}
}

func TestAttemptsOfOneJobAreOneJob(t *testing.T) {
	first, second := runOf(1, 1, 2), runOf(1, 3, 4)
	first.End, second.Attempt.Number = "", 2
	total := counted(t, Query{From: hour(0), To: hour(5)}, first, runOf(2, 1, 2), second).Total
	if total.Jobs != 2 || total.Ended[job.Completed] != 2 || len(total.Runs) != 3 {
		t.Errorf("%+v", total)
	}
	never := &job.Run{Job: 3, End: job.Cancelled}
	never.Attempt.EndedAt = hour(2)
	if total = counted(t, Query{From: hour(0), To: hour(5)}, never).Total; total.Jobs != 1 || total.Ended[job.Cancelled] != 1 {
		t.Errorf("%+v", total)
	}
}

func TestTimes(t *testing.T) {
	var list []float64
	for i := 100; i > 0; i-- {
		list = append(list, float64(i))
	}
	if got := TimesOf(list); got.Of != 100 || got.Median != 50.5 || got.P95 != 95 || !near(got.Mean, 50.5) {
		t.Errorf("%+v", got)
	}
	if got := TimesOf([]float64{7}); got.Median != 7 || got.P95 != 7 {
		t.Errorf("%+v", got)
	}
}
