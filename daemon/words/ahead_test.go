package words

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestAhead(t *testing.T) {
	const hour, minute = job.Span(time.Hour), job.Span(time.Minute)
	normal := job.Merits{Share: 1, Waited: hour, Length: hour, Score: 2}
	with := func(f func(*job.Merits)) job.Merits {
		s := normal
		f(&s)
		return s
	}
	for want, a := range map[string]job.Ahead{
		"its class is high, job 12's is normal":                   {Cause: job.AheadClass, Its: with(func(s *job.Merits) { s.Priority.Class = job.High }), Own: normal},
		"its priority is 5, job 12's is -1":                       {Cause: job.AheadNumber, Its: with(func(s *job.Merits) { s.Priority.Number = 5 }), Own: with(func(s *job.Merits) { s.Priority.Number = -1 })},
		"other jobs were stopped to make room for it":             {Cause: job.AheadOwed},
		"it has waited 1d2h, and jobs that wait so long go first": {Cause: job.AheadGuarded, Its: job.Merits{Waited: 26*hour + 7*minute/60}},
		"it is of the same batch, in which larger jobs go first":  {Cause: job.AheadBatch},
		"it came first":           {Cause: job.AheadLonger},
		"it has waited 2h longer": {Cause: job.AheadLonger, Its: job.Merits{Waited: 3 * hour}, Own: normal},
		"bob has had 0.4 times a fair share lately, job 12's user 3.2 times a fair share":         {Cause: job.AheadScore, Its: with(func(s *job.Merits) { s.Share = 0.4 }), Own: with(func(s *job.Merits) { s.Share = 3.2 })},
		"bob has had nearly nothing lately, job 12's user a fair share; it has waited 10m longer": {Cause: job.AheadScore, Its: with(func(s *job.Merits) { s.Share, s.Waited = 0, 70*minute }), Own: normal},
		"it is shorter (counts as 8s, job 12 as 1h)":                                              {Cause: job.AheadScore, Its: with(func(s *job.Merits) { s.Length = 8 * minute / 60 }), Own: normal},
		"its score is slightly higher":                                                            {Cause: job.AheadScore, Its: normal, Own: normal},
		"it came first; it ran before and waits again; GPUs are kept for it":                      {Cause: job.AheadLonger, Again: true, Kept: true},
	} {
		a.User = "bob"
		if got := Ahead(&a, "12"); !strings.HasPrefix(got, want) || len(got) > len(want)+len(":00 UTC") {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
	}
}

func TestSooner(t *testing.T) {
	gpus, mem, cpus, limit, yes := 500, int64(20<<30), 4, job.Span(90*time.Minute), true
	asked := job.Request{GPUsFrom: []int{0, 1}, ExcludeGPUs: []int{1}, GPUType: "a100", MaxLoadPercent: 30}
	for want, s := range map[string]job.Sooner{
		"--gpus 0.5|":                 {Change: job.Change{GPUMilli: &gpus}},
		"--gpu-mem 20G|":              {Change: job.Change{GPUMemBytes: &mem}},
		"--mem 20G|":                  {Change: job.Change{MemBytes: &mem}},
		"--cpus 4|":                   {Change: job.Change{CPUs: &cpus}},
		"--time 1h30m|":               {Change: job.Change{TimeLimit: &limit}},
		"--preemptible|":              {Change: job.Change{Preemptible: &yes}},
		"|--gpu-type":                 {Any: job.AnyOf{Type: true}},
		"|--gpus-from --exclude-gpus": {Any: job.AnyOf{GPUs: true}},
		"|--max-load":                 {Any: job.AnyOf{Load: true}},
	} {
		options, without := Sooner(&s, &asked)
		if got := strings.Join(options, " ") + "|" + strings.Join(without, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		wantIf := map[string]string{
			"--gpu-mem 20G|": "if it needs no more than 20G of a GPU's memory", "--mem 20G|": "if it needs no more than 20G of host memory",
			"--time 1h30m|": "if it needs no more than 1h30m",
		}[want]
		if got := SoonerIf(&s); got != wantIf {
			t.Errorf("%s: got %q, want %q", want, got, wantIf)
		}
	}
}
