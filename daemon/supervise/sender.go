package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/launch"
)

// sender sends messages about jobs to the recipients that the jobs' owners named. It also sends
// lines to the terminals of users who have processes on GPUs of other users' jobs. It decides what
// a message says, and which unit sends it. The daemon itself opens no connection and starts no
// program for a message.
type sender struct {
	Dir     string // directory of gpusched-notify's inputs; only root may write to it
	Program string // absolute path of gpusched-notify
	Host    string // name of the machine, shown to people
	Units   oneshotRunner
	Scope   units.Scope // which systemd runs the units

	// Bars returns why the site's present settings forbid a message. It returns the zero Message if
	// they allow it.
	Bars func(*job.Notify) job.Message
	// Webhook returns the URL of one of the site's webhooks, "" if there is none with this name.
	Webhook func(name string) string
	// Render returns the part of a job that everybody may see.
	Render func(*job.JobView) api.Job
}

// oneshotRunner is the part of systemd that runs a unit to its end.
type oneshotRunner interface {
	RunOneshot(ctx context.Context, name string, props []units.Property) (units.Status, error)
}

// Deliver implements daemon.Deliver: it sends one message.
func (s *sender) Deliver(ctx context.Context, n job.Notification, j *job.Job, to string) (why job.Message, again bool) {
	wish := j.Request.Notify[n.Which]
	wish.To = to
	if why := s.Bars(&wish); !why.IsZero() { // the settings may have changed since the message was due
		return why, false
	}
	m, err := s.message(n, j)
	if err != nil {
		return job.Text(err.Error()), false
	}
	m.To = to
	spec := units.MessageSpec{
		Job: int64(j.ID), Event: string(n.Event), Number: n.Which, Program: s.Program, UID: j.Owner.UID, GID: j.Owner.GID,
		Scope: s.Scope,
	}
	switch {
	case n.Way == job.NotifyMail && to == "":
		m.To = j.Owner.User
	case n.Way == job.NotifyWebhook && wish.Webhook != "":
		spec.OfSite, m.OfSite = true, true
		m.To = s.Webhook(wish.Webhook)
		if m.To == "" {
			return job.Say("detail/notify-webhook"), false
		}
	}
	return s.send(ctx, spec, &m)
}

// TellUser implements daemon.TellUser.
func (s *sender) TellUser(ctx context.Context, uid int, text string) error {
	spec := units.MessageSpec{Event: "user", Number: int(time.Now().Unix()), Program: s.Program, UID: uid, Scope: s.Scope}
	m := contract.Message{Way: string(job.NotifyTerminal), Host: s.Host, ID: units.MessageName(spec), Subject: text}
	if why, _ := s.send(ctx, spec, &m); !why.IsZero() {
		return errors.New(words.Say(why))
	}
	return nil
}

// send runs the unit that sends a message.
func (s *sender) send(ctx context.Context, spec units.MessageSpec, m *contract.Message) (why job.Message, again bool) {
	name := units.MessageName(spec)
	file := name + launch.MessageSuffix
	spec.File = filepath.Join(s.Dir, file)
	data, err := json.Marshal(m)
	if err == nil {
		err = launch.WriteMessage(s.Dir, file, data)
	}
	if err != nil {
		return job.Text(err.Error()), true
	}
	status, err := s.Units.RunOneshot(ctx, name, units.MessageProperties(spec))
	err = errors.Join(err, launch.RemoveMessage(s.Dir, file))
	if err != nil {
		return job.Text(err.Error()), true
	}
	return outcome(&status)
}

// message returns the input of gpusched-notify. It does not include the recipient.
func (s *sender) message(n job.Notification, j *job.Job) (contract.Message, error) {
	letter := words.MakeLetter(n.Event, j, s.Host)
	m := contract.Message{
		Way: string(n.Way), Host: s.Host, Subject: letter.Subject, Body: letter.Body,
		ID: fmt.Sprintf("gpusched.%d.%s.%d.%d", j.ID, n.Event, n.Which, n.At.UnixMicro()),
	}
	if n.Way != job.NotifyWebhook {
		return m, nil
	}
	body, err := json.Marshal(api.WebhookMessage{
		Schema: api.Schema, ID: m.ID, Event: n.Event, At: n.At.UTC().Truncate(time.Second), Host: s.Host,
		Text: letter.Chat + words.LeftOut(n.LeftOut), Job: s.Render(&job.JobView{Job: *j}),
	})
	m.Body = string(body)
	return m, err
}

// maxTold limits how much of the status line of gpusched-notify is kept: the user can put anything
// into it.
const maxTold = 200

// outcome returns why the unit failed to send a message, and whether another try may succeed.
func outcome(s *units.Status) (why job.Message, again bool) {
	if s.Result == units.ResultSuccess {
		return job.Message{}, false
	}
	again = true
	switch {
	case s.Result == units.ResultTimeout:
		return job.Say("detail/notify-slow"), again
	case s.Result == units.ResultExitCode && s.MainStatus == contract.MessageRefused:
		again = false
	}
	if told := printableLine(s.StatusText); told != "" {
		return job.Text(told), again
	}
	return job.Say("detail/notify-unit", s.Result), again
}

// printableLine returns the text as one line that is safe to show.
func printableLine(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxTold)], "")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if job.Printable(string(r)) {
			return r
		}
		return ' '
	}, s))
}

// hostname returns the name of the machine, to be shown to people.
func hostname() string {
	name, err := os.Hostname()
	if err != nil || !job.Printable(name) || name == "" {
		return "localhost"
	}
	return name
}
