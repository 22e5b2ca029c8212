package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

func messageName(n *job.Notification) string {
	return fmt.Sprintf("job %d %s %d of %d", n.Job, n.Event, n.Which, n.UID)
}

// keepMessage stores a message on the world's disk.
func (w *world) keepMessage(n job.Notification) {
	text := "owed"
	switch {
	case n.Sent():
		text = "sent"
	case !n.Closed.IsZero():
		text = "given up: " + n.Why.String()
	case n.Tries > 0:
		text = fmt.Sprintf("again in %s: %s", job.FormatDuration(n.Next.Sub(w.now)), n.Why)
	}
	w.log("record message %s, tries %d: %s", messageName(&n), n.Tries, text)
	same := func(m job.Notification) bool { return m.Job == n.Job && m.Event == n.Event && m.Which == n.Which }
	w.messages = append(slices.DeleteFunc(w.messages, same), n)
}

// send begins the delivery of a message. At any time, at most one message of each user and eight
// messages of all users are being delivered.
func (w *world) send(a core.Deliver) {
	w.log("send message %s", messageName(&a.Notification))
	owed := func(m job.Notification) bool {
		return m.Job == a.Job && m.Event == a.Event && m.Which == a.Which && m.Closed.IsZero()
	}
	if !slices.ContainsFunc(w.messages, owed) {
		w.fault("message %s is sent without being owed on record", messageName(&a.Notification))
	}
	if slices.ContainsFunc(w.sending, func(o core.Deliver) bool { return o.UID == a.UID }) || len(w.sending) == 8 {
		w.fault("message %s is sent beside %d others", messageName(&a.Notification), len(w.sending))
	}
	w.sending = append(w.sending, a)
}

// endDelivery ends the delivery of a message.
func (w *world) endDelivery(e core.Delivered) {
	w.sending = slices.DeleteFunc(w.sending, func(a core.Deliver) bool {
		return a.Job == e.Job && a.Event == e.Event && a.Which == e.Which
	})
}

// postOffice is a world whose jobs have no GPU and end at once. Their messages are then to be sent.
type postOffice struct {
	*world
	t    *testing.T
	next job.ID
	wish []job.Notify // the messages that the next jobs ask for; nil: mail at the end
}

func newPostOffice(t *testing.T) *postOffice {
	w := newWorld(1, func(string, ...any) {})
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	return &postOffice{world: w, t: t, next: 1}
}

// oweMessages runs jobs of a user until they end and messages are owed, and returns the jobs' ids.
func (p *postOffice) oweMessages(uid, jobs int) (list []job.ID) {
	for range jobs {
		p.token++
		p.step(core.Submit{Token: p.token, Submission: job.Submission{
			Owner: job.Owner{UID: uid, User: fmt.Sprint("u", uid)}, Label: job.Label{Name: "j"}, Request: job.Request{Notify: p.wishes()},
		}}, -1)
		p.settle()
		p.units[p.next].Phase = core.Exited
		p.step(core.Changed{Job: p.next}, -1)
		p.settle()
		list, p.next = append(list, p.next), p.next+1
	}
	return list
}

func (p *postOffice) wishes() []job.Notify {
	if p.wish != nil {
		return p.wish
	}
	return notifyOf("end")
}

// answerAll answers all messages that are being sent, and returns their users.
func (p *postOffice) answerAll(sent bool) (uids []int) {
	for _, a := range slices.Clone(p.sending) {
		uids = append(uids, a.UID)
		e := core.Delivered{Job: a.Job, Event: a.Event, Which: a.Which, Sent: sent, Again: !sent}
		if !sent {
			e.Why = job.Text("no")
		}
		p.endDelivery(e)
		p.step(e, -1)
	}
	return uids
}

func (p *postOffice) isSending(id job.ID) bool {
	return slices.ContainsFunc(p.sending, func(a core.Deliver) bool { return a.Job == id })
}

func (p *postOffice) done() {
	for _, f := range p.faults {
		p.t.Error(f)
	}
}

// The rate of one user's messages to the site's webhooks is limited, since other people read these
// webhooks too. The next message says how many were left out. Other users' messages are not
// limited. Neither are the user's own messages to other recipients.
func TestSiteWebhooksAreRateLimited(t *testing.T) {
	p := newPostOffice(t)
	p.policy.WebhookInterval = 30 * time.Second
	p.step(core.Configured{Policy: p.policy}, -1)
	p.wish = []job.Notify{{On: []job.NotifyEvent{job.NotifyEnd}, Way: job.NotifyWebhook, Webhook: "chat"}}
	late := func(ids []job.ID) (closed, leftOut int) {
		for _, m := range p.messages {
			if !slices.Contains(ids, m.Job) {
				continue
			}
			if leftOut += m.LeftOut; m.Why.Code == "detail/notify-interval" {
				closed++
			}
		}
		return closed, leftOut
	}
	check := func(what string, ids []job.ID, wantClosed, wantLeftOut int) {
		t.Helper()
		if closed, leftOut := late(ids); closed != wantClosed || leftOut != wantLeftOut {
			t.Errorf("%s: %d given up and %d told of, want %d and %d", what, closed, leftOut, wantClosed, wantLeftOut)
		}
	}
	check("a flood", p.oweMessages(1002, 60), 40, 0)
	check("another user", p.oweMessages(1003, 5), 0, 0)
	p.now = p.now.Add(31 * time.Second)
	check("after a while", p.oweMessages(1002, 1), 0, 40)
	check("and at once again", p.oweMessages(1002, 1), 1, 0)
	p.wish = nil
	check("by mail", p.oweMessages(1002, 5), 0, 0)
}

// However many users have slow deliveries, the messages of these users take at most half of the
// places. So the message of any other user is sent at once. A user whose deliveries are not yet
// known to be slow gets one try.
func TestSlowDeliveriesDelayNobodyElse(t *testing.T) {
	p := newPostOffice(t)
	for uid := range 12 {
		p.oweMessages(2000+uid, 20)
	}
	for i := range 8 { // then all users are known to be slow, though each second delivery is fast
		p.now = p.now.Add([]time.Duration{time.Second, 30 * time.Second}[i%2])
		p.answerAll(true)
	}
	if len(p.sending) != 4 {
		t.Errorf("%d messages of slow users are sent at once", len(p.sending))
	}
	for uid := range 4 {
		if id := p.oweMessages(1001+uid, 1); !p.isSending(id[0]) {
			t.Errorf("the message of user %d waits behind slow ones", 1001+uid)
		}
	}
	p.now = p.now.Add(time.Second)
	at := slices.IndexFunc(p.sending, func(a core.Deliver) bool { return a.UID == 1001 })
	e := core.Delivered{Job: p.sending[at].Job, Event: job.NotifyEnd, Sent: true}
	p.endDelivery(e)
	p.step(e, -1)
	if again := p.oweMessages(1001, 1); !p.isSending(again[0]) {
		t.Error("a fast user counts as slow")
	}
	p.done()
}

// Users take turns, even after a restart. Neither the number of a user's waiting messages nor the
// age of the messages matters.
func TestUsersTakeTurns(t *testing.T) {
	for _, restart := range []bool{false, true} {
		p := newPostOffice(t)
		for uid := range 10 {
			p.oweMessages(2000+uid, 90)
		}
		p.now = p.now.Add(time.Minute)
		p.oweMessages(1001, 3)
		if restart {
			p.revive()
			p.step(p.listed(), -1)
			p.step(p.sample(0), -1)
		}
		rounds, got := 0, 0
		for ; got < 3 && rounds < 100; rounds++ {
			for _, uid := range p.answerAll(true) {
				if uid == 1001 {
					got++
				}
			}
		}
		if rounds > 6 { // 11 users, 8 messages at once: each user gets a turn at least every second round
			t.Errorf("restart %t: three messages beside 900 went in %d rounds", restart, rounds)
		}
		p.done()
	}
}

// At most a hundred messages of each user, and two thousand messages in all, may wait. If there are
// more, the user with the most messages loses the newest ones, and a user with few messages loses
// none. Each loss is on record with its reason.
func TestMessagesBeyondTheBoundAreGivenUp(t *testing.T) {
	p := newPostOffice(t)
	closed := func(code job.Code) (uids map[int]int) {
		uids = map[int]int{}
		for _, m := range p.messages {
			if !m.Closed.IsZero() && m.Why.Code == code {
				uids[m.UID]++
			}
		}
		return uids
	}
	p.oweMessages(2000, 103)
	if got := closed("detail/notify-many"); got[2000] != 3 {
		t.Errorf("given up: %v", got)
	}
	for uid := range 19 {
		p.oweMessages(2001+uid, 100)
	}
	few := p.oweMessages(1001, 3)
	if got := closed("detail/notify-full"); got[1001] != 0 || len(got) == 0 {
		t.Errorf("given up: %v", got)
	}
	total, open := 0, 0
	for _, n := range closed("detail/notify-full") {
		total += n
	}
	for _, m := range p.messages {
		if m.Closed.IsZero() {
			open++
		}
	}
	if total != 3 || open != 2000 {
		t.Errorf("%d given up, %d wait", total, open)
	}
	for range 1000 {
		if p.answerAll(true) == nil {
			break
		}
	}
	for _, m := range p.messages {
		if slices.Contains(few, m.Job) && !m.Sent() || m.Closed.IsZero() {
			t.Errorf("message %s is not sent: %s", messageName(&m), m.Why)
		}
	}
	p.done()
}

// Messages delay no job: jobs start even while all bounds are reached and no message is sent.
func TestMessagesDelayNoJob(t *testing.T) {
	p := newPostOffice(t)
	for uid := range 21 {
		p.oweMessages(2000+uid, 100)
	}
	var log strings.Builder
	p.log = func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }
	id := p.oweMessages(1001, 1)[0]
	if want := fmt.Sprintf("start job %d attempt 1", id); !strings.Contains(log.String(), want) || p.jobs[id].State != job.Completed {
		t.Errorf("the log is %s", &log)
	}
	p.done()
}
