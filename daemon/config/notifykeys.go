package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Notify has the settings about messages that users get about their jobs.
type Notify struct {
	Ways            []job.NotifyWay   // ways of sending that jobs may use; empty: none
	OtherAddresses  bool              // whether mail may go to addresses other than the owner's account
	OwnURLs         bool              // whether messages may be posted to the owner's URLs
	Webhooks        map[string]string // the site's URLs by name
	WebhookInterval time.Duration     // least time between one user's messages to the site's URLs; 0: no limit
}

// Bars returns the reason why the site does not allow a message, or zero if it allows the message.
// The field To must be filled in. Bars is called at the submission, and again before each message
// is sent.
func (n *Notify) Bars(m *job.Notify) job.Message {
	_, named := n.Webhooks[m.Webhook]
	switch {
	case !slices.Contains(n.Ways, m.Way):
		return job.Say("detail/notify-way", string(m.Way))
	case m.Way == job.NotifyMail && m.To != "" && !n.OtherAddresses:
		return job.Say("detail/notify-address")
	case m.Webhook != "" && !named:
		return job.Say("detail/notify-webhook")
	case m.Way == job.NotifyWebhook && m.To != "" && !n.OwnURLs:
		return job.Say("detail/notify-url")
	}
	return job.Message{}
}

func notifyKeys(in, _ string) []key {
	return []key{
		{section: in, name: "ways", doc: "The ways in which messages about the start and end of jobs may be sent (--notify): mail (through /usr/sbin/sendmail), webhook (an HTTP POST) and terminal (to the terminals where the user is logged in). A job that names no way uses mail if sendmail is installed, and the terminal otherwise. Empty: no messages are sent.",
			bind: func(c *Config) value {
				return someOf(&c.Notify.Ways, "ways", "a way to send messages", job.NotifyWays()...)
			}},
		{section: in, name: "other_addresses", doc: "Whether mail may go to an address that the user names (--notify-to). Otherwise it goes only to the user's account on this machine.",
			bind: func(c *Config) value { return onOff(&c.Notify.OtherAddresses) }},
		{section: in, name: "own_urls", doc: "Whether a webhook may be a URL that the user names (--notify-to). Otherwise only the site's webhooks may be used. A process of the user's posts to the user's URL, and may do no more than the user's jobs.",
			bind: func(c *Config) value { return onOff(&c.Notify.OwnURLs) }},
		{section: in, name: "webhook_interval", doc: "The time between two messages of one user to the site's webhooks, which others read: 20 may come at once, then one in this time. Messages beyond that are dropped, and the next one says how many were. Empty: no bound.",
			bind: func(c *Config) value { return timeOrNone(&c.Notify.WebhookInterval, second, longest) }},
	}
}

// webhookSection is the section of the site's webhooks. Users see only the names of webhooks.
func webhookSection() section {
	return section{path: []string{"notify", "webhook"}, placeholder: "HOOK", wrongName: webhookName,
		doc:     "A webhook of the site, which users name and whose URL they do not see (--notify-to HOOK). The process that posts to it runs as neither root nor the user.",
		example: "[notify.webhook.lab-chat]\n  url = \"https://chat.example.org/hooks/0123\"\n",
		used:    func(c *Config) []string { return slices.Sorted(maps.Keys(c.Notify.Webhooks)) },
		add: func(c *Config, name string) {
			if c.Notify.Webhooks == nil {
				c.Notify.Webhooks = map[string]string{}
			}
			if _, there := c.Notify.Webhooks[name]; !there {
				c.Notify.Webhooks[name] = ""
			}
		},
		keys: webhookKeys,
	}
}

func webhookKeys(in, name string) []key {
	return []key{
		{section: in, name: "url", secret: true, doc: "The URL to which messages are posted as JSON; MESSAGES in gpusched-admin(7) describes it. Whoever can read this file can post there, too.",
			bind: func(c *Config) value {
				url := c.Notify.Webhooks[name]
				return entryValue{webURL(&url), func() { c.Notify.Webhooks[name] = url }}
			}},
	}
}

// webhookName checks the name of a webhook.
func webhookName(name string) error {
	switch {
	case name == "HOOK":
		return errors.New("HOOK stands for the name of a webhook: write that")
	case name == "" || len(name) > 64 || strings.Trim(name, bareChars) != "":
		return fmt.Errorf("%s is not the name of a webhook: use letters, digits, - and _",
			strconv.QuoteToASCII(name[:min(len(name), 80)]))
	}
	return nil
}

// webURL returns a setting that is a URL of http or https.
func webURL(to *string) value {
	wrong := func(s string) error {
		if s != "" && !job.IsWebURL(s) {
			return errors.New("it is not a URL of http or https") // the URL itself may be secret
		}
		return nil
	}
	return word(to, `"https://chat.example.org/hooks/0123"`, wrong, "a URL", "^(https?://.+)?$")
}
