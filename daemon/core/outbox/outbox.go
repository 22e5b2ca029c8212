package outbox

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/retry"
)

// These bounds limit the cost of messages. In addition, only one message of each user is being sent
// at any time.
const (
	maxOwedOfUser  = 100  // further messages are given up at once
	maxOwed        = 2000 // messages of all users; if there is one more, the user with the most loses the newest
	sendingAtOnce  = 8
	slowAtOnce     = 4               // how many of sendingAtOnce may belong to users with slow tries
	slowTry        = 5 * time.Second // a longer try is slow
	deliveryTries  = 6
	deliveryAgain  = 30 * time.Second // the delay after the first failed try; each further failure doubles it
	lastDeliveryIn = 10 * time.Minute
	postsAtOnce    = 20 // posts of a user to site webhooks without delay; then one every Policy.WebhookInterval
)

// box contains the messages owed to one user, oldest first. The jobs of these messages may have
// ended long ago.
type box struct {
	uid     int
	owed    []*job.Notification
	sending *job.Notification // the message of owed that is being sent; nil: none
	since   time.Time         // when its sending began
	took    time.Duration     // the mean duration of the last tries
	posted  time.Time         // when all posts so far would be sent, at one post every WebhookInterval
	leftOut int               // posts left out since the last post
}

// mayPost reports whether the user may now post to a site webhook, which other people read.
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

// isSlow reports whether tries take long on average. A single fast try does not change that.
func (o *box) isSlow() bool { return o.took > slowTry }

// nextReady returns a message that may be sent now. If there is none, it returns nil, and the time
// at which one may be sent. A delay that is longer than any retry's is ignored, since a wrong clock
// caused it.
func (o *box) nextReady(now time.Time) (m *job.Notification, next time.Time) {
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

// newestUnsent returns the newest message that is not being sent. If there is none, it returns nil.
func (o *box) newestUnsent() *job.Notification {
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

// Book contains the messages that are neither sent nor given up. Users take turns: after a message
// of a user was sent, the user comes last. The number and the age of a user's messages do not
// matter.
type Book struct {
	boxes   []*box    // the boxes of users who were ever owed a message, in order of their turns
	changed bool      // something changed since the last Send
	next    time.Time // when the first delayed message may be sent; zero: none is delayed
}

func NewBook(owed []job.Notification) Book {
	b := Book{changed: len(owed) > 0}
	owed = slices.Clone(owed)
	slices.SortStableFunc(owed, func(x, y job.Notification) int { return x.At.Compare(y.At) })
	for _, n := range owed {
		o := b.boxOf(n.UID)
		o.owed = append(o.owed, &n)
	}
	return b
}

// boxOf returns a user's outbox.
func (b *Book) boxOf(uid int) *box {
	at := slices.IndexFunc(b.boxes, func(o *box) bool { return o.uid == uid })
	if at < 0 {
		at = len(b.boxes)
		b.boxes = append(b.boxes, &box{uid: uid})
	}
	return b.boxes[at]
}

// count returns the number of messages owed to all users, and the box with the most messages.
func (b *Book) count() (n int, most *box) {
	for _, o := range b.boxes {
		n += len(o.owed)
		if most == nil || len(o.owed) > len(most.owed) {
			most = o
		}
	}
	return n, most
}

// add adds a message. It returns the notifications to record: the message, and any message that is
// given up because there are too many. A user with few messages never loses one because another
// user has many.
func (b *Book) add(n job.Notification, now time.Time) []job.Notification {
	own := b.boxOf(n.UID)
	if len(own.owed) >= maxOwedOfUser {
		return []job.Notification{giveUp(n, job.Say("detail/notify-many", maxOwedOfUser), now)}
	}
	full := job.Say("detail/notify-full", maxOwed)
	total, most := b.count()
	if total < maxOwed {
		own.owed, b.changed = append(own.owed, &n), true
		return []job.Notification{n}
	}
	victim := most.newestUnsent()
	if len(own.owed) >= len(most.owed) || victim == nil {
		return []job.Notification{giveUp(n, full, now)}
	}
	most.remove(victim)
	own.owed, b.changed = append(own.owed, &n), true
	return []job.Notification{n, giveUp(*victim, full, now)}
}

// giveUp marks a message as given up because there are too many.
func giveUp(n job.Notification, why job.Message, now time.Time) job.Notification {
	n.Closed, n.Next, n.Why = now, time.Time{}, why
	return n
}

// Owe adds the messages that a job's event makes the scheduler owe. It returns the notifications to
// record. The argument pace is the time between one user's messages to site webhooks.
func (b *Book) Owe(
	j *job.Job, event job.NotifyEvent, pace time.Duration, now time.Time,
) (list []job.Notification) {
	for _, n := range j.Messages(event, now) {
		if j.Request.Notify[n.Which].Webhook != "" {
			own := b.boxOf(n.UID)
			if !own.mayPost(pace, now) {
				list = append(list, giveUp(n, job.Say("detail/notify-interval", postsAtOnce, pace), now))
				continue
			}
			n.LeftOut, own.leftOut = own.leftOut, 0
		}
		list = append(list, b.add(n, now)...)
	}
	return list
}

// Due returns when to try a message again, or zero if no message is delayed.
func (b *Book) Due() time.Time { return b.next }

// Send returns the messages to send now, and marks them as being sent.
func (b *Book) Send(now time.Time) (list []job.Notification) {
	if !b.changed && (b.next.IsZero() || now.Before(b.next)) {
		return nil
	}
	b.changed, b.next = false, time.Time{}
	all, slow := b.underWay()
	var waiting, served []*box
	for _, o := range b.boxes {
		m, next := o.nextReady(now)
		b.next = job.Earlier(b.next, next)
		if m == nil || all == sendingAtOnce || o.isSlow() && slow == slowAtOnce {
			waiting = append(waiting, o)
			continue
		}
		o.sending, o.since = m, now
		all++
		if o.isSlow() {
			slow++
		}
		served = append(served, o)
		list = append(list, *m)
	}
	b.boxes = append(waiting, served...)
	return list
}

// underWay counts the messages being sent: those of all users, and those of users with slow tries.
func (b *Book) underWay() (all, slow int) {
	for _, o := range b.boxes {
		if o.sending != nil {
			all++
		}
		if o.sending != nil && o.isSlow() {
			slow++
		}
	}
	return all, slow
}

// Report is the outcome of a try to send a message.
type Report struct {
	Job   job.ID
	Event job.NotifyEvent
	Which int

	Sent  bool
	Again bool        // if not sent: another try may succeed
	Why   job.Message // if not sent: the cause
}

// Tried notes the outcome of a try. It returns false if the message was not being sent.
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

// Shift adjusts the times of retries after the clock was set.
func (b *Book) Shift(by time.Duration, now time.Time) {
	for _, o := range b.boxes {
		job.Shift(by, now, &o.since, &o.posted)
		for _, m := range o.owed {
			job.Shift(by, now, &m.Next)
		}
	}
	b.changed = true
}
