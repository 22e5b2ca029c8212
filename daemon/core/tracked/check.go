package tracked

import (
	"maps"

	"github.com/gpusched/gpusched/daemon/job"
)

// Breach reports that an invariant of package core is violated. The argument invariant is its
// number.
type Breach func(invariant int, format string, args ...any)

// CheckCounts recounts the queued jobs, and the total weight of each person's jobs.
func (b *Book) CheckCounts(breach Breach) {
	queued, bytes, perUser, perClass := 0, map[int]int64{}, map[int]int{}, map[job.Class]int{}
	for _, l := range b.All() {
		j := l.Job
		bytes[j.Person().UID] += j.Weight()
		if j.State == job.Queued {
			queued++
			perUser[j.Person().UID]++
			perClass[j.Request.Priority.Class]++
		}
	}
	if !maps.Equal(perClass, b.perClass) {
		breach(11, "%v jobs are counted as queued in each class, and %v are", b.perClass, perClass)
	}
	if queued != b.queued || !maps.Equal(perUser, b.perUser) {
		breach(11, "%d jobs are counted as queued, by user %v, and %d are, %v", b.queued, b.perUser, queued, perUser)
	}
	if !maps.Equal(bytes, b.bytes) {
		breach(11, "the jobs of each person weigh %v, counted are %v", bytes, b.bytes)
	}
}

// CheckLanes recounts the jobs in each lane, and checks that no job is in another lane.
func (b *Book) CheckLanes(breach Breach) {
	jobs, running := map[laneKey]int{}, map[laneKey]int{}
	for _, l := range b.All() {
		t := l.Throttle
		for _, p := range b.Lanes.of(l) {
			in := b.Lanes.inUse[p.laneKey]
			if t == nil || in == nil || t.Lane != &in.Lane || t.Limit != p.limit {
				breach(11, "job %d is not in lane %+v with limit %d", l.ID, p.laneKey, p.limit)
				return
			}
			t = t.Next
			if jobs[p.laneKey]++; l.State.Live() {
				running[p.laneKey]++
			}
		}
		if t != nil {
			breach(11, "job %d is in a further lane of limit %d", l.ID, t.Limit)
		}
	}
	for k, in := range b.Lanes.inUse {
		if in.jobs != jobs[k] || in.Running != running[k] || in.jobs == 0 {
			breach(11, "lane %+v counts %d jobs, %d running, and has %d and %d", k, in.jobs, in.Running, jobs[k], running[k])
		}
	}
}

// CheckPlaces verifies that each list of jobs contains exactly the right jobs.
func (b *Book) CheckPlaces(breach Breach) {
	timed, active := 0, 0
	for id, l := range b.All() {
		j := l.Job
		if at, yes := b.timed.index[id]; yes {
			timed++
			if when := b.timed.heap[at]; when.ID != id || !when.At.Equal(NotBefore(j)) {
				breach(11, "job %d waits for %v, and its timer is that of job %d at %v", id, NotBefore(j), when.ID, when.At)
			}
		}
		if j.State.Live() != (b.placed[id] == l) {
			breach(11, "job %d is %s, and among those with a unit: %t", id, j.State, b.placed[id] != nil)
		}
		if j.State.Live() {
			active++
		}
	}
	if timed != len(b.timed.index) || timed != len(b.timed.heap) || active != len(b.placed) || active != len(b.live) {
		breach(11, "of the timers, %d and %d, %d are of jobs that are known, of the %d jobs with a unit %d",
			len(b.timed.heap), len(b.timed.index), timed, len(b.placed), active)
	}
}

// CheckHeld verifies that jobs hold what they asked for, that parked jobs hold nothing, and that no
// part of a GPU is assigned twice.
func (b *Book) CheckHeld(breach Breach) {
	shares := map[string]int{}
	for l := range b.Live() {
		j, sum := l.Job, 0
		if j.Attempt == nil {
			continue // checkJob reports this case
		}
		for _, r := range j.HeldGPUs() {
			sum += r.Share()
			if shares[r.UUID] += r.Share(); shares[r.UUID] > job.WholeGPU {
				breach(2, "GPU %s is given out to %d milli, with job %d", r.UUID, shares[r.UUID], l.ID)
			}
		}
		if sum != l.HeldMilli() || len(j.Attempt.GPUs) != j.Request.Devices() {
			breach(2, "job %d holds %d milli of %d GPUs, not %d", l.ID, sum, len(j.Attempt.GPUs), l.HeldMilli())
		}
	}
}
