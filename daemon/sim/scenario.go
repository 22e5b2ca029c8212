package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A Scenario is a named, made-up workload. Each tests one aspect of a scheduler: a user who floods
// the queue, jobs of similar length, unpredictable run times, days and nights.
type Scenario struct {
	Name string
	What string // one line for lists of scenarios
	GPUs int    // number of GPUs of the intended machine
	Days int    // number of days in which jobs are submitted; 0: the scenario has fixed times
	Load float64
	draw func(Setting, *rand.Rand) []Job

	shares Shares
}

// A Setting has the machine and the seed for a scenario. A zero value means the scenario's own
// value.
type Setting struct {
	GPUs int
	Days int
	Load float64 // submitted work, divided by the work that the GPUs can do in these days
	Seed uint64
}

// scenarioUsers is the number of users in most scenarios.
const scenarioUsers = 6

// Scenarios returns all scenarios.
func Scenarios() []Scenario {
	return append(fairShares(), []Scenario{
		{Name: "bimodal", What: "5 min or 10 h on 1, 2 or 4 GPUs, unpredictably", GPUs: 8, Days: 15, Load: 1.1,
			draw: stream(scenarioUsers-1, bimodal)},
		{Name: "uniform", What: "10 min to 12 h, uniformly distributed", GPUs: 8, Days: 21, Load: 0.9,
			draw: stream(scenarioUsers, uniform)},
		{Name: "lognormal", What: "a heavy tail: half of the jobs under 30 min, one in fifty over 16 h", GPUs: 8, Days: 21,
			Load: 0.9, draw: stream(scenarioUsers, lognormal)},
		{Name: "wide", What: "jobs on half or all of the GPUs", GPUs: 8, Days: 21, Load: 0.8,
			draw: stream(scenarioUsers, wide)},
		{Name: "narrow", What: "jobs on one GPU", GPUs: 8, Days: 21, Load: 0.9, draw: stream(scenarioUsers, narrow)},
		{Name: "mixed", What: "wide jobs and narrow ones, long and short", GPUs: 8, Days: 21, Load: 0.9,
			draw: stream(scenarioUsers, mixed)},
		{Name: "diurnal", What: "a heavy tail, submitted by day and on weekdays; queues drain at night", GPUs: 8, Days: 21,
			Load: 0.8, draw: drawDiurnal},
		{Name: "steps", What: "training on one GPU for 6 h or on four GPUs for 1 or 2 days, and few short jobs", GPUs: 24,
			Days: 60, Load: 0.95, draw: stream(scenarioUsers, drawStepped)},
		{Name: "cluster", What: "about sixty users who submit in batches, with time limits far above the run times", GPUs: 256,
			Days: 80, Load: 0.9, draw: drawCluster},
	}...)
}

// FindScenario returns the scenario with this name.
func FindScenario(name string) (Scenario, error) {
	all := Scenarios()
	at := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if at < 0 {
		names := job.Each(all, func(s Scenario) string { return s.Name })
		return Scenario{}, fmt.Errorf("there is no scenario %q: choose among %s", name, strings.Join(names, ", "))
	}
	return all[at], nil
}

// Make draws the scenario's jobs. The same setting gives the same jobs.
func (s Scenario) Make(t Setting) Trace {
	if t.GPUs == 0 {
		t.GPUs = s.GPUs
	}
	if t.Days == 0 {
		t.Days = s.Days
	}
	if t.Load == 0 {
		t.Load = s.Load
	}
	trace := newTrace(generatedBegin(), s.draw(t, random(t.Seed, streamScenario)))
	trace.Shares = s.shares
	return trace
}

// drawTime draws a time from low to high, uniformly, in whole seconds.
func drawTime(low, high time.Duration, rng *rand.Rand) time.Duration {
	return low + time.Duration(rng.Int64N(int64((high-low)/time.Second)+1))*time.Second
}

// drawTailed draws a lognormal run time in whole seconds that does not exceed the argument high.
func drawTailed(median time.Duration, sigma float64, high time.Duration, rng *rand.Rand) time.Duration {
	run := time.Duration(float64(median) * math.Exp(sigma*rng.NormFloat64()))
	return min(max(run, 10*time.Second), high).Truncate(time.Second)
}

// stream returns a function that draws jobs of equally busy users until their work reaches the
// load. Submission times are uniform, as in a Poisson process with a known number of events.
func stream(users int, draw func(gpus int, rng *rand.Rand) Job) func(Setting, *rand.Rand) []Job {
	return func(s Setting, rng *rand.Rand) []Job {
		var jobs []Job
		for work := int64(0); work < s.work(); {
			j := draw(s.GPUs, rng)
			j.User = fmt.Sprintf("user%d", 1+rng.IntN(users))
			if j.Kind != "" {
				j.Kind = j.User + "-" + j.Kind
			}
			j.Submit = drawTime(0, time.Duration(s.Days)*day-time.Second, rng)
			work += j.work()
			jobs = append(jobs, j)
		}
		return jobs
	}
}

// work returns the GPU time that the submitted jobs need together, in milli-GPU microseconds.
func (s Setting) work() int64 {
	return int64(s.Load * float64(s.GPUs) * 1000 * float64(s.Days) * float64(day.Microseconds()))
}

func bimodal(gpus int, rng *rand.Rand) Job {
	run := 5 * time.Minute
	if rng.IntN(2) == 1 {
		run = 10 * time.Hour
	}
	return Job{Run: run, GPUMilli: 1000 * min(gpus, 1<<rng.IntN(3)), Kind: "train"}
}

func uniform(gpus int, rng *rand.Rand) Job {
	return Job{Run: drawTime(10*time.Minute, 12*time.Hour, rng), GPUMilli: 1000 * min(gpus, sizes[rng.IntN(len(sizes))])}
}

func lognormal(gpus int, rng *rand.Rand) Job {
	return Job{Run: drawTailed(30*time.Minute, 1.7, day, rng), GPUMilli: 1000 * min(gpus, sizes[rng.IntN(len(sizes))])}
}

func wide(gpus int, rng *rand.Rand) Job {
	return Job{Run: drawTailed(time.Hour, 1.2, day, rng), GPUMilli: 1000 * max(1, gpus>>rng.IntN(2)), Kind: "wide"}
}

func narrow(_ int, rng *rand.Rand) Job {
	return Job{Run: drawTailed(2*time.Hour, 1.2, day, rng), GPUMilli: 1000, Kind: "narrow"}
}

func mixed(gpus int, rng *rand.Rand) Job {
	j := narrow(gpus, rng)
	if rng.IntN(8) == 0 {
		j = wide(gpus, rng)
	}
	if rng.IntN(2) == 0 {
		j.Run, j.Kind = max(j.Run/20, time.Minute).Truncate(time.Second), j.Kind+"-test"
	}
	return j
}

// drawStepped draws a job with a run time around one of a few lengths. Most jobs are long and
// alike, and some end early. This resembles a published part of a cluster's training jobs.
func drawStepped(gpus int, rng *rand.Rand) Job {
	j := Job{GPUMilli: 1000, Run: 6 * time.Hour, Kind: "small"}
	if rng.IntN(5) < 2 {
		j = Job{GPUMilli: 1000 * min(gpus, 4), Run: time.Duration(24*(1+rng.IntN(2))) * time.Hour, Kind: "large"}
	}
	if rng.IntN(4) == 0 {
		j.Run = drawTailed(90*time.Minute, 0.8, j.Run, rng)
	}
	j.Run = time.Duration(float64(j.Run) * (0.9 + 0.2*rng.Float64())).Truncate(time.Second)
	return j
}

// drawDiurnal draws jobs of people with habits, as Generate does, until their work reaches the
// load.
func drawDiurnal(s Setting, rng *rand.Rand) []Job {
	people := newPeople(scenarioUsers, rng)
	var jobs []Job
	for work := int64(0); work < s.work(); {
		j := people[drawIndex(len(people), 0.5, rng)].submit(rng)
		j.GPUMilli, j.GPUMemBytes = min(j.GPUMilli, s.GPUs*1000), 0
		j.Submit = instantOf(s.Days, rng)
		work += j.work()
		jobs = append(jobs, j)
	}
	return jobs
}

// clusterUsers is the number of users in scenario cluster. A few of them submit most jobs.
const clusterUsers = 63

// drawCluster draws jobs with a requested time. Their number of processors is a power of two, as in
// logs of large machines. People submit dozens of similar jobs at once. Most jobs end within
// minutes, whatever time they requested.
func drawCluster(s Setting, rng *rand.Rand) []Job {
	medians := make([]time.Duration, clusterUsers)
	for i := range medians {
		medians[i] = drawTailed(4*time.Hour, 1, day, rng)
	}
	var jobs []Job
	for work := int64(0); work < s.work(); {
		user := drawIndex(clusterUsers, 0.8, rng)
		milli := 1000 * min(s.GPUs, 1<<min(rng.IntN(8), rng.IntN(8)))
		at := drawTime(0, time.Duration(s.Days)*day-time.Second, rng)
		for n := 1 + rng.IntN(40); n > 0 && work < s.work(); n-- {
			j := Job{
				User: fmt.Sprintf("user%02d", user+1), GPUMilli: milli, Submit: at,
				Run: drawTailed(medians[user], 0.8, 36*time.Hour, rng),
			}
			if rng.IntN(5) < 3 {
				j.Run = drawTailed(2*time.Minute, 1.2, j.Run, rng)
			}
			j.Limit = userLimit(j.Run, rng)
			work += j.work()
			jobs = append(jobs, j)
		}
	}
	return jobs
}
