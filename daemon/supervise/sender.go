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

// sender sends messages about jobs to those whom their owners named. It decides what a message says and which unit
// sends it: the daemon itself opens no connection and runs no program for that.
type sender struct {
	Dir     string // of what gpusched-notify is given; root's alone to write
	Program string // absolute path of gpusched-notify
	Host    string // name of the machine, for people
	Units   messageUnits
	Scope   units.Scope // of the systemd that has them

	// Bars says why the site does not send a message, by its settings of now.
	Bars func(*job.Notify) job.Message
	// Webhook returns the URL of one of the site's webhooks, "" if there is none of the name.
	Webhook func(name string) string
	// Render is a job as everybody may see it.
	Render func(*job.JobView) api.Job
}

// messageUnits is what of systemd sends messages.
type messageUnits interface {
	RunMessage(ctx context.Context, name string, props []units.Property) (units.Status, error)
}

// Deliver sends one message. It is daemon.Deliver.
func (s *sender) Deliver(ctx context.Context, n job.Notification, j *job.Job, to string) (why job.Message, again bool) {
	wish := j.Request.Notify[n.Which]
	wish.To = to
	if why := s.Bars(&wish); !why.IsZero() { // they may have changed since it was owed
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
	status, err := s.Units.RunMessage(ctx, name, units.MessageProperties(spec))
	err = errors.Join(err, launch.RemoveMessage(s.Dir, file))
	if err != nil {
		return job.Text(err.Error()), true
	}
	return outcome(&status)
}

// message is what the program is given, but for where it goes.
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

// maxTold bounds what is kept of what the program says: it is its user's, who can have it
// say anything.
const maxTold = 200

// outcome says how it went from how the unit ended.
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
	if told := printable(s.StatusText); told != "" {
		return job.Text(told), again
	}
	return job.Say("detail/notify-unit", s.Result), again
}

// printable is a line that can be shown as it is.
func printable(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxTold)], "")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if job.Printable(string(r)) {
			return r
		}
		return ' '
	}, s))
}

// hostname is the name of the machine, for people.
func hostname() string {
	name, err := os.Hostname()
	if err != nil || !job.Printable(name) || name == "" {
		return "localhost"
	}
	return name
}
