package sim_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

func scenario(t *testing.T, name string, s sim.Setting) sim.Trace {
	t.Helper()
	found, err := sim.FindScenario(name)
	if err != nil {
		t.Fatal(err)
	}
	return found.Make(s)
}

// A seed determines the jobs. All of them fit on the machine. If a load is given, the submitted
// work matches the load, except for the last job.
func TestScenarios(t *testing.T) {
	for _, s := range sim.Scenarios() {
		setting := sim.Setting{GPUs: 4, Seed: 3}
		if s.Days > 0 {
			setting.Days, setting.Load = 7, 0.5
		}
		tr := s.Make(setting)
		if !reflect.DeepEqual(tr, s.Make(setting)) || len(tr.Jobs) == 0 {
			t.Errorf("%s: the same setting made other jobs, or none", s.Name)
		}
		setting.Seed++
		if reflect.DeepEqual(tr.Jobs, s.Make(setting).Jobs) {
			t.Errorf("%s: another seed made the same jobs", s.Name)
		}
		if fit := tr.Fit(4, 80*gib); fit.Dropped > 0 {
			t.Errorf("%s: %d jobs ask more than the machine has", s.Name, fit.Dropped)
		}
		work, most := 0.0, 0.0
		for _, j := range tr.Jobs {
			if w := j.Run.Seconds() * float64(j.GPUMilli) / 1000; w > 0 {
				work, most = work+w, max(most, w)
			}
			if j.Limit > 0 && j.Limit < j.Run {
				t.Errorf("%s: %+v runs longer than its limit", s.Name, j)
			}
		}
		if asked := 0.5 * 4 * 7 * 86400; s.Days > 0 && (work < asked || work > asked+most) {
			t.Errorf("%s: %.0f GPU-seconds are submitted, not %.0f", s.Name, work, asked)
		}
	}
	if _, err := sim.FindScenario("drought"); err == nil || !strings.Contains(err.Error(), "choose among flood, sweep") {
		t.Errorf("an unknown scenario: %v", err)
	}
}

// These are the jobs of the scenario that the goals refer to.
func TestFlood(t *testing.T) {
	type wave struct {
		jobs int
		at   time.Duration
	}
	got := map[string]wave{}
	tr := scenario(t, "third", sim.Setting{Seed: 1})
	for _, j := range tr.Jobs {
		if j.Run < time.Hour || j.Run > 4*time.Hour || j.GPUMilli != 1000 {
			t.Fatalf("%+v", j)
		}
		got[j.User] = wave{got[j.User].jobs + 1, j.Submit}
	}
	if want := map[string]wave{"a": {600, 0}, "b": {100, 6 * time.Hour}, "c": {100, 18 * time.Hour}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if s := scenario(t, "shares", sim.Setting{Seed: 1}).Shares; s.Users["b"] != 3*s.Users["a"] {
		t.Errorf("shares of %v", s.Users)
	}
	if flood := scenario(t, "flood", sim.Setting{Seed: 1}); !reflect.DeepEqual(flood, scenario(t, "sweep", sim.Setting{Seed: 1})) {
		t.Error("the sweep is not the jobs of flood")
	}
}

// People request several times the time that they need. One in ten requests a hundred times that
// time or more. Public logs with requested times show the same.
func TestCluster(t *testing.T) {
	tr := scenario(t, "cluster", sim.Setting{Seed: 1})
	var over []float64
	users := map[string]bool{}
	for _, j := range tr.Jobs {
		over = append(over, j.Limit.Seconds()/j.Run.Seconds())
		users[j.User] = true
	}
	slices.Sort(over)
	n := len(over)
	if median, p90 := over[n/2], over[n*9/10]; median < 4 || median > 8 || p90 < 90 || p90 > 300 {
		t.Errorf("limits are %.1f times the run time, p90 %.1f", median, p90)
	}
	if n < 10000 || len(users) < 60 {
		t.Errorf("%d jobs of %d users", n, len(users))
	}
}
