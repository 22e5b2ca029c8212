package dst

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
)

// disk is a store that keeps the contract of package store: a Commit is on disk whole or not at
// all. After an error nobody knows which of the two is true.
type disk struct {
	daemon.Store // nil: nothing in this world calls the methods that disk does not define

	w     *World
	file  *file        // a real state file that gets the same commits; nil: none
	under []job.Record // the commit under way
	doubt []job.Record // last commit, if nobody knows whether it is on disk
	there bool         // doubt really is on disk

	jobs     map[job.ID]job.Job
	attempts map[job.ID][]job.Attempt
	payloads map[job.ID]job.Payload
	keys     map[requestKey]job.ID
	controls map[string]job.GPUControl
	usage    map[string]job.Usage
	learned  map[string]job.Prediction
	reserved map[int64]job.Reservation
	messages map[messageKey]job.Notification
	nextJob  job.ID
	nextRes  int64
	events   int64
	alive    time.Time
}

// messageKey identifies a message about a job.
type messageKey struct {
	job   job.ID
	event job.NotifyEvent
	which int
}

type requestKey struct {
	uid int
	key string
}

func newDisk(w *World) *disk {
	return &disk{
		w: w, jobs: map[job.ID]job.Job{}, attempts: map[job.ID][]job.Attempt{}, payloads: map[job.ID]job.Payload{},
		keys:     map[requestKey]job.ID{},
		controls: map[string]job.GPUControl{}, usage: map[string]job.Usage{}, learned: map[string]job.Prediction{},
		reserved: map[int64]job.Reservation{}, messages: map[messageKey]job.Notification{},
		nextJob: 1,
	}
}

var (
	errFull = errors.New("database or disk is full")
	errRead = errors.New("disk I/O error")
)

// Commit implements daemon.Store.
func (s *disk) Commit(ctx context.Context, records []job.Record) error {
	w, l := s.w, s.w.current.life
	w.mayDie(l)
	if err := ctx.Err(); err != nil {
		return err
	}
	d := w.roll("commit", uint64(w.Elapsed))
	took := d.shortTime(2 * time.Millisecond)
	if w.isOn(diskSlow) {
		w.count("slow disk")
		took = d.between(time.Second, 90*time.Second)
	}
	s.under = records
	_ = w.sleep(context.Background(), took)
	w.mayDie(l)
	s.under = nil
	switch {
	case w.isOn(diskFull) && d.chance(90):
		w.count("full disk")
		return errFull
	case w.isOn(diskUnsure) && d.chance(50):
		if w.planted.lyingDisk {
			return nil
		}
		w.count("failed fsync")
		if d.chance(50) {
			s.write(records)
			s.there = true
		}
		s.doubt = records
		return errRead
	}
	s.write(records)
	s.doubt, s.there = nil, false
	w.mayDie(l)
	return nil
}

// write makes records durable.
func (s *disk) write(records []job.Record) {
	if s.file != nil && s.file.store != nil {
		s.file.commit(records)
	}
	s.note(records)
}

func (s *disk) note(records []job.Record) {
	again := s.there && len(records) > 0 && len(s.doubt) > 0 && &records[0] == &s.doubt[0]
	for _, r := range records {
		if !again { // a repeated commit is on disk already, and nobody reads it while it is written again
			s.w.judgeRecord(&r)
		}
		s.put(&r)
		switch {
		case r.Job != nil:
			s.w.tracked.books.noteWritten(r.Job)
		case !r.Alive.IsZero():
			s.w.tracked.books.alive = s.w.Elapsed - s.w.wall().Sub(r.Alive)
		}
	}
}

func (s *disk) put(r *job.Record) {
	switch {
	case r.Job != nil:
		s.putJob(r)
	case r.GPU != nil:
		s.controls[r.GPU.UUID] = asWritten(*r.GPU)
	case r.Usage != nil:
		s.usage[r.Usage.Account] = asWritten(*r.Usage)
	case r.Prediction != nil:
		s.learned[r.Prediction.Key] = asWritten(*r.Prediction)
	case r.Reservation != nil:
		s.reserved[r.Reservation.ID] = asWritten(*r.Reservation)
		s.nextRes = max(s.nextRes, r.Reservation.ID+1)
	case r.Notification != nil:
		n := asWritten(*r.Notification)
		s.messages[messageKey{n.Job, n.Event, n.Which}] = n
	case r.Unreserve != 0:
		delete(s.reserved, r.Unreserve)
	case !r.Alive.IsZero():
		s.alive = r.Alive.Round(0).Truncate(time.Microsecond).UTC()
	case r.Events != 0:
		s.events = max(s.events, r.Events)
	}
}

func (s *disk) putJob(r *job.Record) {
	j := asWritten(*r.Job)
	old, known := s.jobs[j.ID]
	if known {
		j.Key, j.Owner = old.Key, old.Owner
		j.Task, j.SubmittedAt = old.Task, old.SubmittedAt
	}
	if j.Tasks != nil {
		j.Tasks = new(asWritten(*j.Tasks))
	}
	if j.GPUError != nil {
		j.GPUError = new(asWritten(*j.GPUError))
	}
	if j.Attempt != nil {
		a := asWritten(*j.Attempt)
		j.Attempt = &a
		before := slices.Clone(s.attempts[j.ID])
		before = slices.DeleteFunc(before, func(o job.Attempt) bool { return o.Number == a.Number })
		s.attempts[j.ID] = append(before, a)
	}
	s.jobs[j.ID] = j
	s.nextJob = max(s.nextJob, j.ID+1)
	if r.Payload != nil {
		s.payloads[j.ID] = *r.Payload
	}
	if j.Key != "" {
		s.keys[requestKey{j.Owner.UID, j.Key}] = j.ID
	}
}

// asWritten returns a value as it is read back from disk: its times have no monotonic clock.
func asWritten[T any](v T) T {
	dropMonotonic(reflect.ValueOf(&v).Elem())
	return v
}

func dropMonotonic(v reflect.Value) {
	for _, field := range v.Fields() {
		if at, is := field.Addr().Interface().(*time.Time); is && !at.IsZero() {
			*at = at.Round(0).UTC()
		} else if !is && field.Kind() == reflect.Struct {
			dropMonotonic(field)
		}
	}
}

// restoredState returns the state that a core starts from.
func (s *disk) restoredState() job.Restored {
	r := job.Restored{NextID: s.nextJob, NextReservation: s.nextRes, Events: s.events, Alive: s.alive}
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		j := s.jobs[id]
		if !j.State.Terminal() {
			r.Jobs = append(r.Jobs, j)
		} else if j.State == job.Completed && j.Request.Dedup != "" {
			r.Done = append(r.Done, job.Done{UID: j.Owner.UID, Dedup: j.Request.Dedup, Job: id})
		}
	}
	for _, n := range s.messages {
		if n.Closed.IsZero() {
			r.Owed = append(r.Owed, n)
		}
	}
	slices.SortFunc(r.Owed, func(a, b job.Notification) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Which, b.Which))
	})
	r.GPUs = sorted(s.controls)
	r.Usage = sorted(s.usage)
	r.Predictions = sorted(s.learned)
	slices.SortStableFunc(r.Predictions, func(a, b job.Prediction) int { return a.At.Compare(b.At) })
	r.Reservations = sorted(s.reserved)
	return r
}

func sorted[K string | int64, V any](m map[K]V) (list []V) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[k])
	}
	return list
}

// open opens the state file for a starting daemon.
func (s *disk) open() (job.Restored, error) {
	s.doubt, s.there = nil, false // the process that would have repeated the commit is dead
	if s.w.isOn(diskFull) && s.w.roll("open", uint64(s.w.Elapsed)).chance(30) {
		return job.Restored{}, errFull
	}
	if s.file != nil {
		return s.file.open(s)
	}
	return s.restoredState(), nil
}

// read is the common part of all reads of the store. It may fail.
func (s *disk) read(ctx context.Context, what string) error {
	w, l := s.w, s.w.current.life
	w.mayDie(l)
	d := w.roll("read "+what, uint64(w.Elapsed))
	if err := w.sleep(ctx, d.shortTime(100*time.Microsecond)); err != nil {
		return err
	}
	w.mayDie(l)
	if w.isOn(diskReads) && d.chance(40) {
		w.count("failed read")
		return fmt.Errorf("%s: %w", what, errRead)
	}
	return nil
}

// Payload implements daemon.Store.
func (s *disk) Payload(ctx context.Context, id job.ID) (job.Payload, error) {
	if err := s.read(ctx, "payload"); err != nil {
		return job.Payload{}, err
	}
	p, ok := s.payloads[id]
	if !ok {
		return p, job.ErrNoPayload
	}
	return p, nil
}

// Jobs implements daemon.Store.
func (s *disk) Jobs(ctx context.Context, ids []job.ID) ([]job.Job, error) {
	if err := s.read(ctx, "jobs"); err != nil {
		return nil, err
	}
	var list []job.Job
	for _, id := range ids {
		if j, ok := s.jobs[id]; ok {
			list = append(list, j)
		}
	}
	return list, nil
}

// Ended implements daemon.Store.
func (s *disk) Ended(ctx context.Context, q job.Query) ([]job.Job, error) {
	if err := s.read(ctx, "ended"); err != nil {
		return nil, err
	}
	var list []job.Job
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		if j := s.jobs[id]; j.State.Terminal() && q.Matches(&j) && len(list) < q.Ended {
			list = append(list, j)
		}
	}
	return list, nil
}

// Ends implements daemon.Store.
func (s *disk) Ends(ctx context.Context, ids []job.ID) (map[job.ID]job.End, error) {
	if err := s.read(ctx, "ends"); err != nil {
		return nil, err
	}
	ends := map[job.ID]job.End{}
	for _, id := range ids {
		if j, ok := s.jobs[id]; ok && j.State.Terminal() {
			ends[id] = job.End{State: j.State, Started: j.Began}
		}
	}
	return ends, nil
}

// ByKey implements daemon.Store.
func (s *disk) ByKey(ctx context.Context, uid int, key string) (job.ID, bool, error) {
	if err := s.read(ctx, "key"); err != nil {
		return 0, false, err
	}
	id, ok := s.keys[requestKey{uid, key}]
	return id, ok, nil
}
