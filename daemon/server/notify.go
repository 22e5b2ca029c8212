package server

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// splitNotify separates a job's messages from their addresses, which are private.
func splitNotify(list []job.Notify) (public []job.Notify, to []string) {
	public, to = slices.Clone(list), make([]string, len(list))
	for i := range public {
		to[i], public[i].To = public[i].To, ""
	}
	if !slices.ContainsFunc(to, func(s string) bool { return s != "" }) {
		to = nil
	}
	return public, to
}

// allowNotify chooses a way of sending for each message whose submitter chose none. It refuses ways
// that the site forbids or does not have.
func (s *Server) allowNotify(sub *job.Submission) error {
	site, mail := s.opt.Config().Notify, s.opt.HasMail == nil || s.opt.HasMail()
	for i := range sub.Request.Notify {
		n := &sub.Request.Notify[i]
		if n.Way == "" {
			n.Way = job.NotifyMail
			if !mail || !slices.Contains(site.Ways, n.Way) {
				n.Way = job.NotifyTerminal
			}
		}
		asked := *n
		if i < len(sub.Payload.NotifyTo) {
			asked.To = sub.Payload.NotifyTo[i]
		}
		if why := site.Bars(&asked); !why.IsZero() {
			return notifyRefused(words.Say(why), insteadHint(&asked, &site))
		}
		switch {
		case n.Way == job.NotifyMail && !mail:
			return notifyRefused("there is no /usr/sbin/sendmail on this machine",
				"use --notify terminal:end, or ask your administrator for a mail system")
		case n.Way == job.NotifyMail && asked.To == "" && sub.Owner.User == strconv.Itoa(sub.Owner.UID):
			return notifyRefused("your user id has no account on this machine to send mail to",
				"name an address: --notify-to alice@example.org")
		}
	}
	return nil
}

// insteadHint returns a hint about what to use instead of a message that the site forbids.
func insteadHint(asked *job.Notify, site *config.Notify) string {
	switch {
	case !slices.Contains(site.Ways, asked.Way):
		return notifyWays(site.Ways)
	case asked.Way == job.NotifyMail:
		return "use --notify without --notify-to"
	}
	return webhookNames(site.Webhooks)
}

func notifyRefused(message, hint string) error {
	return &api.Error{Code: api.CodePolicy, Message: message, Hint: hint}
}

func notifyWays(list []job.NotifyWay) string {
	if len(list) == 0 {
		return "leave --notify out, or use --notify none"
	}
	return "use " + strings.Join(job.Each(list, func(w job.NotifyWay) string { return string(w) }), " or ")
}

func webhookNames[V any](hooks map[string]V) string {
	if len(hooks) == 0 {
		return "it has none"
	}
	return "it has " + listed(slices.Sorted(maps.Keys(hooks)))
}

// renderMessages converts the messages about a job.
func renderMessages(list []job.Notification) []api.Message {
	var out []api.Message
	for _, n := range list {
		out = append(out, api.Message{
			Event: n.Event, Which: n.Which, Way: n.Way, At: n.At.UTC(), Tries: n.Tries,
			Next: moment(n.Next), Closed: moment(n.Closed), Sent: n.Sent(), Sentence: words.Say(n.Why),
		})
	}
	return out
}

// Describe converts a job to the form that everybody may see.
func (s *Server) Describe(v *job.JobView) api.Job { return s.namer().renderJob(v) }
