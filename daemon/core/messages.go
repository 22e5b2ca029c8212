package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/retry"
)

// Bounds of what messages may cost. A user who asks for one about each of many jobs
// keeps nobody else's waiting.
const (
	maxOwed        = 100 // of one user; what comes on top is given up at once
	sendingOfUser  = 1
	sendingAtOnce  = 4
	deliveryTries  = 6
	deliveryAgain  = 30 * time.Second // after the first try; doubles
	lastDeliveryIn = 10 * time.Minute
)

// owedMessage is one that is neither sent nor given up.
type owedMessage struct {
	job.Notification
	sending bool
}

// messageBook has the messages that are owed, in the order in which they became so.
// Jobs that they are about may have ended long ago.
type messageBook struct {
	owed    []*owedMessage
	changed bool      // since the last look
	next    time.Time // when the first of those that wait for a time may go; zero: none does
}

func newMessageBook(owed []job.Notification) messageBook {
	b := messageBook{changed: len(owed) > 0}
	for _, n := range owed {
		b.owed = append(b.owed, &owedMessage{Notification: n})
	}
	slices.SortStableFunc(b.owed, func(x, y *owedMessage) int { return x.At.Compare(y.At) })
	return b
}

// of counts what is owed to a user.
func (b *messageBook) of(uid int) (n int) {
	for _, m := range b.owed {
		if m.UID == uid {
			n++
		}
	}
	return n
}

// add takes a message, or closes it where its user has enough of them.
func (b *messageBook) add(n *job.Notification, now time.Time) {
	if b.of(n.UID) >= maxOwed {
		n.Closed, n.Why = now, job.Say("detail/notify-many", maxOwed)
		return
	}
	b.owed = append(b.owed, &owedMessage{Notification: *n})
	b.changed = true
}

// oweMessages puts on record what the job's owner is to be told now.
func (c *Core) oweMessages(l *trackedJob, event job.NotifyEvent, now time.Time) {
	for _, n := range l.job.Messages(event, now) {
		c.messages.add(&n, now)
		c.step.record(job.Record{Notification: &n})
	}
}

// due is when a message is to be tried again; zero: none.
func (b *messageBook) due() time.Time { return b.next }

// deliver sends what may go. Nothing does while the machine goes down: it is on record.
func (c *Core) deliver(now time.Time) {
	if c.systemd.leaving() {
		return
	}
	for _, n := range c.messages.send(now) {
		c.step.act(Deliver{n})
	}
}

// send returns the messages that go now, and counts them as on their way.
func (b *messageBook) send(now time.Time) (list []job.Notification) {
	if !b.changed && (b.next.IsZero() || now.Before(b.next)) {
		return nil
	}
	b.changed, b.next = false, time.Time{}
	total, of := 0, map[int]int{}
	for _, m := range b.owed {
		if m.sending {
			total++
			of[m.UID]++
		}
	}
	for _, m := range b.owed {
		switch {
		case m.sending:
		case now.Before(m.Next):
			if b.next.IsZero() || m.Next.Before(b.next) {
				b.next = m.Next
			}
		case total < sendingAtOnce && of[m.UID] < sendingOfUser:
			m.sending = true
			total++
			of[m.UID]++
			list = append(list, m.Notification)
		}
	}
	return list
}

// delivered takes how a try went.
func (c *Core) delivered(e Delivered, now time.Time) {
	if n, known := c.messages.tried(&e, now); known {
		c.step.record(job.Record{Notification: &n})
	}
}

// tried notes how a try went; false where the message was not on its way.
func (b *messageBook) tried(e *Delivered, now time.Time) (n job.Notification, known bool) {
	at := slices.IndexFunc(b.owed, func(m *owedMessage) bool {
		return m.Job == e.Job && m.Event == e.Event && m.Which == e.Which
	})
	if at < 0 || !b.owed[at].sending {
		return n, false
	}
	m := b.owed[at]
	m.sending, b.changed = false, true
	m.Tries++
	m.Why = e.Why
	if !e.Sent && e.Again && m.Tries < deliveryTries {
		m.Next = now.Add(retry.After(m.Tries, deliveryAgain, lastDeliveryIn))
	} else {
		m.Closed, m.Next = now, time.Time{}
		b.owed = slices.Delete(b.owed, at, at+1)
	}
	return m.Notification, true
}

// shift moves when messages are tried again with a clock that was set.
func (b *messageBook) shift(by time.Duration, now time.Time) {
	for _, m := range b.owed {
		m.Next = moved(m.Next, by, now)
	}
	b.changed = true
}
