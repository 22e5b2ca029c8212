package host

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// CheckReboots reports whether an upgrade needs a reboot, which Debian's packages note in
// /run/reboot-required, and whether unattended upgrades reboot the machine by themselves.
func CheckReboots() job.Check { return checkReboots("") }

const byDrain = "'gpusched daemon drain --then reboot' reboots the machine when no job runs"

func checkReboots(root string) job.Check {
	c := job.Check{Name: job.RebootsCheck, Health: job.Healthy, Detail: "no reboot is due (/run/reboot-required)"}
	if since, err := os.Stat(filepath.Join(root, "/run/reboot-required")); err == nil {
		c.Health, c.Next = job.Limited, byDrain
		c.Detail = "reboot due since " + since.ModTime().Format("2006-01-02 15:04")
		if list := rebootPackages(root); len(list) > 0 {
			c.Detail += ": " + strings.Join(list, ", ")
		}
	}
	if hour := automaticReboot(root); hour != "" {
		c.Detail += "; unattended upgrades reboot the machine at " + hour + " when it is due, also under jobs"
		c.Next = `set Unattended-Upgrade::Automatic-Reboot to "false" in /etc/apt/apt.conf.d; ` + byDrain
	}
	return c
}

// mostPackages is the number of packages that the check names.
const mostPackages = 4

// rebootPackages returns the first packages that need the reboot.
func rebootPackages(root string) []string {
	text, _ := os.ReadFile(filepath.Join(root, "/run/reboot-required.pkgs"))
	list := slices.Compact(slices.Sorted(slices.Values(strings.Fields(string(text)))))
	if len(list) > mostPackages {
		list = append(list[:mostPackages:mostPackages], "…")
	}
	return list
}

var aptReboot = regexp.MustCompile(`(?m)^\s*Unattended-Upgrade::Automatic-Reboot(-Time)?\s+"([^"]*)"\s*;`)

// automaticReboot returns the hour at which unattended upgrades reboot the machine, or "" if they
// don't. The files are read in the order of their names, and the last value counts.
func automaticReboot(root string) string {
	if _, err := os.Stat(filepath.Join(root, "/usr/share/unattended-upgrades")); err != nil { // the sandbox hides /usr/bin
		return ""
	}
	on, hour := false, "now"
	files, _ := filepath.Glob(filepath.Join(root, "/etc/apt/apt.conf.d/*"))
	for _, path := range files {
		text, _ := os.ReadFile(path)
		for _, m := range aptReboot.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "" {
				hour = m[2]
			} else {
				on = slices.Contains([]string{"true", "yes", "on", "1", "with", "enable"}, strings.ToLower(m[2]))
			}
		}
	}
	switch {
	case !on:
		return ""
	case hour == "now":
		return "once"
	}
	return hour
}
