package cgroup

import (
	"os"
	"path/filepath"
	"strings"
)

// OnlineCPUs is the kernel's file that lists the machine's running CPUs.
const OnlineCPUs = "/sys/devices/system/cpu/online"

// AllowedCPUs returns, in the kernel's format ("0-15,32"), the CPUs on which processes of a control
// group may run. If the group does not exist or has no list of CPUs, the list of its parent counts.
// If no group of the hierarchy at root has a list, AllowedCPUs returns the running CPUs, which it
// reads from the file with the path online (see OnlineCPUs). The result is "" if nothing is known.
func AllowedCPUs(root, group, online string) string {
	for at := filepath.Clean("/" + group); ; at = filepath.Dir(at) {
		if list := line(filepath.Join(root, at, "cpuset.cpus.effective")); list != "" {
			return list
		}
		if at == "/" {
			return line(online)
		}
	}
}

func line(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
