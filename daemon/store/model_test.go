package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// model is the expected content of the store, in plain maps.
type model struct {
	next     job.ID
	jobs     map[job.ID]job.Job
	payloads map[job.ID]job.Payload
	attempts map[job.ID][]job.Attempt
	gpus     map[string]job.GPUControl
	usage    map[string]job.Usage
	reserved map[int64]job.Reservation
	nextRes  int64
}

func newModel() *model {
	return &model{1, map[job.ID]job.Job{}, map[job.ID]job.Payload{}, map[job.ID][]job.Attempt{}, map[string]job.GPUControl{}, map[string]job.Usage{}, map[int64]job.Reservation{}, 1}
}

func (m *model) apply(r job.Record) {
	if j := r.Job; j != nil {
		m.next = max(m.next, j.ID+1)
		m.jobs[j.ID] = *j
		if a := j.Attempt; a != nil {
			list := m.attempts[j.ID]
			if a.Number > len(list) {
				list = append(list, job.Attempt{})
			}
			list[a.Number-1] = *a
			m.attempts[j.ID] = list
		}
	}
	if r.Payload != nil {
		m.payloads[r.Job.ID] = *r.Payload
	}
	if r.Job != nil && r.Job.State.Terminal() {
		y := m.payloads[r.Job.ID]
		y.Env, y.Limits = nil, nil
		m.payloads[r.Job.ID] = y
	}
	if r.GPU != nil {
		m.gpus[r.GPU.UUID] = *r.GPU
	}
	if r.Usage != nil {
		m.usage[r.Usage.Account] = *r.Usage
	}
	if r.Reservation != nil {
		m.reserved[r.Reservation.ID] = *r.Reservation
		m.nextRes = max(m.nextRes, r.Reservation.ID+1)
	}
	delete(m.reserved, r.Unreserve)
}

// submit draws a new job.
func (m *model) submit(t *rapid.T) job.Record {
	j := queuedJob(m.next + job.ID(rapid.IntRange(0, 2).Draw(t, "gap")))
	j.Owner.UID = rapid.IntRange(1001, 1003).Draw(t, "uid")
	j.Owner.User = rapid.SampledFrom([]string{"kate", "liam", strconv.Itoa(j.Owner.UID)}).Draw(t, "user")
	j.Label.Name = rapid.SampledFrom([]string{"train", "eval", "größe"}).Draw(t, "name")
	j.SubmittedAt = epoch.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "submitted")))
	j.ChangedAt = j.SubmittedAt
	if rapid.Bool().Draw(t, "keyed") {
		j.Key = fmt.Sprintf("key-%d", j.ID)
	}
	p := payload()
	p.Argv = append(p.Argv, string(rapid.SliceOf(rapid.ByteRange(1, 255)).Draw(t, "arg")))
	return job.Record{Job: j, Payload: p}
}

// advance draws the next state of a job that has not ended.
func (m *model) advance(t *rapid.T, old job.Job) job.Record {
	j := old
	j.ChangedAt = j.ChangedAt.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "later")))
	j.Owner.User = rapid.SampledFrom([]string{j.Owner.User, "mia"}).Draw(t, "called by now")
	var next []job.State
	for _, s := range job.States() {
		if old.State.Next(s) {
			next = append(next, s)
		}
	}
	j.State = rapid.SampledFrom(next).Draw(t, "state")
	if j.State == job.Starting {
		j.Attempt = &job.Attempt{Number: len(m.attempts[j.ID]) + 1, GPUs: []job.Allocation{{GPU: contract.GPU{UUID: "GPU-1", Index: 1}}}, PlacedAt: j.ChangedAt}
	}
	if j.Attempt != nil {
		a := *j.Attempt
		a.PeakMemBytes += rapid.Int64Range(0, 1<<40).Draw(t, "peak")
		if !j.State.Live() && a.EndedAt.IsZero() {
			a.EndedAt = j.ChangedAt
		}
		j.Attempt = &a
	}
	if j.State.Terminal() {
		j.Result = &job.Result{Outcome: j.State, ExitCode: rapid.IntRange(0, 255).Draw(t, "code")}
	}
	return job.Record{Job: &j}
}

// liveJobs returns the jobs that have not ended, by id.
func (m *model) liveJobs() []job.Job {
	list := []job.Job{}
	for _, j := range m.jobs {
		if j.Result == nil {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b job.Job) int { return int(a.ID - b.ID) })
	return list
}

// endedJobs returns the ended jobs that match a query.
func (m *model) endedJobs(q job.Query) []job.Job {
	list := []job.Job{}
	for _, j := range m.jobs {
		if j.Result != nil && q.Matches(&j) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b job.Job) int {
		if c := b.ChangedAt.Compare(a.ChangedAt); c != 0 {
			return c
		}
		return int(b.ID - a.ID)
	})
	if q.Ended > 0 && len(list) > q.Ended {
		list = list[:q.Ended]
	}
	return list
}

// draw draws one record that is valid in the model, and applies it to the model.
func (m *model) draw(t *rapid.T) job.Record {
	var r job.Record
	live := m.liveJobs()
	switch n := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case n == 0:
		r.GPU = &job.GPUControl{UUID: rapid.SampledFrom([]string{"GPU-1", "GPU-2"}).Draw(t, "gpu"), Paused: rapid.Bool().Draw(t, "paused"), By: "root"}
		r.Usage = &job.Usage{Account: r.GPU.UUID, Micro: rapid.Int64().Draw(t, "micro"), At: epoch}
		r.Usage.Counts = job.UsageCounts{Capped: []time.Duration{time.Duration(rapid.Int64().Draw(t, "capped"))}, Sizes: 1}
		r.Unreserve = rapid.Int64Range(0, m.nextRes).Draw(t, "unreserve")
		if r.Unreserve == 0 {
			r.Reservation = &job.Reservation{ID: rapid.Int64Range(1, m.nextRes+1).Draw(t, "reservation"), To: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}
		}
	case n < 4 || len(live) == 0:
		r = m.submit(t)
	default:
		r = m.advance(t, live[rapid.IntRange(0, len(live)-1).Draw(t, "job")])
	}
	m.apply(r)
	return r
}

// compare checks that the store's answers to all queries equal the model's.
func (m *model) compare(t *rapid.T, s *Store) {
	ctx := context.Background()
	st, err := s.Load(ctx)
	requireEqual(t, err, st.Jobs, m.liveJobs())
	requireEqual(t, nil, st.NextID, m.next)
	for _, g := range st.GPUs {
		requireEqual(t, nil, g, m.gpus[g.UUID])
	}
	requireEqual(t, nil, len(st.GPUs), len(m.gpus))
	for _, u := range st.Usage {
		requireEqual(t, nil, u, m.usage[u.Account])
	}
	requireEqual(t, nil, len(st.Usage), len(m.usage))
	for _, r := range st.Reservations {
		requireEqual(t, nil, r, m.reserved[r.ID])
	}
	requireEqual(t, nil, len(st.Reservations), len(m.reserved))
	requireEqual(t, nil, st.NextReservation, m.nextRes)
	for id, want := range m.jobs {
		j, err := s.Job(ctx, id)
		requireEqual(t, err, j, want)
		p, err := s.Payload(ctx, id)
		requireEqual(t, err, p, m.payloads[id])
		a, err := s.Attempts(ctx, id)
		requireEqual(t, err, a, m.attempts[id])
		byKey, found, err := s.ByKey(ctx, want.Owner.UID, want.Key)
		requireEqual(t, err, found, want.Key != "")
		if found {
			requireEqual(t, nil, byKey, id)
		}
	}
	uid := rapid.IntRange(1001, 1004).Draw(t, "filter uid")
	for _, f := range []job.Query{{}, {Ended: 3}, {UID: &uid}, {UID: &uid, Ended: 2}, {User: "kate"}, {UID: &uid, User: "kate"},
		{UID: &uid, User: strconv.Itoa(uid)}, {Choice: job.Choice{States: []job.State{job.Cancelled, job.Failed}}},
		{UID: &uid, Choice: job.Choice{Name: "größe", States: []job.State{job.Completed}}}, {Choice: job.Choice{Like: "*r?ß*"}},
		{Choice: job.Choice{Tags: map[string]string{"k": "v"}}}, {Choice: job.Choice{Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}} {
		list, err := s.Ended(ctx, f)
		requireEqual(t, err, list, m.endedJobs(f))
	}
	if err := s.Check(ctx); err != nil {
		t.Fatal(err)
	}
}

// Records are committed in groups, with restarts between them. The store always answers as plain
// maps would.
func TestStoreIsItsModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", runs))
		m := newModel()
		s, err := Open(context.Background(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		for range rapid.IntRange(1, 6).Draw(t, "commits") {
			group := make([]job.Record, rapid.IntRange(1, 8).Draw(t, "records"))
			for i := range group {
				group[i] = m.draw(t)
			}
			if err := s.Commit(context.Background(), group); err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				again, err := Open(context.Background(), path, Options{})
				if err != nil {
					t.Fatal(err)
				}
				s = again
			}
		}
		m.compare(t, s)
	})
}
