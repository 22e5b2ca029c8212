package config

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// Each setting by itself prevents the messages that it forbids.
func TestNotifyBars(t *testing.T) {
	all := Notify{Ways: job.NotifyWays(), OtherAddresses: true, OwnURLs: true, Webhooks: map[string]string{"chat": "https://x.example"}}
	mail, address := job.Notify{Way: job.NotifyMail}, job.Notify{Way: job.NotifyMail, To: "a@b"}
	site, own := job.Notify{Way: job.NotifyWebhook, Webhook: "chat"}, job.Notify{Way: job.NotifyWebhook, To: "https://y.example"}
	terminal := job.Notify{Way: job.NotifyTerminal}
	without := func(change func(*Notify)) Notify { n := all; change(&n); return n }
	onlyMail := without(func(n *Notify) { n.Ways = []job.NotifyWay{job.NotifyMail} })
	for _, c := range []struct {
		site  Notify
		asked job.Notify
		want  job.Code
	}{
		{all, mail, ""}, {all, address, ""}, {all, site, ""}, {all, own, ""}, {all, terminal, ""},
		{Notify{}, mail, "detail/notify-way"}, {Notify{}, terminal, "detail/notify-way"},
		{onlyMail, address, ""}, {onlyMail, site, "detail/notify-way"}, {onlyMail, own, "detail/notify-way"}, {onlyMail, terminal, "detail/notify-way"},
		{without(func(n *Notify) { n.OtherAddresses = false }), address, "detail/notify-address"},
		{without(func(n *Notify) { n.OtherAddresses = false }), mail, ""},
		{without(func(n *Notify) { n.OwnURLs = false }), own, "detail/notify-url"},
		{without(func(n *Notify) { n.OwnURLs = false }), site, ""},
		{without(func(n *Notify) { n.Webhooks = nil }), site, "detail/notify-webhook"},
		{without(func(n *Notify) { n.Webhooks = nil }), own, ""},
	} {
		if got := c.site.Bars(&c.asked); got.Code != c.want {
			t.Errorf("%+v bars %+v: %v, not %q", c.site, c.asked, got, c.want)
		}
	}
}
