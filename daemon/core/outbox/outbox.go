package outbox

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/retry"
)

// Bounds of what messages may cost. Each user has one on its way at most.
const (
	maxOwedOfUser  = 100  // what comes on top is given up at once
	maxOwed        = 2000 // of all users; then who has the most gives up the newest
	sendingAtOnce  = 8
	slowAtOnce     = 4               // of these, of users whose tries take long: others find room
	slowTry        = 5 * time.Second // takes long
	deliveryTries  = 6
	deliveryAgain  = 30 * time.Second // after the first try; doubles
	lastDeliveryIn = 10 * time.Minute
	postsAtOnce    = 20 // of a user to webhooks of the site's; then it is one every Policy.WebhookPace
)

// box has the messages that are owed to one user, in the order in which they became so.
// Jobs that they are about may have ended long ago.
type box struct {
	uid     int
	owed    []*job.Notification
	sending *job.Notification // of these; nil: none is on its way
	since   time.Time         // when that was begun
	took    time.Duration     // each of the last tries, on average
	posted  time.Time         // when the posts up to now would be over, one every WebhookPace
	leftOut int               // posts since the last one that were too many
}

// mayPost reports whether the user may post to a webhook of the site's now, which others read.
func (o *box) mayPost(pace time.Duration, now time.Time) bool {
	if o.posted.Before(now) {
		o.posted = now
	}
	if o.posted.Sub(now) > (postsAtOnce-1)*pace {
		o.leftOut++
		return false
	}
	o.posted = o.posted.Add(pace)
	return true
}

// slow reports whether tries take long on average, so that a short one now and then changes
// nothing.
func (o *box) slow() bool { return o.took > slowTry }

// ready returns the message that may go now, nil for none, and else when one may. What is
// to wait longer than any does was put off by a clock that was wrong.
func (o *box) ready(now time.Time) (m *job.Notification, next time.Time) {
	if o.sending != nil {
		return nil, next
	}
	for _, m := range o.owed {
		if !now.Before(m.Next) || m.Next.Sub(now) > lastDeliveryIn {
			return m, time.Time{}
		}
		next = job.Earlier(next, m.Next)
	}
	return nil, next
}

// spare returns the newest message that is not on its way, nil for none.
func (o *box) spare() *job.Notification {
	for _, m := range slices.Backward(o.owed) {
		if m != o.sending {
			return m
		}
	}
	return nil
}

func (o *box) remove(m *job.Notification) {
	o.owed = slices.DeleteFunc(o.owed, func(other *job.Notification) bool { return other == m })
}

// Book has the messages that are neither sent nor given up. Users take turns: whose
// was sent last is the last of them, however many are owed to each and however old.
type Book struct {
	boxes   []*box    // of each user to whom one was ever owed, whose turn it is first
	changed bool      // since the last look
	next    time.Time // when the first of those that wait for a time may go; zero: none does
}

func NewBook(owed []job.Notification) Book {
	b := Book{changed: len(owed) > 0}
	owed = slices.Clone(owed)
	slices.SortStableFunc(owed, func(x, y job.Notification) int { return x.At.Compare(y.At) })
	for _, n := range owed {
		o := b.of(n.UID)
		o.owed = append(o.owed, &n)
	}
	return b
}

// of returns a user's outbox.
func (b *Book) of(uid int) *box {
	at := slices.IndexFunc(b.boxes, func(o *box) bool { return o.uid == uid })
	if at < 0 {
		at = len(b.boxes)
		b.boxes = append(b.boxes, &box{uid: uid})
	}
	return b.boxes[at]
}

// count is how many are owed to all, and who of them has the most.
func (b *Book) count() (n int, most *box) {
	for _, o := range b.boxes {
		n += len(o.owed)
		if most == nil || len(o.owed) > len(most.owed) {
			most = o
		}
	}
	return n, most
}

// add takes a message, and returns what is to be put on record: it, and what there is no
// room for any more. A user with many never costs one with few a message.
func (b *Book) add(n job.Notification, now time.Time) []job.Notification {
	own := b.of(n.UID)
	if len(own.owed) >= maxOwedOfUser {
		return []job.Notification{dropped(n, job.Say("detail/notify-many", maxOwedOfUser), now)}
	}
	full := job.Say("detail/notify-full", maxOwed)
	total, most := b.count()
	if total < maxOwed {
		own.owed, b.changed = append(own.owed, &n), true
		return []job.Notification{n}
	}
	victim := most.spare()
	if len(own.owed) >= len(most.owed) || victim == nil {
		return []job.Notification{dropped(n, full, now)}
	}
	most.remove(victim)
	own.owed, b.changed = append(own.owed, &n), true
	return []job.Notification{n, dropped(*victim, full, now)}
}

// dropped is a message that is given up for want of room.
func dropped(n job.Notification, why job.Message, now time.Time) job.Notification {
	n.Closed, n.Next, n.Why = now, time.Time{}, why
	return n
}

// Owe takes what a job's owner is to be told now, and returns what is to be put on record. Pace is
// the time between messages of one user to webhooks of the site's.
func (b *Book) Owe(
	j *job.Job, event job.NotifyEvent, pace time.Duration, now time.Time,
) (list []job.Notification) {
	for _, n := range j.Messages(event, now) {
		if j.Request.Notify[n.Which].Webhook != "" {
			own := b.of(n.UID)
			if !own.mayPost(pace, now) {
				list = append(list, dropped(n, job.Say("detail/notify-pace", postsAtOnce, pace), now))
				continue
			}
			n.LeftOut, own.leftOut = own.leftOut, 0
		}
		list = append(list, b.add(n, now)...)
	}
	return list
}

// Due is when a message is to be tried again; zero: none.
func (b *Book) Due() time.Time { return b.next }

// Send returns the messages that go now, and counts them as on their way.
func (b *Book) Send(now time.Time) (list []job.Notification) {
	if !b.changed && (b.next.IsZero() || now.Before(b.next)) {
		return nil
	}
	b.changed, b.next = false, time.Time{}
	all, slow := b.underWay()
	var waiting, served []*box
	for _, o := range b.boxes {
		m, next := o.ready(now)
		b.next = job.Earlier(b.next, next)
		if m == nil || all == sendingAtOnce || o.slow() && slow == slowAtOnce {
			waiting = append(waiting, o)
			continue
		}
		o.sending, o.since = m, now
		all++
		if o.slow() {
			slow++
		}
		served = append(served, o)
		list = append(list, *m)
	}
	b.boxes = append(waiting, served...)
	return list
}

// underWay counts what is being sent, and what of it for users whose tries take long.
func (b *Book) underWay() (all, slow int) {
	for _, o := range b.boxes {
		if o.sending != nil {
			all++
		}
		if o.sending != nil && o.slow() {
			slow++
		}
	}
	return all, slow
}

// Report says how a try went.
type Report struct {
	Job   job.ID
	Event job.NotifyEvent
	Which int

	Sent  bool
	Again bool        // where it was not sent: another try may do better
	Why   job.Message // where it was not sent
}

// Tried notes how a try went; false where the message was not on its way.
func (b *Book) Tried(e *Report, now time.Time) (n job.Notification, known bool) {
	at := slices.IndexFunc(b.boxes, func(o *box) bool {
		m := o.sending
		return m != nil && m.Job == e.Job && m.Event == e.Event && m.Which == e.Which
	})
	if at < 0 {
		return n, false
	}
	o := b.boxes[at]
	m := o.sending
	o.took = (3*o.took + max(0, now.Sub(o.since))) / 4
	o.sending, b.changed = nil, true
	m.Tries++
	m.Why = e.Why
	if !e.Sent && e.Again && m.Tries < deliveryTries {
		m.Next = now.Add(retry.After(m.Tries, deliveryAgain, lastDeliveryIn))
	} else {
		m.Closed, m.Next = now, time.Time{}
		o.remove(m)
	}
	return *m, true
}

// Shift moves when messages are tried again with a clock that was set.
func (b *Book) Shift(by time.Duration, now time.Time) {
	for _, o := range b.boxes {
		job.Shift(by, now, &o.since, &o.posted)
		for _, m := range o.owed {
			job.Shift(by, now, &m.Next)
		}
	}
	b.changed = true
}
