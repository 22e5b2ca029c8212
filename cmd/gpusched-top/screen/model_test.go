package screen

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// fetches returns the effects that are Fetches.
func fetches(effects []any) (list []Fetch) {
	for _, e := range effects {
		if f, ok := e.(Fetch); ok {
			list = append(list, f)
		}
	}
	return list
}

// The screen polls every two seconds, with one request at a time. If the scheduler needs much time
// for an answer, the screen requests the jobs less often. While changes are announced, it requests
// the jobs after a change, at most every second, and also at long intervals.
func TestPollingIntervals(t *testing.T) {
	for _, c := range []struct {
		name               string
		took               time.Duration // duration of an answer with the jobs
		announced, changed bool
		err                error
		all, jobs          int // expected requests in a minute
	}{
		{name: "a short queue", took: 5 * time.Millisecond, all: 30, jobs: 30},
		{name: "a long queue", took: 400 * time.Millisecond, all: 30, jobs: 8},
		{name: "nobody there", took: time.Millisecond, err: errors.New("away"), all: 30, jobs: 30},
		{name: "nothing is announced", announced: true, took: 5 * time.Millisecond, all: 30, jobs: 10},
		{name: "always something new", announced: true, changed: true, took: 5 * time.Millisecond, all: 60, jobs: 60},
		{name: "always something new in a long queue", announced: true, changed: true, took: 400 * time.Millisecond, all: 30, jobs: 8},
	} {
		m, all, jobs, statuses := New(Setting{UID: alice}), 0, 0, 0
		m.Update(Announced{c.announced})
		for second := range 60 {
			now := at.Add(time.Duration(second) * time.Second)
			if c.changed {
				m.Update(Changed{})
			}
			for _, f := range fetches(m.Update(Tick{now})) {
				all++
				p := Picture{Asked: f, At: now, TookGPUs: time.Millisecond, TookJobs: c.took}
				if f.Jobs {
					jobs++
					p.List = &api.ListReply{}
				}
				if f.Status {
					statuses++
				}
				if again := fetches(m.Update(Tick{now})); len(again) > 0 {
					t.Errorf("%s: it asks before it has an answer", c.name)
				}
				var answer any = p
				if c.err != nil {
					answer = Failed{Asked: f, At: now, Took: c.took, Err: c.err}
				}
				m.Update(answer)
			}
		}
		if all != c.all || jobs != c.jobs || statuses > 10 {
			t.Errorf("%s: asked %d times in a minute, not %d, and %d times for the jobs, not %d; %d times for the status",
				c.name, all, c.all, jobs, c.jobs, statuses)
		}
	}
}

// queue returns a picture of a queue with the given number of waiting jobs. It contains as many of
// these jobs as f requests.
func queue(f Fetch, total int) Picture {
	p := Picture{Asked: f, At: at, List: &api.ListReply{}, Status: &api.StatusReply{Counts: map[job.State]int{"queued": total}}}
	n := total
	if f.Waiting > 0 {
		n = min(f.Waiting, total)
	}
	for i := range n {
		p.List.Jobs = append(p.List.Jobs, waiting(job.ID(i+1), alice, fmt.Sprintf("job-%d", i), "busy", time.Hour, 0))
	}
	p.List.Omitted = total - n
	return p
}

// Of 10 000 waiting jobs, only those on the screen and some more are fetched. If the jobs are
// filtered or sorted, all are fetched.
func TestFetchesWhatIsShown(t *testing.T) {
	m := New(Setting{UID: alice})
	m.Update(Size{80, 24})
	turn := func(msgs ...any) (waiting int) {
		waiting = -1
		for _, msg := range msgs {
			for _, f := range fetches(m.Update(msg)) {
				waiting = f.Waiting
				m.Update(queue(f, 10_000))
			}
		}
		return waiting
	}
	if n := turn(Tick{at}); n != 100 {
		t.Errorf("%d jobs are requested at first", n)
	}
	for range 20 {
		turn(Key{Name: "pgdown"})
	}
	if m.top < 200 || len(m.rows) < m.top+24 || len(m.rows) > 1000 {
		t.Errorf("%d jobs are known for a screen that begins with %d", len(m.rows), m.top)
	}
	if text := m.Frame().String(); !strings.Contains(text, "of 10000") {
		t.Errorf("nothing says how many there are:\n%s", text)
	}
	if n := turn(Key{Name: "/"}, Key{Text: "job-9876"}, Key{Name: "enter"}); n != 0 {
		t.Errorf("%d jobs are requested for a search", n)
	}
	if text := m.Frame().String(); !strings.Contains(text, "9877 ") || strings.Contains(text, "9878") {
		t.Errorf("the job is not found:\n%s", text)
	}
}

// The selection follows its job. If the job is gone, the job after it is selected.
func TestSelection(t *testing.T) {
	m := screenOf(lab(), 80, 24, Setting{})
	for range 3 {
		m.Update(Key{Name: "j"})
	}
	if m.selected != "44" {
		t.Fatalf("%s is selected", m.selected)
	}
	p := lab()
	slices.Reverse(p.List.Jobs)
	m.Update(p)
	if m.selected != "44" || !slices.ContainsFunc(m.Frame(), func(l Line) bool {
		return len(l) == 1 && l[0].Style == reverse && strings.HasPrefix(strings.TrimSpace(l[0].Text), "44 bob")
	}) {
		t.Errorf("%s is selected:\n%s", m.selected, m.Frame().Styled(false))
	}
	p.List.Jobs = slices.DeleteFunc(p.List.Jobs, func(j api.Job) bool { return j.ID == 44 })
	m.Update(p)
	if m.selected != "43" { // job 43 is now at the same place
		t.Errorf("%s is selected", m.selected)
	}
	m.Update(Picture{At: at, List: &api.ListReply{}})
	if effects := m.Update(Key{Name: "s"}); len(effects) > 0 || m.question != nil {
		t.Errorf("without a job %v", effects)
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		keys string
		want []any
		note string
	}{
		{keys: "q", want: []any{Quit{}}},
		{keys: "esc", want: []any{Quit{}}},
		{keys: "ctrl+c", want: []any{Quit{}}},
		{keys: "ctrl+z", want: []any{Suspend{}}},
		{keys: "s", want: []any{Open{1, []string{"show", "41"}, 80, 22}}},
		{keys: "j enter", want: []any{Open{1, []string{"show", "42"}, 80, 22}}},
		{keys: "down w", want: []any{Open{1, []string{"why", "42"}, 80, 22}}},
		{keys: "l", want: []any{Open{1, []string{"logs", "-f", "41"}, 80, 22}}},
		{keys: "l q", want: []any{Open{1, []string{"logs", "-f", "41"}, 80, 22}, Close{1}}},
		{keys: "l ctrl+c", want: []any{Open{1, []string{"logs", "-f", "41"}, 80, 22}, Close{1}, Quit{}}},
		{keys: "c y", want: []any{Cancel{[]string{"41"}}}},
		{keys: "c n", note: "nothing was done"},
		{keys: "c enter", note: "nothing was done"},
		{keys: "G c y", want: []any{Cancel{[]string{"48"}}}},
		{keys: "p", note: "press Tab to select a GPU"},
		{keys: "tab p y", want: []any{Control{GPU: 0, Pause: true}}},
		{keys: "tab end k k p y", want: []any{Control{GPU: 5}}},
		{keys: "? q", want: nil},
		{keys: "/ q esc q", want: []any{Quit{}}},
	} {
		m := screenOf(lab(), 80, 24, Setting{})
		m.next = at.Add(time.Hour) // the test itself must cause no polling
		var got []any
		for key := range strings.FieldsSeq(c.keys) {
			k := Key{Name: key}
			if len(key) == 1 {
				k.Text = key
			}
			got = append(got, m.Update(k)...)
		}
		if !reflect.DeepEqual(got, c.want) || !strings.HasPrefix(m.note, c.note) || c.note != "" && m.note == "" {
			t.Errorf("%q: %v and %q", c.keys, got, m.note)
		}
	}
}

// If only the user's own jobs are shown, the GPU table still names the other users.
func TestMine(t *testing.T) {
	m := screenOf(lab(), 120, 24, Setting{})
	asked := fetches(m.Update(Key{Name: "u"}))
	if len(asked) != 1 || !asked[0].Mine || !asked[0].Status {
		t.Fatalf("asked for %v", asked)
	}
	p := lab()
	p.List.Jobs = slices.DeleteFunc(p.List.Jobs, func(j api.Job) bool { return j.UID != alice })
	m.Update(p)
	if text := m.Frame().String(); !strings.Contains(text, "42 bob:0.5") || strings.Contains(text, "notebook") || !strings.Contains(text, "only yours") {
		t.Errorf("mine are\n%s", text)
	}
}

// A sparkline shows each sample in the right column, however irregular the samples are.
func TestSparkline(t *testing.T) {
	now := at
	points := func(ago ...int) (list []point) {
		for i := 0; i+1 < len(ago); i += 2 {
			list = append(list, point{now.Add(-time.Duration(ago[i]) * time.Second), ago[i+1]})
		}
		return list
	}
	for _, c := range []struct {
		name   string
		points []point
		want   string // six columns, each of ten seconds
	}{
		{"nothing", nil, "      "},
		{"each ten seconds", points(55, 0, 45, 20, 35, 40, 25, 60, 15, 80, 5, 100), "024689"},
		{"many at once", points(59, 10, 58, 90, 51, 30, 5, 50), "933  5"},
		{"a gap, then one", points(55, 70, 8, 20), "77   2"},
		{"the last counts on", points(21, 40), "   444"},
		{"too old", points(90, 50), "      "},
		{"just before the first column", points(64, 50), "55    "},
	} {
		if got := sparkline(c.points, now, 6, true); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// A sample is stored once, and is kept as long as it is shown, even if the clock is set back.
func TestRemember(t *testing.T) {
	m := New(Setting{})
	see := func(at time.Time, util int) {
		m.remember(&api.GPUsReply{GPUSource: job.GPUSource{SampledAt: at}, GPUs: []api.GPU{{GPU: job.GPU{UUID: "a", UtilPercent: util}}}})
	}
	for i := range 1000 {
		see(at.Add(time.Duration(i)*time.Second), 50)
		see(at.Add(time.Duration(i)*time.Second), 50)
	}
	if n := len(m.points["a"]); n < 60 || n > maxPoints {
		t.Errorf("%d samples are kept", n)
	}
	see(at, 10)
	if len(m.points["a"]) != 1 {
		t.Errorf("after the clock was set back: %v", m.points["a"])
	}
	m.remember(&api.GPUsReply{GPUSource: job.GPUSource{SampledAt: at}, GPUs: nil})
	if len(m.points) > 0 {
		t.Errorf("for a GPU that is gone: %v", m.points)
	}
}

// The number of lines in a pane is limited. A pane that
// follows its command stays at the end of the output.
func TestPane(t *testing.T) {
	m := screenOf(lab(), 80, 24, Setting{})
	m.Update(Key{Name: "l"})
	for i := range 3 * maxLines {
		m.Update(Printed{Pane: 1, Lines: []string{fmt.Sprintf("line %d.", i)}})
	}
	text := m.Frame().String()
	if n := len(m.pane.lines); n < maxLines || n > 2*maxLines || !strings.Contains(text, fmt.Sprintf("line %d.", 3*maxLines-1)) || !strings.Contains(text, "(the last ") {
		t.Errorf("%d lines are kept:\n%s", len(m.pane.lines), text)
	}
	m.Update(Key{Name: "pgup"})
	before := strings.Split(m.Frame().String(), "\n")[1]
	m.Update(Printed{Pane: 1, Lines: []string{"one more"}})
	if after := strings.Split(m.Frame().String(), "\n")[1]; before != after {
		t.Errorf("the visible line %q changed to %q", before, after)
	}
	m.Update(Key{Name: "q"})
	m.Update(Printed{Pane: 1, Lines: []string{"late"}, Ended: true})
	if m.pane != nil {
		t.Error("a pane that was closed comes back")
	}
}

// sweepPicture returns a picture of an array whose tasks run or wait, and of a job that waits
// behind it.
func sweepPicture(tasks int) Picture {
	p := Picture{At: at, List: &api.ListReply{}, Status: &api.StatusReply{}}
	for i := range tasks {
		j := running(job.ID(100+i), bob, "sweep", time.Duration(i)*time.Minute, i%8)
		if i%3 == 2 {
			j = waiting(job.ID(100+i), bob, "sweep", "busy", time.Hour, 0)
		}
		task := job.Task{Array: 7, Index: i}
		j.Task = &api.Task{Task: task, Name: task.String()}
		p.List.Jobs = append(p.List.Jobs, j)
	}
	api.InListOrder(p.List.Jobs, nil)
	p.List.Jobs = append(p.List.Jobs, waiting(900, alice, "behind", "busy", time.Hour, 0))
	return p
}

// A thousand running tasks share one row. The row stays selected, and
// the waiting jobs fit on the screen. A filter finds a single task.
// Actions on a row apply to its tasks; details are about the array.
func TestTasksShareARow(t *testing.T) {
	m := screenOf(sweepPicture(1000), 80, 24, Setting{})
	var rows []string
	for i := range m.rows {
		rows = append(rows, idOf(m.rows[i])+" "+stateWord(m.rows[i]))
	}
	if want := []string{"7 667 running", "7_[2-998:3] 333 queued", "900 queued"}; !slices.Equal(rows, want) {
		t.Fatalf("the rows are %q", rows)
	}
	if n := m.jobsToFetch(); n < 400 {
		t.Errorf("%d waiting jobs are requested although 333 of them share a row", n)
	}
	m.Update(Key{Name: "j"})
	m.Update(sweepPicture(997))
	if j, _ := m.job(); stateWord(j) != "332 queued" {
		t.Errorf("%s is selected", stateWord(j))
	}
	m.Update(sweepPicture(4))
	m.Update(Key{Name: "home"})
	if got := m.Update(Key{Name: "s"}); !reflect.DeepEqual(got, []any{Open{1, []string{"show", "7"}, 80, 22}}) {
		t.Errorf("it shows %v", got)
	}
	m.Update(Key{Name: "q"})
	m.Update(Key{Name: "c"})
	if q := m.question; q == nil || q.text != "Cancel 3 tasks of job 7 (sweep) of bob, which are running?" || !reflect.DeepEqual(q.yes, Cancel{[]string{"7_0", "7_1", "7_3"}}) {
		t.Errorf("it asks %+v", q)
	}
	m.Update(Key{Name: "n"})
	m.Update(sweepPicture(1000))
	for _, k := range []Key{{Name: "/"}, {Text: "7_12 "}, {Text: "running"}, {Name: "enter"}, {Name: "end"}, {Name: "c"}} {
		m.Update(k)
	}
	if j, _ := m.job(); !strings.HasPrefix(j.Called(), "7") || j.Alike != 8 || len(m.question.yes.(Cancel).IDs) != 8 {
		t.Errorf("the filter finds %s %s, and %+v is asked", j.WithTasks(), stateWord(j), m.question)
	}
}

// A parked job says so instead of "suspended".
func TestAParkedJobSaysSo(t *testing.T) {
	j := running(41, alice, "train", time.Hour, 0)
	j.SuspendedAt = at
	for _, p := range []job.ParkState{job.ParkTakes, job.IsParked, job.ParkGives} {
		j.Parked = &api.Parked{State: p}
		if stateWord(j) != string(p) {
			t.Errorf("%s: %q", p, stateWord(j))
		}
	}
}
