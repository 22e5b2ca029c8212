package sim

import (
	"fmt"
	"time"
)

// A Pack lets jobs arrive in a random order until they request Arrived times as many GPUs as the
// machine has. No job ends. So the result shows how much of the machine can be allocated, and
// thereby how well parts of GPUs are packed.
type Pack struct {
	Options
	Arrived float64
}

// Packed is the result of a Pack.
type Packed struct {
	Jobs      int     `json:"jobs"`
	Started   int     `json:"started"`
	Arrived   float64 `json:"arrived"`   // GPUs that were requested, relative to the machine
	Allocated float64 `json:"allocated"` // GPUs that were allocated, relative to the machine
	Hash      string  `json:"hash"`
}

func (p Pack) Run(t Trace) (*Packed, error) {
	jobs, asked := p.drawArrivals(t.Jobs)
	e := newEngine(Trace{Begin: t.Begin, Jobs: jobs}, p.Options)
	if err := e.begin(); err != nil {
		return nil, err
	}
	out := &Packed{Jobs: len(jobs), Arrived: float64(asked) / float64(p.GPUs*1000)}
	for e.arrived < len(e.jobs) {
		at, _ := e.next()
		if err := e.runInstant(at); err != nil {
			return nil, fmt.Errorf("after %d jobs: %w", e.arrived, err)
		}
	}
	out.Started = len(e.machine.units)
	out.Allocated, out.Hash = float64(e.machine.milli)/float64(p.GPUs*1000), e.ledger.hash()
	return out, nil
}

// arrivalInterval is the time between the arrivals of two jobs. In that time a sample sees what the
// earlier job uses.
const arrivalInterval = 5 * time.Minute

// drawArrivals draws the jobs and their order. No job ends.
func (p Pack) drawArrivals(jobs []Job) ([]Job, int) {
	var list []Job
	asked := 0
	for _, at := range random(p.Seed, streamPods).Perm(len(jobs)) {
		if float64(asked) >= p.Arrived*float64(p.GPUs*1000) {
			break
		}
		j := jobs[at]
		if j.GPUMilli > p.GPUs*1000 {
			continue
		}
		asked += j.GPUMilli
		j.Submit, j.Run, j.Limit = time.Duration(len(list))*arrivalInterval, 10*365*day, 0
		list = append(list, j)
	}
	return list, asked
}
