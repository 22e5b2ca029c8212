package directory

import (
	"context"
	"time"
)

// begin asks a question for somebody, unless it is under way, or enough others are. While there are
// no answers it asks one of ours in its place.
func (d *Directory) begin(e *entry, asker int) {
	switch {
	case !d.silent.IsZero():
		d.retry()
		return
	case e.pending != nil || d.vain(e) && time.Since(e.failed) < askAgain:
		return
	case asker == ourselves && d.asking >= maxAsked:
		return
	case asker != ourselves && (d.asking >= maxAsked-maxAskedBy || d.known.asking(asker) >= maxAskedBy):
		return
	}
	d.start(e, asker)
}

func (d *Directory) start(e *entry, asker int) {
	e.pending, e.began = make(chan struct{}), time.Now()
	if asker == ourselves {
		d.asked = e.began
	}
	d.asking++
	d.known.of(asker).asking++
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		a, err := d.ask(ctx, e.query)
		d.end(e, asker, a, err)
	}()
}

// await waits for the answer to a question that is under way. It gives the lock up
// meanwhile.
func (d *Directory) await(e *entry) {
	pending := e.pending
	d.mu.Unlock()
	select {
	case <-pending:
	case <-time.After(patience):
	}
	d.mu.Lock()
	if e.pending == pending {
		d.fails(e, errLate)
	}
}

// end takes an answer to what somebody has asked, or notes that there was none.
func (d *Directory) end(e *entry, asker int, a Answer, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking--
	d.known.of(asker).asking--
	d.known.tidy(asker)
	close(e.pending)
	e.pending = nil
	if err != nil {
		d.fails(e, err)
		return
	}
	now := time.Now()
	d.answered, e.at, e.err = now, now, nil
	if e.asker == ourselves {
		d.speaks(now)
	}
	if a.Found {
		e.answer, e.found = a, now
	} else if now.Sub(e.found) > keep {
		e.answer = Answer{}
	}
}
