package metrics

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/golden"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fullPage returns a page with a sample of every family.
func fullPage() *Page {
	p, tally := NewPage(), NewTally()
	v := job.View{
		GPUSource: job.GPUSource{SampledAt: noon, Driver: "550.54", CUDA: "12.4"},
		Host:      job.HostView{MemBytes: 1 << 40, PromisedMem: 3 << 30, ParkedMem: 1 << 30, CPUs: 64, PromisedCPUs: 8, Places: 100, Taken: 2},
		GPUs: []job.GPUView{{GPU: job.GPU{
			Index: 0, UUID: "GPU-1", Name: `NVIDIA "A100"\80GB` + "\n\xff", PCI: "00000000:3B:00.0", State: job.GPUShared, FreeMilli: 250,
			MemTotalBytes: 80 << 30, MemUsedBytes: 1<<30 + 1, UtilPercent: 37, TempC: 41, PowerMilliW: 123_456,
			Jobs: []job.ID{1}, Shares: []job.GPUShare{{Job: 1, Milli: 750, PromiseBytes: 1 << 30}},
			Processes: []job.GPUProcess{{PID: 1, Job: 1, UsedBytes: 9}, {PID: 2, UsedBytes: 5}, {PID: 3, UsedBytes: -1}},
		}, Control: job.GPUControl{Paused: true}, EnergyMilliJ: 1_234_567}, {GPU: job.GPU{
			Index: 1, UUID: "GPU-2", Name: "T4", State: job.GPUUnknown, FreeMilli: job.WholeGPU, UtilPercent: 99, TempC: 41, PowerMilliW: 5,
		}}},
	}
	ended := job.Job{ID: 1, SubmittedAt: noon, State: job.Failed, Attempt: &job.Attempt{
		Number: 1, StartedAt: noon.Add(90 * time.Second), EndedAt: noon.Add(2 * time.Hour), Result: &job.Result{Outcome: job.Failed},
	}}
	back := ended
	back.ID, back.State = 2, job.Queued
	tally.Job(&ended)
	tally.Job(&back)
	tally.Submitted()
	tally.GPUError("0000:3b:00", 79)
	tally.Pass(300 * time.Microsecond)
	tally.Lag(20 * time.Millisecond)
	tally.Commit(time.Minute, true)
	tally.Sample(time.Second, false)
	p.AddView(&v)
	p.AddCensus(&job.Census{
		Jobs: map[job.CensusKey]int{{State: job.Queued, Class: job.High}: 3}, Held: 1, Oldest: noon,
		Users: []job.UserCensus{{Name: "alice", Queued: 1, Active: 2, Milli: 1750}, {Name: job.OtherUsers}},
	})
	tally.AddTo(p, &v)
	p.AddBool("gpusched_up", true)
	p.AddHealth([]job.Check{{Name: "gpus", Health: job.Degraded}, {Name: "GPU 1", Health: job.Failing}, {Name: "gpus", Health: job.Healthy}})
	p.Add("gpusched_requests", 3, "submit", "ok")
	p.Add("gpusched_build", 1, "1.2.3", "abc", "go1.26")
	p.AddProcess(Process{CPU: 1500 * time.Millisecond, Resident: 1 << 20, Virtual: 1 << 30, OpenFDs: 7, MaxFDs: 1024, Started: noon, Goroutines: 5})
	return p
}

// A full page matches the golden files in both formats.
func TestGoldenPages(t *testing.T) {
	for _, format := range Formats() {
		golden.Check(t, "page."+string(format), string(fullPage().Text(format)))
	}
}

// This is the part of the grammar of OpenMetrics 1.0 that a page uses.
var (
	comment = regexp.MustCompile(`^# (HELP|TYPE|UNIT) ([a-z][a-z0-9_]*) (.+)$`)
	point   = regexp.MustCompile(`^([a-z][a-z0-9_]*)((?:\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+\})?) ([0-9.e+-]+)$`)
)

// Every line is valid OpenMetrics. All lines of a family are together. A family has a help text and
// a type, and its name contains its unit. Its samples have the ending of its type.
func TestAPageIsOpenMetrics(t *testing.T) {
	text := string(fullPage().Text(OpenMetrics))
	body, whole := strings.CutSuffix(text, "\n# EOF\n")
	if !whole {
		t.Fatal("the page does not end with # EOF")
	}
	endings := map[string]string{"counter": "_total$", "gauge": "$", "info": "_info$", "histogram": "_(bucket|sum|count)$"}
	about, family, kind := map[string]map[string]bool{}, "", ""
	samples := map[string]bool{}
	for line := range strings.SplitSeq(body, "\n") {
		if m := comment.FindStringSubmatch(line); m != nil {
			if m[2] != family {
				if family = m[2]; about[family] != nil {
					t.Errorf("%s comes twice", family)
				}
				about[family] = map[string]bool{}
			}
			about[family][m[1]] = true
			switch m[1] {
			case "TYPE":
				kind = m[3]
			case "UNIT":
				if !strings.HasSuffix(family, "_"+m[3]) {
					t.Errorf("%s does not end in its unit %s", family, m[3])
				}
			}
			continue
		}
		m := point.FindStringSubmatch(line)
		if m == nil || !regexp.MustCompile("^"+family+endings[kind]).MatchString(m[1]) {
			t.Errorf("not a sample of the %s %s: %q", kind, family, line)
			continue
		}
		if samples[m[1]+m[2]] {
			t.Errorf("%s%s comes twice", m[1], m[2])
		}
		samples[m[1]+m[2]] = true
	}
	for _, f := range Families() {
		if got := about[f.FullName()]; !got["HELP"] || !got["TYPE"] || got["UNIT"] != (f.Unit != "") {
			t.Errorf("of %s the page says %v", f.FullName(), got)
		}
	}
	if len(about) != len(Families()) {
		t.Errorf("%d families, the table has %d", len(about), len(Families()))
	}
}

// Buckets are cumulative, and the last bucket counts everything.
func TestDistributions(t *testing.T) {
	d := newDistribution([]float64{1, 10})
	for _, took := range []time.Duration{-time.Hour, time.Second, 1001 * time.Millisecond, 10 * time.Second, time.Minute} {
		d.observe(took)
	}
	p := NewPage()
	p.AddSpread("gpusched_job_run", d)
	want := `gpusched_job_run_seconds_bucket{le="1.0"} 2
gpusched_job_run_seconds_bucket{le="10.0"} 4
gpusched_job_run_seconds_bucket{le="+Inf"} 5
gpusched_job_run_seconds_sum 72.001
gpusched_job_run_seconds_count 5
`
	if got := string(p.Text(Prometheus)); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
}

// Adding a metric that is not in the table causes a panic (invariant 1).
func TestUnknownMetricsPanic(t *testing.T) {
	for name, labels := range map[string][]string{"gpusched_command": {"rm"}, "gpusched_up": {"alice"}, "gpusched_jobs": {"queued"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s%v was taken", name, labels)
				}
			}()
			NewPage().Add(name, 1, labels...)
		}()
	}
}

// The list in this test has all names of labels (invariant 2).
func TestLabelsNameNoJob(t *testing.T) {
	known := map[string]bool{
		"version": true, "commit": true, "goversion": true, "part": true, "state": true, "action": true, "code": true, "class": true,
		"outcome": true, "cause": true, "user": true, "gpu": true, "uuid": true, "model": true, "pci": true, "cuda": true, "xid": true,
	}
	for _, f := range Families() {
		for _, label := range f.Labels {
			if !known[label] {
				t.Errorf("%s has the label %s: is it bounded, and nobody's secret?", f.Name, label)
			}
			if label == "user" && !strings.HasPrefix(f.Name, "gpusched_user_") {
				t.Errorf("%s names users", f.Name)
			}
		}
	}
}
