package directory

import (
	"context"
	"time"
)

// lookup returns what is known about a question. If the answer is older than the constant fresh,
// lookup asks again. If wait is true, it waits for the new answer, unless no answer is likely. It
// also does not wait for the uid or gid of a name if an old answer is known. But it does wait for
// groups, which give rights, and for the name of a uid or gid, which may now belong to another
// account.
func (d *Directory) lookup(q Query, asker int, wait bool) Answer {
	if d.ask == nil || !q.Valid() {
		return Answer{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.cache.entry(q, asker)
	if !e.at.IsZero() && time.Since(e.at) < fresh {
		return e.answer
	}
	c := d.call(e, asker, wait)
	vain := d.expectsSilence(c)
	d.askIfDue(c)
	if wait && !vain && (!e.answer.Found || q.Kind == GroupsOf || q.Kind == UserByID) {
		d.await(c)
	}
	return e.usableAnswer(time.Now())
}

// usableAnswer returns the answer if it may still be used. Without a new answer, groups are used
// for only a day, because they give rights. Names are used without a limit.
func (e *entry) usableAnswer(now time.Time) Answer {
	if e.query.Kind == GroupsOf && now.Sub(e.found) > trustGroups {
		return Answer{}
	}
	return e.answer
}

// call is a request by one asker for the answer to a question.
type call struct {
	*entry
	of         *askerState // state of the asker of this call, who may not be the first asker
	ours, wait bool
}

func (d *Directory) call(e *entry, asker int, wait bool) call {
	return call{e, d.cache.asker(asker), asker == daemonItself, wait}
}

// isDeferrable reports whether a question must wait for its asker's unanswered questions. Two kinds
// must wait: a question for a name that a user chose, and may have invented, and a question of the
// daemon that nobody waits for. All other questions concern a waiting request or start, and do not
// affect each other.
func (c *call) isDeferrable() bool { return c.ours && !c.wait || !c.ours && c.query.Kind == UserByName }

// expectsSilence reports whether no answer is likely to come. There are three reasons. The last try
// of this question got no answer. The question is for an account's groups, and the last try of the
// account's name got no answer. The question is deferrable, and its asker gets no answers.
func (d *Directory) expectsSilence(c call) bool {
	about := d.cache.get(Query{UserByID, c.query.Key})
	ofAccount := c.query.Kind == GroupsOf && about != nil && d.isUnanswered(about)
	return ofAccount || d.isUnanswered(c.entry) || c.isDeferrable() && !c.of.silent.IsZero()
}

// isUnanswered reports whether the last try of a question got no answer. But after askAgain it
// returns false if another question has been answered since that try.
func (d *Directory) isUnanswered(e *entry) bool {
	return e.err != nil && (time.Since(e.failed) < askAgain || d.cache.asker(daemonItself).answered.Before(e.failed))
}

// await waits for an answer. If too many questions are in progress, it first waits until this
// question can be asked, unless a user asks for a name.
func (d *Directory) await(c call) {
	end := time.Now().Add(patience)
	for c.pending == nil && (c.ours || c.query.Kind != UserByName) && time.Now().Before(end) {
		d.waitFor(d.anyDone, end)
		d.askIfDue(c)
	}
	if pending := c.pending; pending != nil {
		if d.waitFor(pending, end); c.pending == pending {
			d.recordFailure(c, errLate)
		}
	}
}

// askIfDue asks a question if that is allowed now. An unanswered question is repeated only after
// askAgain. If the asker is silent, only one of its deferrable questions is asked every askAgain.
func (d *Directory) askIfDue(c call) {
	resting := c.isDeferrable() && !c.of.silent.IsZero() && (c.of.asking > 0 || time.Since(c.of.asked) < askAgain)
	if time.Since(c.failed) >= askAgain && !resting {
		d.start(c)
	}
}

// start asks a question, unless this question is already in progress or too many others are.
func (d *Directory) start(c call) {
	notUrgent := !c.ours || !c.wait
	full := d.asking >= maxAsked || notUrgent && d.notUrgent >= maxNotUrgent || !c.ours && c.of.asking >= maxAskedBy
	if c.pending != nil || full {
		return
	}
	c.pending, c.began = make(chan struct{}), time.Now()
	d.asking++
	c.of.asking++
	c.of.asked = c.began
	if notUrgent {
		d.notUrgent++
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		a, err := d.ask(ctx, c.query)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asking--
		c.of.asking--
		if notUrgent {
			d.notUrgent--
		}
		d.finish(c, a, err)
	}()
}

func (d *Directory) finish(c call, a Answer, err error) {
	close(c.pending)
	c.pending = nil
	close(d.anyDone)
	d.anyDone = make(chan struct{})
	if err != nil {
		d.recordFailure(c, err)
		return
	}
	now := time.Now()
	for _, f := range []*askerState{c.of, d.cache.asker(daemonItself)} { // any answer shows that the directory works
		f.answered, f.silent, f.err = now, time.Time{}, nil
	}
	if c.ours {
		d.lastAnswered = c.query
	}
	c.failed, c.err = time.Time{}, nil
	if c.at = now; a.Found {
		c.answer, c.found = a, now
	} else if now.Sub(c.found) > keepMissing {
		c.answer = Answer{}
	}
}

// recordFailure records that a question got no answer. The asker counts as silent if none of the
// asker's questions has been answered since this question was asked.
func (d *Directory) recordFailure(c call, err error) {
	c.failed, c.err = time.Now(), err
	d.failed = c.failed
	if c.ours {
		d.lastMissed = c.query
	}
	if c.of.answered.After(c.began) {
		return
	}
	if c.of.err = err; c.of.silent.IsZero() {
		c.of.silent = c.failed
	}
}
