package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// unitDirs are the directories in which systemd looks for units and drop-ins.
var unitDirs = []string{
	"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
}

// reservedKeys are properties that drop-ins must not set for a job's unit. The scheduler relies on
// the values of some of these properties. The others would break a job or lose its output: see
// gpuschedd(8).
var reservedKeys = []string{
	"Type", "RemainAfterExit", "ExecStart", "ExecReload", "ExecStop", "User", "Slice", "KillMode", "Restart",
	"RuntimeMaxSec", "TimeoutStopSec", "TimeoutSec", "KillSignal",
	"DevicePolicy", "DeviceAllow", "MemoryMax", "PrivateDevices", "PAMName", "NoNewPrivileges",
	"RootDirectory", "RootImage", "DynamicUser", "PrivateUsers",
	"CollectMode", "StandardOutput", "StandardError", "LogRateLimitIntervalSec", "LogRateLimitBurst", "LogNamespace",
}

// checkDropIns checks the site's drop-ins for the units of jobs. It also names the drop-ins for the
// scheduler's own unit.
func (h host) checkDropIns() job.Check {
	const name = "drop-ins"
	var bad, own []string
	var unread error
	for _, dir := range unitDirs {
		for _, unit := range []string{"service.d", "gpujob-.service.d"} {
			found, err := h.badLines(filepath.Join(dir, unit))
			bad = append(bad, found...)
			unread = errors.Join(unread, err)
		}
		files, _ := filepath.Glob(h.path(dir + "/gpusched.service.d/*.conf"))
		for _, f := range files {
			own = append(own, strings.TrimPrefix(f, h.root))
		}
	}
	switch {
	case len(bad) > 0:
		return degraded(name, "jobs will not work as they should: "+strings.Join(bad, "; "),
			"take these lines out, and 'systemctl daemon-reload': see JOBS AS UNITS in gpuschedd(8)")
	case unread != nil:
		return unreadable(name, unread)
	case len(own) > 0:
		return healthy(name, "the scheduler's unit is changed by "+strings.Join(own, ", "))
	}
	return healthy(name, "no drop-in changes what the units of jobs need")
}

// badLines returns the lines that set a reserved key, in the drop-ins of a directory.
func (h host) badLines(dir string) (bad []string, unread error) {
	files, _ := filepath.Glob(h.path(dir + "/*.conf"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				unread = errors.Join(unread, err)
			}
			continue
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			n++
			key, _, ok := strings.Cut(line, "=")
			if key = strings.TrimSpace(key); ok && slices.Contains(reservedKeys, key) {
				bad = append(bad, fmt.Sprintf("%s:%d sets %s", strings.TrimPrefix(file, h.root), n, key))
			}
		}
	}
	return bad, unread
}
