package core

import (
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// stepBuffer collects what one step wants done.
type stepBuffer struct {
	out          Effects
	dirty        []*tracked.Job         // jobs to record, in the order in which they changed first
	unlogged     map[job.ID]bool        // of these, those that are recorded but not logged
	updated      map[job.ID]*job.Update // of these, those that ask something else, or are called otherwise
	payload      map[job.ID]*job.Payload
	replanNeeded bool // the plan is out of date; only takeReplan clears it
	sampled      bool // this step has brought a sample
}

func newStepBuffer() stepBuffer {
	return stepBuffer{unlogged: map[job.ID]bool{}, updated: map[job.ID]*job.Update{}, payload: map[job.ID]*job.Payload{}}
}

// begin forgets what the last step wanted, but not that the plan is out of date.
func (s *stepBuffer) begin(ev Event) {
	s.out, s.dirty = Effects{}, nil
	_, s.sampled = ev.(Sampled)
}

func (s *stepBuffer) act(a Action)        { s.out.Actions = append(s.out.Actions, a) }
func (s *stepBuffer) record(r job.Record) { s.out.Records = append(s.out.Records, r) }

// reply answers who waits; the job with the id is read at the end of the step.
func (s *stepBuffer) reply(r Reply) { s.out.Replies = append(s.out.Replies, r) }

// replan has the step plan once more before it ends.
func (s *stepBuffer) replan() { s.replanNeeded = true }

// takeReplan reports whether to plan again, and counts that as done.
func (s *stepBuffer) takeReplan() bool {
	needed := s.replanNeeded
	s.replanNeeded = false
	return needed
}

// fresh reports whether this step has brought a sample.
func (s *stepBuffer) fresh() bool { return s.sampled }

// markDirty has the job recorded at the end of the step.
func (s *stepBuffer) markDirty(l *tracked.Job) {
	if !l.Dirty { // a step may touch every job
		l.Dirty = true
		s.dirty = append(s.dirty, l)
	}
	delete(s.unlogged, l.ID)
}

// markUpdated is markDirty for a job that somebody changed, and that asked something else before.
func (s *stepBuffer) markUpdated(l *tracked.Job, by job.Actor, before []job.Ask) {
	s.markDirty(l)
	now := job.Asked(&l.Label, &l.Request)
	s.updated[l.ID] = &job.Update{By: by.User, Edits: job.Edits(before, now)}
}

// announce has something announced that no record has.
func (s *stepBuffer) announce(e job.Event) { s.out.News = append(s.out.News, e) }

// markDirtyQuietly is markDirty for what is not to be logged.
func (s *stepBuffer) markDirtyQuietly(l *tracked.Job) {
	if !l.Dirty {
		l.Dirty = true
		s.dirty = append(s.dirty, l)
		s.unlogged[l.ID] = true
	}
}

// store has the payload of a new job recorded with it.
func (s *stepBuffer) store(id job.ID, p *job.Payload) { s.payload[id] = p }

// notifyOwner has the job's owner find a sentence in the job's journal, together with
// what else this step has to say.
func (s *stepBuffer) notifyOwner(l *tracked.Job, say job.Message) {
	s.markDirtyQuietly(l)
	if l.IsSuspended() { // nothing runs in its unit
		return
	}
	for i, a := range s.out.Actions {
		if t, ok := a.(NotifyOwner); ok && t.Job == l.ID {
			t.Say = append(t.Say, say)
			s.out.Actions[i] = t
			return
		}
	}
	s.act(NotifyOwner{Job: l.ID, UID: l.Owner.UID, Say: []job.Message{say}})
}

// end turns what the step touched into records. It returns the effects and the jobs that
// have ended.
func (s *stepBuffer) end() (out Effects, over []*tracked.Job) {
	for _, l := range s.dirty {
		l.Dirty = false
		l.KeepUse()
		j := *l.Job
		s.record(job.Record{Job: &j, Payload: s.payload[j.ID], Quiet: s.unlogged[j.ID], Updated: s.updated[j.ID]})
		delete(s.payload, j.ID)
		if j.State.Terminal() {
			over = append(over, l)
		}
	}
	clear(s.unlogged)
	clear(s.updated)
	return s.out, over
}
