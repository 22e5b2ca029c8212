package directory

import "time"

// The directory is silent when questions of ours have no answer. A name that an account chose says
// nothing of others: it can be that of the one domain which is away.

// fails notes that a question has no answer. Whether the directory has none to others is seen by one
// that was answered last time.
func (d *Directory) fails(e *entry, err error) {
	now := time.Now()
	e.failed, e.err = now, err
	switch {
	case e.asker != ourselves:
		if d.silent.IsZero() && !d.asked.After(e.began) { // what we asked since tells it
			d.probe()
		}
	case !d.silent.IsZero():
		d.err = err
	case !d.told.After(e.began):
		d.silent, d.err = now, err
		d.probe()
	}
}

// speaks notes that a question of ours has an answer.
func (d *Directory) speaks(now time.Time) {
	if !d.silent.IsZero() && now.Sub(d.silent) >= patience {
		d.back = now
	}
	d.told, d.silent, d.err = now, time.Time{}, nil
}

// vain reports whether a question had no answer lately, so that nobody waits for it again. What was
// asked while the directory was silent says nothing once it answers.
func (d *Directory) vain(e *entry) bool {
	return e.err != nil && e.failed.After(d.back) && time.Since(e.failed) < fresh
}

// probe asks a question of ours that was answered last time, at once.
func (d *Directory) probe() {
	if e := d.known.witness(); e != nil && e.answered() && d.asking < maxAsked {
		d.start(e, ourselves)
	}
}

// retry asks one question of ours while there are no answers, whoever wants which to be asked.
func (d *Directory) retry() {
	if d.known.asking(ourselves) > 0 || time.Since(d.asked) < askAgain {
		return
	}
	if e := d.known.witness(); e != nil {
		d.start(e, ourselves)
	}
}

// answered reports whether the question had an answer when it was asked last.
func (e *entry) answered() bool { return e.err == nil && !e.at.IsZero() }

// witness returns the question of ours that tells best whether the directory answers: the one that
// was answered last, or, where each had no answer when it was asked last, the one that was asked
// longest ago, so that all have their turn; nil: there is none, or all are under way.
func (s *shelves) witness() *entry {
	var best *entry
	for at := s.of(ourselves).list.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*entry); e.pending == nil && (best == nil || e.tellsMore(best)) {
			best = e
		}
	}
	return best
}

func (e *entry) tellsMore(than *entry) bool {
	if e.answered() != than.answered() {
		return e.answered()
	}
	if e.answered() {
		return e.at.After(than.at)
	}
	return e.began.Before(than.began)
}
