package cgroup

import (
	"os"
	"path/filepath"
	"strings"
)

// OnlineCPUs is where the kernel lists the CPUs of the machine that run.
const OnlineCPUs = "/sys/devices/system/cpu/online"

// AllowedCPUs lists, as the kernel does ("0-15,32"), the CPUs that processes of
// a group may run on. A group that is not there yet, or has no say, has those
// of the one above it; where no group of the hierarchy at root has a say, it is
// what the file online lists. "" where nobody knows.
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
