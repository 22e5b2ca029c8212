package bugreport

import (
	"strings"
	"testing"
)

func masker() *Masker {
	m := New("gpu-srv7", "alice")
	m.User("bob")
	m.User("carol.jones")
	m.Group("vision")
	return m
}

// Private data is masked. The rest is unchanged (invariants 1 and 3).
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"process 7 (train-gpt5) of uid 1001":                 "process 7 (program) of uid 1001",
		"1 of bob, with 77.1G":                               "1 of user-1, with 77.1G",
		"1 of carol.jones, and bob.":                         "1 of user-2, and user-1.",
		"me is alice on gpu-srv7":                            "me is me on host",
		"bobcat and alice2 are words":                        "bobcat and alice2 are words",
		"paused by root (for the review of Eve)":             "paused by root (reason)",
		"drained by bob (secret plan), until it is resumed":  "drained by user-1 (reason), until it is resumed",
		"post to https://hooks.example.org/T0/B1/xyz failed": "post to https://(masked) failed",
		"mail to bob@example.org":                            "mail to (address)",
		"dial 10.1.2.3:443":                                  "dial (address):443",
		"from fe80:1:2:3:4:5:6:7":                            "from (address)",
		"token=abc":                                          "token=(masked)",
		"Authorization: Bearer abc.def":                      "Authorization: (masked) (masked)",
		`"api_key": "x y z", n`:                              `"api_key": (masked), n`,
		"key ghp_0aB1cD2eF3gH4iJ5kL6m is":                    "key (masked) is",
		"open /home/bob/secret/x: no such file":              "open (path): no such file",
		"read /data/vision/set.bin":                          "read (path)",
		"/scratch/x is full":                                 "(path) is full",
		"31.8G free in /var/lib/gpusched":                    "31.8G free in /var/lib/gpusched",
		"see /run/user/1000/x and /var/tmp/bob":              "see (path) and (path)",
		"no mistake in /etc/gpusched/conf.d/50-bob.toml":     "no mistake in /etc/gpusched/conf.d/(file)",
		"version 252.39-1~deb12u2 answers, driver 550.54.14": "version 252.39-1~deb12u2 answers, driver 550.54.14",
		"boot with systemd.unified_cgroup_hierarchy=1":       "boot with systemd.unified_cgroup_hierarchy=1",
		"as they were read at 2026-11-23 07:10:07":           "as they were read at 2026-11-23 07:10:07",
		"/dev/nvidia-uvm is not there":                       "/dev/nvidia-uvm is not there",
	} {
		if got := masker().Text(text); got != want {
			t.Errorf("%q\n becomes %q\n want    %q", text, got, want)
		}
	}
}

// Invariant 2: a field keeps its value only if the field is on the list.
func TestLog(t *testing.T) {
	const line = `gpuschedd[100]: job ended job=7 uid=1001 name="my secret" reason=because by=bob path=/home/bob outcome=failed err="open /home/bob/x: no"`
	const want = `gpuschedd[100]: job ended job=7 uid=1001 name=(masked) reason=(masked) by=(masked) path=(masked) outcome=failed err="open (path): no"`
	if got := masker().Log(line); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestSettings(t *testing.T) {
	const text = `[jobs]
default_mem = "auto"  # default
max_time = "12h"  # /etc/gpusched/gpusched.toml:7
allowed_paths = ["/data/vision"]  # /etc/gpusched/conf.d/50-bob.toml:1
requeue = false  # /etc/gpusched/gpusched.toml:8

[gpus]
extra_devices = ["/dev/nvidia-uvm"]  # /etc/gpusched/gpusched.toml:9
only = [0, 2]  # /etc/gpusched/gpusched.toml:10

[daemon]
admin_group = "vision"  # /etc/gpusched/gpusched.toml:11

[idle]
after = "30m"  # default

[quota.user.bob]
gpus = 2  # /etc/gpusched/gpusched.toml:12

[quota.group.dave-lab]
gpu_hours = "100h"  # /etc/gpusched/gpusched.toml:13

[notify.webhook.lab-chat]
url = "https://chat.example.org/hooks/0123"  # /etc/gpusched/gpusched.toml:14
`
	const want = `[jobs]
max_time = "12h"  # /etc/gpusched/gpusched.toml:7
allowed_paths = "(masked)"  # /etc/gpusched/conf.d/(file):1
requeue = false  # /etc/gpusched/gpusched.toml:8
[gpus]
extra_devices = ["/dev/nvidia-uvm"]  # /etc/gpusched/gpusched.toml:9
only = [0, 2]  # /etc/gpusched/gpusched.toml:10
[daemon]
admin_group = "(masked)"  # /etc/gpusched/gpusched.toml:11
[quota.user.user-1]
gpus = 2  # /etc/gpusched/gpusched.toml:12
[quota.group.group-2]
gpu_hours = "100h"  # /etc/gpusched/gpusched.toml:13
[notify.webhook.group-3]
url = "(masked)"  # /etc/gpusched/gpusched.toml:14`
	kept, defaults := masker().Settings(text)
	if got := strings.Join(kept, "\n"); got != want || defaults != 2 {
		t.Errorf("%d defaults, %s", defaults, got)
	}
}
