package gpu

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// JobUnitPrefix starts the name of every unit of a job.
const JobUnitPrefix = "gpujob-"

// Owner is who a process belongs to.
type Owner struct {
	Alive bool   // it is in /proc and not a zombie
	UID   int    // real uid; -1 unknown
	Comm  string // printable, "" unknown
	Unit  string // systemd unit, "" unknown or none
}

// OwnerOf reads who pid belongs to from procRoot ("/proc"). A pid that is not
// there, or a zombie (its context is already gone or never will be), is not
// Alive; a file that cannot be read leaves its field unknown.
func OwnerOf(procRoot string, pid int) Owner {
	dir := filepath.Join(procRoot, strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if pid <= 0 || err != nil {
		return Owner{UID: -1}
	}
	o := Owner{Alive: true, UID: -1}
	for line := range bytes.Lines(status) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			o.Comm = printable(value, maxWord)
		case "State":
			o.Alive = !strings.HasPrefix(value, "Z") && !strings.HasPrefix(value, "X")
		case "Uid":
			o.UID = firstNumber(value)
		}
	}
	if cgroup, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil && o.Alive {
		o.Unit = UnitOfCgroup(string(cgroup))
	}
	return o
}

func firstNumber(fields string) int {
	f := strings.Fields(fields)
	if len(f) == 0 {
		return -1
	}
	n, err := strconv.Atoi(f[0])
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// UnitOfCgroup finds the systemd unit in the text of /proc/PID/cgroup: of the
// version 2 line ("0::/…"), or of the name=systemd hierarchy where that line is
// absent or empty, the last *.service or *.scope component that starts with
// JobUnitPrefix, else the deepest *.service, *.scope or *.slice component, else
// "". A job that runs a systemd or a container of its own below its unit is
// thereby still the job's.
func UnitOfCgroup(text string) string {
	unit := ""
	for line := range strings.Lines(text) {
		id, rest, ok := strings.Cut(strings.TrimRight(line, "\n"), ":")
		if !ok {
			continue
		}
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		switch {
		case id == "0" && controllers == "":
			if u := unitOfPath(path); u != "" {
				return u
			}
		case controllers == "name=systemd":
			unit = unitOfPath(path)
		}
	}
	return unit
}

func unitOfPath(path string) string {
	job, deepest := "", ""
	for part := range strings.SplitSeq(strings.TrimSuffix(path, " (deleted)"), "/") {
		isService := strings.HasSuffix(part, ".service") || strings.HasSuffix(part, ".scope")
		if !isService && !strings.HasSuffix(part, ".slice") {
			continue
		}
		deepest = part
		if isService && strings.HasPrefix(part, JobUnitPrefix) {
			job = part
		}
	}
	if job != "" {
		return printable(job, maxUnit)
	}
	return printable(deepest, maxUnit)
}
