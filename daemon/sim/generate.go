package sim

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Generate makes up a trace of n jobs of a small laboratory. A few people submit most of the jobs,
// more by day than at night and on weekends. People repeat the same kinds of jobs. Run times have a
// heavy tail.
func Generate(n, days int, seed uint64) Trace {
	rng := random(seed, streamGenerate)
	people := newPeople(12, rng)
	jobs := make([]Job, n)
	for i := range jobs {
		p := &people[drawIndex(len(people), 1.1, rng)]
		jobs[i] = p.submit(rng)
		jobs[i].Submit = instantOf(days, rng)
	}
	return newTrace(generatedBegin(), jobs)
}

// generatedBegin returns the first day of generated traces, a Monday.
func generatedBegin() time.Time { return time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) }

// A person submits a few kinds of jobs.
type person struct {
	name   string
	habits []habit
	margin float64 // requested time limit divided by the usual run time; 0: no limit
}

// A habit is one kind of job, with its size and a lognormal run time.
type habit struct {
	kind          string
	milli         int
	mem           int64
	median, sigma float64
}

// sizes are the numbers of GPUs from which a job's number is drawn. Most jobs ask for one GPU.
var sizes = [...]int{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 8}

func newPeople(n int, rng *rand.Rand) []person {
	people := make([]person, n)
	for i := range people {
		p := &people[i]
		p.name = fmt.Sprintf("user%02d", i+1)
		if rng.Float64() < 0.7 {
			p.margin = 2 + 8*rng.Float64()
		}
		for k := range 2 + rng.IntN(4) {
			p.habits = append(p.habits, habit{
				kind: fmt.Sprintf("%s-%d", p.name, k+1), milli: 1000 * sizes[rng.IntN(len(sizes))],
				mem:    int64(8+8*rng.IntN(8)) << 30,
				median: math.Exp(math.Log(600) + 1.6*rng.NormFloat64()), sigma: 0.2 + 0.6*rng.Float64(),
			})
		}
	}
	return people
}

// drawIndex draws an index below n. Small indexes are the most frequent (Zipf).
func drawIndex(n int, exponent float64, rng *rand.Rand) int {
	total := 0.0
	for i := range n {
		total += math.Pow(float64(i+1), -exponent)
	}
	x := rng.Float64() * total
	for i := range n {
		if x -= math.Pow(float64(i+1), -exponent); x < 0 {
			return i
		}
	}
	return n - 1
}

func (p *person) submit(rng *rand.Rand) Job {
	h := p.habits[drawIndex(len(p.habits), 0.8, rng)]
	run := h.median * math.Exp(h.sigma*rng.NormFloat64())
	if rng.Float64() < 0.15 { // the job fails at once
		run = 5 + 60*rng.Float64()
	}
	j := Job{
		Run: time.Duration(min(max(run, 5), day.Seconds())) * time.Second, GPUMilli: h.milli,
		GPUMemBytes: h.mem, User: p.name, Kind: h.kind,
	}
	if p.margin > 0 {
		j.Limit = max(time.Duration(p.margin*h.median)*time.Second, j.Run).Truncate(time.Minute) + time.Minute
	}
	return j
}

// busyness is the relative number of jobs in each hour of a working day.
var busyness = [24]float64{2, 1, 1, 1, 1, 1, 1, 2, 4, 8, 10, 10, 8, 8, 10, 10, 10, 9, 8, 6, 5, 4, 3, 3}

// instantOf draws an instant in the given number of days, the first of which is a Monday.
func instantOf(days int, rng *rand.Rand) time.Duration {
	for {
		at := time.Duration(rng.Int64N(int64(days) * int64(day/time.Second)))
		weight := busyness[at/3600%24] / 10
		if weekday := at / 86400 % 7; weekday >= 5 {
			weight /= 3
		}
		if rng.Float64() < weight {
			return at * time.Second
		}
	}
}

// Write writes the trace in gpusched's own format. The column submit has seconds from the midnight
// before the first job.
func (t Trace) Write(w io.Writer) error {
	out := bufio.NewWriter(w) // errors are checked at the end: the writer keeps its first error
	fmt.Fprintln(out, "submit,duration,gpus,user,limit,gpu_mem,kind")
	for _, j := range t.Jobs {
		mem := ""
		if j.GPUMemBytes > 0 {
			mem = job.FormatSize(j.GPUMemBytes)
		}
		fmt.Fprintf(out, "%d,%d,%s,%s,%d,%s,%s\n", int(j.Submit.Seconds()), int(j.Run.Seconds()),
			job.FormatGPUs(j.GPUMilli), j.User, int(j.Limit.Seconds()), mem, j.Kind)
	}
	return out.Flush()
}
