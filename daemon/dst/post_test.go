package dst

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A postLog records what really happens to messages.
type postLog struct {
	letters map[messageKey]*letter // the last try to send each message
	reached map[messageKey]int     // how often each message reached its recipient
	told    map[messageKey]*life   // process that was last told that the message was sent
	flying  map[int]int            // number of tries that this process has under way, by user
}

// letter is one try to send a message. The try has a unit of its own, which outlives the daemon.
type letter struct {
	until   time.Duration // when the try ends
	over    bool
	reaches bool        // the message reaches its recipient, whatever is reported
	why     job.Message // the failure that is reported; empty: success is reported
	again   bool
}

// These are the maximum numbers of tries under way at once, for one user and in all.
const (
	tryingOfUser = 1
	tryingOfAll  = 8
)

func newPost() postLog {
	return postLog{
		letters: map[messageKey]*letter{}, reached: map[messageKey]int{},
		told: map[messageKey]*life{}, flying: map[int]int{},
	}
}

// drawNotify draws the messages that a job asks for.
func (w *World) drawNotify(r *job.Request, e *Entry) {
	d := w.roll("notify", e.Pick)
	if !d.chance(30) {
		return
	}
	for range 1 + d.n(2) {
		on := pick(d, []job.NotifyEvent{job.NotifyEnd}, []job.NotifyEvent{job.NotifyFail},
			[]job.NotifyEvent{job.NotifyStart, job.NotifyEnd})
		r.Notify = append(r.Notify, job.Notify{On: on, Way: pick(d, job.NotifyMail, job.NotifyTerminal)})
	}
}

// deliver is daemon.Options.Deliver.
func (w *World) deliver(ctx context.Context, n job.Notification, _ *job.Job, _ string) (why job.Message, again bool) {
	l, key, p := w.current.life, messageKey{n.Job, n.Event, n.Which}, &w.post
	w.mayDie(l)
	w.judgeSend(&n, key, l)
	p.flying[n.UID]++
	x := p.letters[key]
	if x == nil || x.over { // if not, a try of an earlier process still runs
		x = w.write(key)
	}
	_ = w.sleep(ctx, max(0, x.until-w.Elapsed))
	p.flying[n.UID]--
	w.mayDie(l)
	if !x.over {
		return job.Text("nobody knows what became of it"), true
	}
	if x.why.IsZero() {
		p.told[key] = l
	}
	return x.why, x.again
}

// write begins a try to send a message. Until the faults end, a try may fail in several ways.
func (w *World) write(key messageKey) *letter {
	d := w.roll("message", uint64(key.job), uint64(key.which), uint64(len(key.event)), uint64(w.Elapsed))
	x, took := &letter{reaches: true}, d.shortTime(20*time.Millisecond)
	if fault := d.n(8); !w.healed {
		switch fault {
		case 0, 1:
			w.count("message that is to be sent again")
			x.reaches, x.why, x.again = false, job.Text("busy"), true
		case 2:
			w.count("message that nobody takes")
			x.reaches, x.why = false, job.Text("no such user")
		case 3: // the unit is stopped at its time limit, and nobody knows what it had done before
			w.count("message that hangs")
			x.reaches, x.why, x.again, took = d.chance(50), job.Text("it took too long"), true, 2*time.Minute
		case 4: // the try takes longer than the daemon waits
			took = 10 * time.Minute
		case 5:
			took = d.between(0, time.Minute)
		}
	}
	if w.planted.lyingPost && x.why.IsZero() {
		x.reaches = false
	}
	x.until = w.Elapsed + took
	w.post.letters[key] = x
	w.after(took, func() {
		if !x.over && x.reaches {
			w.post.reached[key]++
			w.tell("%v reaches its recipient, %d times by now", key, w.post.reached[key])
		}
		x.over = true
	})
	return x
}

// loseTries ends the tries that are under way at a reboot.
func (p *postLog) loseTries() {
	for _, x := range p.letters {
		if !x.over {
			x.over, x.reaches = true, false
			x.why, x.again = job.Text("the machine went down"), true
		}
	}
}

func (k messageKey) String() string {
	return fmt.Sprintf("message %d about the %s of job %d", k.which, k.event, k.job)
}

// judgeSend checks invariant 18 when a try begins.
func (w *World) judgeSend(n *job.Notification, key messageKey, l *life) {
	p := &w.post
	stored, ok := w.disk.messages[key]
	if !ok || !stored.Closed.IsZero() {
		w.breach(18, "%v is sent and is not owed on record", key)
	}
	j := w.disk.jobs[n.Job]
	if n.Event == job.NotifyEnd && !j.State.Terminal() || n.Event == job.NotifyStart && !j.Began {
		w.breach(18, "%v is sent before that is on record, where it is %s", key, j.State)
	}
	if p.told[key] == l {
		w.breach(18, "%v is sent again by a process that was told that it is sent", key)
	}
	all := 0
	for _, n := range p.flying {
		all += n
	}
	if p.flying[n.UID] >= tryingOfUser || all >= tryingOfAll {
		w.breach(18, "%v is sent beside %d of its user's and %d in all", key, p.flying[n.UID], all)
	}
}

// judgeMessage checks invariant 18 for a record about a message.
func (w *World) judgeMessage(n *job.Notification) {
	key := messageKey{n.Job, n.Event, n.Which}
	old, known := w.disk.messages[key]
	switch {
	case known && !old.Closed.IsZero() && !old.Closed.Equal(n.Closed):
		w.breach(18, "%v is changed after it was sent or given up", key)
	case known && n.Tries < old.Tries:
		w.breach(18, "%v was tried %d times, and now %d", key, old.Tries, n.Tries)
	case n.Sent() && w.post.reached[key] == 0:
		w.breach(18, "%v is recorded as sent and never was", key)
	case n.Sent() && !old.Sent():
		w.count("message sent")
		if w.post.reached[key] > 1 {
			w.count("message sent more than once")
		}
	}
}

// owedStill names a message that is neither sent nor given up. It returns "" if there is none.
func (w *World) owedStill() (text string) {
	for key, n := range w.disk.messages {
		if s := key.String(); n.Closed.IsZero() && (text == "" || s < text) {
			text = s
		}
	}
	return text
}

// judgeTellings checks invariant 18 at the end: each message that an ended job asked for was
// recorded as owed.
func (w *World) judgeTellings() {
	for _, id := range slices.Sorted(maps.Keys(w.disk.jobs)) {
		j := w.disk.jobs[id]
		if !j.State.Terminal() { // the job was submitted late
			continue
		}
		owed := j.Messages(job.NotifyEnd, time.Time{})
		if j.Began {
			owed = append(owed, j.Messages(job.NotifyStart, time.Time{})...)
		}
		for _, n := range owed {
			if key := (messageKey{id, n.Event, n.Which}); w.disk.messages[key].Job == 0 {
				w.breach(18, "%v was never owed, and the job is %s", key, j.State)
			}
		}
	}
}
