package config

import (
	"maps"
	"slices"
	"testing"
)

// Changes returns the keys that differ, with the values as a file has them. Keys of sections that
// are added or removed are included. No secret is shown.
func TestChanges(t *testing.T) {
	before, now := Default(), Default()
	if list := Changes(before, now); list != nil {
		t.Errorf("nothing is different: %v", list)
	}
	before.Notify.Webhooks = map[string]string{"chat": "https://x/secret1", "old": "https://x/secret2", "same": "https://x/y"}
	now.Notify.Webhooks = maps.Clone(before.Notify.Webhooks)
	delete(now.Notify.Webhooks, "old")
	now.Notify.Webhooks["chat"] = "https://x/secret3"
	now.Jobs.MaxRunning, now.Daemon.AdminGroup = 7, "wheel"
	addQuota(&now.Quotas.Users, "alice")
	want := []Change{
		{"jobs.max_running", "1000", "7"},
		{"notify.webhook.chat.url", hidden, hidden},
		{"daemon.admin_group", `"gpusched-admin"`, `"wheel"`},
		{"notify.webhook.old.url", hidden, ""},
	}
	got := slices.DeleteFunc(Changes(before, now), func(c Change) bool { return c.Before == "" })
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.ContainsFunc(Changes(before, now), func(c Change) bool { return c.Key == "quota.user.alice.gpus" && c.Before == "" && c.Now != "" }) {
		t.Errorf("a new section is not told: %q", Changes(before, now))
	}
}
