package daemon

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// keep stores decisions about a running job in a file that survives the loss of the state file.
// Without that file, a recovered job would have only what its unit shows.
func (x *executor) keep(a core.Keep) {
	data, err := json.Marshal(a.What)
	if err == nil {
		err = x.opt.Specs.Keep(a.Job, a.Attempt, data)
	}
	if err != nil {
		x.log.Warn("storing a decision about a running job beside the state file", "job", a.Job, "err", err)
	}
}

// applyKept applies to a recovered job the decisions that were made after the job's unit was made.
func (x *executor) applyKept(j *job.Job) {
	data, err := x.opt.Specs.Kept(j.ID, j.Attempt.Number)
	if err == nil && data == nil {
		return
	}
	var k job.Kept
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil {
		x.log.Warn("reading the decisions about a job: its original time limit applies again", "job", j.ID, "err", err)
		return
	}
	j.Request.TimeLimit, j.MovedMemory = k.TimeLimit, k.MovedMemory
	j.Suspension, j.Parking = k.Suspension, k.Parking
	if len(k.GPUs) == len(j.Attempt.GPUs) { // it may have moved
		for i := range k.GPUs {
			j.Attempt.GPUs[i].GPU = k.GPUs[i]
		}
	}
	if k.MemMoved { // the unit may have the limit from before or after the change, or that of a parked job
		j.Request.MemBytes = cmp.Or(k.MemBytes, j.Request.MemBytes)
	}
}

// knowsLater reports whether decisions about a job are stored beside the state file that are later than
// the job's record.
func (x *executor) knowsLater(j *job.Job) bool {
	now, a := *j, *j.Attempt
	a.GPUs = slices.Clone(a.GPUs)
	now.Attempt = &a
	x.applyKept(&now)
	return now.IsAfter(j)
}

// sweepKept removes the stored decisions about jobs that have no unit any more. It does this once.
func (l *unitReconciler) sweepKept(all []units.Status) {
	if l.swept {
		return
	}
	l.swept = true
	there := map[job.ID]bool{}
	for _, st := range all {
		id, _ := units.ParseName(st.Name)
		there[job.ID(id)] = true
	}
	if err := l.d.opt.Specs.SweepKept(func(id job.ID, _ int) bool { return there[id] }); err != nil {
		l.d.log.Warn("removing the stored decisions about ended jobs", "err", err)
	}
}
