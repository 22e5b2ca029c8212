package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// refPlace contains the values that decide a job's place after priority and guard. They come from
// the job itself, or from another job of its batch.
type refPlace struct {
	score float64
	since Instant
	lead  job.ID
}

// comparePlaces orders places by score, then by the beginning of the wait and the id.
func comparePlaces(a, b refPlace) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.since, b.since), cmp.Compare(a.lead, b.lead))
}

// refExtent is a job's size in its batch.
type refExtent struct {
	area   int
	length int // in seconds
}

// refExtentOf rounds the run time up to the next number that is at most eight times a power of two.
func refExtentOf(w *Waiting) refExtent {
	seconds := int((max(w.Expected, time.Second) + time.Second - 1) / time.Second)
	for step := 1; ; step *= 2 {
		if n := (seconds + step - 1) / step; n <= 8 {
			return refExtent{n * step * w.Request.GPUMilli, n * step}
		}
	}
}

// isLarger reports whether o goes before j because both are in one batch and o is larger.
func isLarger(o, j refJob) bool {
	sameBatch := o.Batch != "" && o.Batch == j.Batch && o.Account == j.Account && o.Request.Priority == j.Request.Priority
	a, b := refExtentOf(o.Waiting), refExtentOf(j.Waiting)
	return sameBatch && !o.Owed && !j.Owed && !o.guarded && !j.guarded && (a.area > b.area || a.area == b.area && a.length > b.length)
}

// standBehind applies rule "Batches": no job goes before a larger job of its batch.
func (r *reference) standBehind() {
	places := make([]refPlace, len(r.jobs))
	for i, j := range r.jobs {
		places[i] = j.place
		for _, o := range r.jobs {
			if isLarger(o, j) && comparePlaces(o.place, places[i]) > 0 {
				places[i] = o.place
			}
		}
	}
	for i := range r.jobs {
		r.jobs[i].place = places[i]
	}
}

// compareInBatch orders jobs of a batch whose places are equal.
func compareInBatch(a, b refJob) int {
	x, y := refExtentOf(a.Waiting), refExtentOf(b.Waiting)
	return cmp.Or(cmp.Compare(y.area, x.area), cmp.Compare(y.length, x.length), cmp.Compare(a.since, b.since), cmp.Compare(a.ID, b.ID))
}

// scoreThen returns the score that a job will have at the given moment. It is at most the score of
// each larger job of the same batch.
func (r *reference) scoreThen(j refJob, at Instant) float64 {
	score := func(j refJob) float64 {
		return 1 + r.factor(j.Account)*float64(max(0, at-j.since))*(1/float64(refMeasure(j.Waiting)))
	}
	list := []float64{score(j)}
	for _, o := range r.jobs {
		if isLarger(o, j) {
			list = append(list, score(o))
		}
	}
	return slices.Min(list)
}
