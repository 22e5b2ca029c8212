package core

import (
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// stepBuffer collects the effects of one step.
type stepBuffer struct {
	out          Effects
	dirty        []*tracked.Job         // jobs to record, in the order of their first change
	unlogged     map[job.ID]bool        // the jobs in the list dirty whose change is not logged
	updated      map[job.ID]*job.Update // by job: the changes of its options and labels
	payload      map[job.ID]*job.Payload
	replanNeeded bool // the plan is out of date; only takeReplan clears it
	sampled      bool // the step handles a sample
}

func newStepBuffer() stepBuffer {
	return stepBuffer{unlogged: map[job.ID]bool{}, updated: map[job.ID]*job.Update{}, payload: map[job.ID]*job.Payload{}}
}

// begin clears what the last step collected. It keeps replanNeeded.
func (s *stepBuffer) begin(ev Event) {
	s.out, s.dirty = Effects{}, nil
	_, s.sampled = ev.(Sampled)
}

func (s *stepBuffer) act(a Action)        { s.out.Actions = append(s.out.Actions, a) }
func (s *stepBuffer) record(r job.Record) { s.out.Records = append(s.out.Records, r) }

// addReply adds the answer to a request. Core.finish fills in the job whose id is in the reply.
func (s *stepBuffer) addReply(r Reply) { s.out.Replies = append(s.out.Replies, r) }

// replan asks for another pass of the planner before the step ends.
func (s *stepBuffer) replan() { s.replanNeeded = true }

// takeReplan reports whether another pass is needed, and clears the request.
func (s *stepBuffer) takeReplan() bool {
	needed := s.replanNeeded
	s.replanNeeded = false
	return needed
}

// hasSample reports whether this step handles a sample.
func (s *stepBuffer) hasSample() bool { return s.sampled }

// markDirty makes the step record the job when the step ends.
func (s *stepBuffer) markDirty(l *tracked.Job) {
	if !l.Dirty { // a flag in the job makes this fast even if a step touches every job
		l.Dirty = true
		s.dirty = append(s.dirty, l)
	}
	delete(s.unlogged, l.ID)
}

// markUpdated does what markDirty does, for a job whose options somebody changed. The argument
// oldOptions has the options before the change.
func (s *stepBuffer) markUpdated(l *tracked.Job, by job.Actor, oldOptions []job.Ask) {
	s.markDirty(l)
	now := job.Asked(&l.Label, &l.Request)
	s.updated[l.ID] = &job.Update{By: by.User, Edits: job.Edits(oldOptions, now)}
}

// markLent does what markDirty does, for a job that lends more or less host memory than before.
func (s *stepBuffer) markLent(l *tracked.Job, before int64) {
	s.markDirty(l)
	spell := func(n int64) string { return job.Size(n).String() }
	edit := job.Edit{Name: job.EditLent, Before: spell(before), Now: spell(l.MemLent)}
	s.updated[l.ID] = &job.Update{By: "jobs.mem_return", Edits: []job.Edit{edit}}
}

// announce adds an event that no record shows.
func (s *stepBuffer) announce(e job.Event) { s.out.News = append(s.out.News, e) }

// markDirtyQuietly does what markDirty does, but the change is not logged.
func (s *stepBuffer) markDirtyQuietly(l *tracked.Job) {
	if !l.Dirty {
		l.Dirty = true
		s.dirty = append(s.dirty, l)
		s.unlogged[l.ID] = true
	}
}

// storePayload makes the step record the payload of a new job together with the job.
func (s *stepBuffer) storePayload(id job.ID, p *job.Payload) { s.payload[id] = p }

// notifyOwner puts a sentence for the owner into the job's journal. All sentences of one step are
// written together.
func (s *stepBuffer) notifyOwner(l *tracked.Job, say job.Message) {
	s.markDirtyQuietly(l)
	if l.IsSuspended() { // no process of the job runs, so nothing can write to its journal
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

// end turns the changed jobs into records. It returns the effects, and the jobs that have ended.
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
