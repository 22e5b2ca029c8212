package job

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// NotifyEvent is an event of a job about which its owner wants a message.
type NotifyEvent string

// The events. A requeued job has not ended, and a job starts only once.
const (
	NotifyStart NotifyEvent = "start" // the job's (or the array's first task's) command runs for the first time
	NotifyEnd   NotifyEvent = "end"   // the job has ended, in any way; for an array: all its tasks have ended
	NotifyFail  NotifyEvent = "fail"  // the job has ended without completing, unless its owner cancelled it
)

func NotifyEvents() []NotifyEvent { return []NotifyEvent{NotifyStart, NotifyEnd, NotifyFail} }

// NotifyWay is how a message is sent.
type NotifyWay string

// The ways.
const (
	NotifyMail     NotifyWay = "mail"     // by the machine's mail program
	NotifyWebhook  NotifyWay = "webhook"  // an HTTP POST
	NotifyTerminal NotifyWay = "terminal" // on the terminals where the job's user is logged in
)

func NotifyWays() []NotifyWay { return []NotifyWay{NotifyMail, NotifyWebhook, NotifyTerminal} }

// Notify asks for messages about a job.
type Notify struct {
	On []NotifyEvent `json:"on"`

	// Way says how to send the message; "" in a submission means the site's choice.
	Way NotifyWay `json:"way,omitempty"`

	// Webhook names one of the site's webhooks.
	Webhook string `json:"webhook,omitempty"`

	// To is a mail address or the owner's own URL; "" means mail to the owner's account on this
	// machine. Only a submission has this field: the daemon keeps the address in the payload
	// (Payload.NotifyTo).
	To string `json:"to,omitempty"`
}

const (
	MaxNotify        = 4   // number of requests for messages in one job
	MaxNotifyToBytes = 512 // length of an address or URL
)

// wantsAny reports whether n asks for any of the events.
func (n *Notify) wantsAny(events ...NotifyEvent) bool {
	return slices.ContainsFunc(events, func(e NotifyEvent) bool { return slices.Contains(n.On, e) })
}

// Notification is one message about a job. It is stored when it becomes owed, and kept for a long
// time after it was sent. Its job, event and number identify it.
type Notification struct {
	Job   ID          `json:"job"`
	Event NotifyEvent `json:"event"` // start or end
	Which int         `json:"which"` // its index in Request.Notify
	UID   int         `json:"uid"`   // uid of the job's person (Job.Person)
	Way   NotifyWay   `json:"way"`
	At    time.Time   `json:"at"` // when the message became owed

	LeftOut int `json:"left_out,omitempty"` // dropped messages of the user before this: too many for a site's webhook

	Tries  int       `json:"tries,omitempty"`
	Next   time.Time `json:"next,omitzero"`   // after a failed try: when to try again
	Closed time.Time `json:"closed,omitzero"` // when the message was sent or given up; zero: it is owed
	Why    Message   `json:"why,omitzero"`    // why the last try failed; if given up: why
}

// Sent reports whether the message has been sent.
func (n *Notification) Sent() bool { return !n.Closed.IsZero() && n.Why.IsZero() }

// Messages returns the messages that become owed at the start or end of a job.
func (j *Job) Messages(event NotifyEvent, at time.Time) []Notification {
	if j.Task != nil {
		return nil // the array sends the messages
	}
	events := []NotifyEvent{event}
	if event == NotifyEnd && j.wentWrong() {
		events = append(events, NotifyFail)
	}
	var list []Notification
	for i := range j.Request.Notify {
		if n := &j.Request.Notify[i]; n.wantsAny(events...) {
			list = append(list, Notification{Job: j.ID, Event: event, Which: i, UID: j.Person().UID, Way: n.Way, At: at})
		}
	}
	return list
}

// wentWrong reports whether a job did not complete. A job that its own owner cancelled did not go
// wrong.
func (j *Job) wentWrong() bool {
	r := j.Result
	if r == nil || r.Outcome == Completed {
		return false
	}
	return r.Outcome != Cancelled || r.Cause != "" || r.By != j.Owner.User
}

// checkNotify checks the form of a submission's requests for messages.
func (s *Submission) checkNotify(p *Problems) {
	list, to := s.Request.Notify, s.Payload.NotifyTo
	if len(list) > MaxNotify || len(to) > len(list) {
		p.add("usage/notify-many", MaxNotify)
		return
	}
	for i := range list {
		n := list[i]
		if i < len(to) {
			n.To = to[i]
		}
		n.check(p)
	}
}

func (n *Notify) check(p *Problems) {
	unknown := func(e NotifyEvent) bool { return !slices.Contains(NotifyEvents(), e) }
	switch {
	case len(n.On) == 0 || len(n.On) > len(NotifyEvents()) || slices.ContainsFunc(n.On, unknown):
		p.add("usage/notify-event")
	case n.Way != "" && !slices.Contains(NotifyWays(), n.Way):
		p.add("usage/notify-way", string(n.Way))
	case n.Way == NotifyMail && n.To != "" && !IsAddress(n.To):
		p.add("usage/notify-address")
	case n.Way == NotifyWebhook && (n.To == "") == (n.Webhook == ""):
		p.add("usage/notify-webhook")
	case n.Way == NotifyWebhook && n.To != "" && !IsWebURL(n.To):
		p.add("usage/notify-url", MaxNotifyToBytes)
	case n.Way != NotifyWebhook && n.Webhook != "", n.Way != NotifyWebhook && n.Way != NotifyMail && n.To != "":
		p.add("usage/notify-to")
	case len(n.Webhook) > MaxNameBytes || !Printable(n.Webhook):
		p.add("usage/notify-webhook")
	}
}

// These are the characters of addresses that every mail program accepts without quotes.
const (
	alnum       = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	localChars  = alnum + "._%+=-"
	domainChars = alnum + ".-"
)

// IsAddress reports whether s is a mail address such as alice@example.org, of plain characters
// only: no part of it can act as an option, a header or a second address.
func IsAddress(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	plain := func(part, chars string, most int) bool {
		return part != "" && len(part) <= most && onlyOf(part, chars) &&
			strings.Contains(alnum, part[:1]) && !strings.Contains(part, "..") && !strings.HasSuffix(part, ".")
	}
	return ok && plain(local, localChars, 64) && plain(domain, domainChars, 253)
}

func onlyOf(s, chars string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(chars, r) })
}

// IsWebURL reports whether s is a URL to which a message can be posted: http or https, with a host.
func IsWebURL(s string) bool {
	if len(s) > MaxNotifyToBytes || !Printable(s) || strings.ContainsAny(s, " \"<>\\^`{|}") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.Opaque == ""
}
