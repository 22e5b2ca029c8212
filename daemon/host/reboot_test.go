package host

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestReboots(t *testing.T) {
	const tool = "usr/share/unattended-upgrades/x"
	const on = "Unattended-Upgrade::Automatic-Reboot \"true\";\n"
	for name, c := range map[string]struct {
		files  map[string]string
		health job.Health
		detail string
		next   string
	}{
		"nothing":       {nil, job.Healthy, "no reboot is due (/run/reboot-required)", ""},
		"due":           {map[string]string{"run/reboot-required": ""}, job.Limited, "reboot due since 20", "drain --then reboot"},
		"with packages": {map[string]string{"run/reboot-required": "", "run/reboot-required.pkgs": "nvidia\nlinux\nlinux\n"}, job.Limited, ": linux, nvidia", "drain --then reboot"},
		"many":          {map[string]string{"run/reboot-required": "", "run/reboot-required.pkgs": "a\nb\nc\nd\ne\n"}, job.Limited, ": a, b, c, d, …", "drain"},
		"by itself": {map[string]string{tool: "", "etc/apt/apt.conf.d/50u": on + "Unattended-Upgrade::Automatic-Reboot-Time \"02:00\";\n"},
			job.Healthy, "unattended upgrades reboot the machine at 02:00 when it is due, also under jobs", "Automatic-Reboot to \"false\""},
		"at once":       {map[string]string{tool: "", "etc/apt/apt.conf.d/50u": on}, job.Healthy, "reboot the machine at once", "false"},
		"a later file":  {map[string]string{tool: "", "etc/apt/apt.conf.d/50u": on, "etc/apt/apt.conf.d/99": strings.Replace(on, "true", "false", 1)}, job.Healthy, "no reboot is due (/run/reboot-required)", ""},
		"a comment":     {map[string]string{tool: "", "etc/apt/apt.conf.d/50u": "//" + on}, job.Healthy, "no reboot is due (/run/reboot-required)", ""},
		"not installed": {map[string]string{"etc/apt/apt.conf.d/50u": on}, job.Healthy, "no reboot is due (/run/reboot-required)", ""},
	} {
		got := checkReboots(rootWith(t, c.files))
		whole := strings.HasPrefix(c.detail, "no ") && got.Detail != c.detail
		if got.Health != c.health || whole || !strings.Contains(got.Detail, c.detail) || !strings.Contains(got.Next, c.next) || (c.next == "") != (got.Next == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
