package host

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// CheckSharedMemory reports whether logind deletes a user's shared memory when the user logs out
// for the last time. logind would then also delete the shared memory of running jobs.
func CheckSharedMemory() job.Check { return checkSharedMemory("") }

func checkSharedMemory(root string) job.Check {
	c := job.Check{Name: "shared memory", Health: job.Healthy, Detail: "logind does not delete that of running jobs (RemoveIPC=no)"}
	if removesIPC(root) {
		c.Detail = "logind deletes a user's /dev/shm files and System V segments 10 s after the user's last logout, " +
			"also those of running jobs (RemoveIPC=yes), unless the user lingers"
		c.Next = "mkdir -p /etc/systemd/logind.conf.d && ln -s /usr/share/gpusched/logind/50-gpusched.conf " +
			"/etc/systemd/logind.conf.d/ && systemctl restart systemd-logind; for one user: loginctl enable-linger USER"
	}
	return c
}

// removesIPC reads the setting RemoveIPC= as systemd does:
// first from logind.conf, and then from the drop-ins in the order of their names.
// If several directories have a drop-in with the same name, only the first one is read.
func removesIPC(root string) bool {
	first := map[string]string{}
	main := ""
	for _, place := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib"} {
		dir := filepath.Join(root, place, "systemd")
		if path := filepath.Join(dir, "logind.conf"); main == "" {
			if _, err := os.Stat(path); err == nil {
				main = path
			}
		}
		dropIns, _ := filepath.Glob(filepath.Join(dir, "logind.conf.d", "*.conf"))
		for _, path := range dropIns {
			if name := filepath.Base(path); first[name] == "" {
				first[name] = path
			}
		}
	}
	yes := readRemoveIPC(main, true)
	for _, name := range slices.Sorted(maps.Keys(first)) {
		yes = readRemoveIPC(first[name], yes)
	}
	return yes
}

// readRemoveIPC returns the value of the setting after a configuration file was read. The argument
// earlier is the value before the file was read.
func readRemoveIPC(path string, earlier bool) bool {
	text, _ := os.ReadFile(path)
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		name, value, _ := strings.Cut(line, "=")
		if section != "[Login]" || strings.TrimSpace(name) != "RemoveIPC" {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "no", "n", "false", "f", "off", "0":
			earlier = false
		case "yes", "y", "true", "t", "on", "1":
			earlier = true
		}
	}
	return earlier
}
