package gpu

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// An Owner says to whom a process belongs.
type Owner struct {
	Alive bool   // in /proc and not a zombie
	UID   int    // real uid, -1 if unknown
	Comm  string // printable, "" if unknown
	Unit  string // systemd unit, "" if unknown or none

	// Start time in clock ticks since boot, 0 if unknown. It distinguishes processes with the same
	// pid.
	Start uint64
	Age   time.Duration // time since Start, 0 if unknown
}

// OwnerOf reads the owner of pid from procRoot ("/proc"). A missing process is not Alive. A zombie
// without other threads is not Alive either: the driver has already released it, or never will. If
// a file cannot be read, the fields that depend on the file are unknown.
func OwnerOf(procRoot string, pid int) Owner { return OwnerBelow(procRoot, "", pid) }

// OwnerBelow is OwnerOf for a scheduler whose jobs are units of a user's own systemd. The argument
// group is the control group of that systemd, or "" for the machine's.
func OwnerBelow(procRoot, group string, pid int) Owner {
	dir := filepath.Join(procRoot, strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if pid <= 0 || err != nil {
		return Owner{UID: -1}
	}
	o := ownerOfStatus(string(status))
	if !o.Alive {
		return o
	}
	if cgroup, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil {
		o.Unit = UnitOfCgroup(string(cgroup), group)
	}
	o.Start = StartOf(procRoot, pid)
	if group != "" && strings.HasPrefix(o.Unit, otherSlices) {
		return o // without Age: with an Age, one of the user's own jobs would be blamed for leaving the process behind
	}
	if uptime, err := os.ReadFile(filepath.Join(procRoot, "uptime")); err == nil && o.Start > 0 {
		o.Age = ageOf(o.Start, string(uptime))
	}
	return o
}

// otherSlices is the prefix of the slices of the machine's scheduler. A user's own scheduler has no
// slice with that prefix.
const otherSlices = "gpujobs-u"

// ticksPerSecond is Linux's unit of process start times on every architecture that has an NVIDIA
// driver.
const ticksPerSecond = 100

// StartOf returns the start time of pid in clock ticks since boot, or 0 if there is no such process
// or its start time cannot be read.
func StartOf(procRoot string, pid int) uint64 {
	stat, err := os.ReadFile(filepath.Join(procRoot, strconv.Itoa(pid), "stat"))
	if pid <= 0 || err != nil {
		return 0
	}
	// The second field, the name, may contain anything. The start time is field 22.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0
	}
	return start
}

// ageOf returns the age of a process, given the text of /proc/uptime, whose resolution is a tick.
// The age of a process that started in the present tick is a nanosecond, because 0 means unknown.
func ageOf(start uint64, uptime string) time.Duration {
	up, _, _ := strings.Cut(uptime, " ")
	seconds, err := strconv.ParseFloat(up, 64)
	began := float64(start) / ticksPerSecond
	if err != nil || !(seconds >= began) || seconds > math.MaxInt32 {
		return 0
	}
	return max(time.Duration((seconds-began)*float64(time.Second)), 1)
}

// ownerOfStatus reads everything but the unit from the text of /proc/PID/status. A thread group
// leader that ended before its other threads also appears as a zombie, so the number of threads
// decides whether the process is Alive.
func ownerOfStatus(text string) Owner {
	o := Owner{UID: -1}
	ended, threads := false, 1
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			o.Comm = toPrintable(value, maxWord)
		case "State":
			ended = strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X")
		case "Uid":
			o.UID = firstNumber(value)
		case "Threads":
			threads = firstNumber(value)
		}
	}
	o.Alive = !ended || threads > 1
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

// UnitOfCgroup returns the systemd unit in the text of /proc/PID/cgroup, or "" for none. It reads
// the version 2 line ("0::/…"). If that line is missing or names no unit, it reads the line of the
// name=systemd hierarchy.
//
// A job's unit counts only where systemd puts it: directly below slices. Everything that a job runs
// below its unit (a container, its own systemd) belongs to the job. A service that has the name of
// a job's unit, but is in a user manager or inside a container, does not count, because it would
// hide foreign use behind somebody's job. Any other process belongs to its deepest unit that does
// not have the name of a job's unit.
//
// The same holds for the units that serve MPS.
//
// If a process is below a job's own slice ("gpujobs-u1001-j42.slice") but not in the job's unit,
// the result is that slice, provided that the slice is where systemd puts it. The processes of a
// container of Docker are there. Whoever may use Docker can name any slice, so the caller must
// check that the job belongs to the user in the slice's name, runs, and uses Docker.
//
// If the argument group is not "", jobs are units below that control group, and jobs of the
// machine's systemd belong to another scheduler.
func UnitOfCgroup(text, group string) string {
	unit := ""
	for line := range strings.Lines(text) {
		id, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		switch {
		case !ok || !strings.HasPrefix(path, "/"):
		case id == "0" && controllers == "":
			if u := unitOfPath(path, group); u != "" {
				return u
			}
		case controllers == "name=systemd":
			unit = unitOfPath(path, group)
		}
	}
	return unit
}

func unitOfPath(path, below string) string {
	deepest, inSlices := "", true
	if slice := jobSlice(path); slice != "" && below == "" {
		return toPrintable(slice, maxUnit)
	}
	if below != "" {
		var ours bool
		if path, ours = cutGroup(path, below); !ours {
			inSlices = false
		}
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(path, " (deleted)"), "/") {
		switch {
		case part == "":
		case strings.HasSuffix(part, ".slice"):
			deepest = part
		case strings.HasSuffix(part, ".service") || strings.HasSuffix(part, ".scope"):
			isJob := strings.HasPrefix(part, contract.UnitPrefix) || strings.HasPrefix(part, contract.MPSPrefix)
			if isJob && inSlices {
				return toPrintable(part, maxUnit)
			}
			if !isJob {
				deepest = part
			}
			inSlices = false
		default:
			inSlices = false
		}
	}
	return toPrintable(deepest, maxUnit)
}

// jobSlice returns the slice of a single job that contains the control group path, or "" if there
// is none or if path is in the job's unit. A slice of that name elsewhere, such as in a user's own
// systemd, does not count.
func jobSlice(path string) string {
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 5)
	if len(parts) < 4 || parts[0] != "gpujobs.slice" || strings.HasPrefix(parts[3], contract.UnitPrefix) {
		return ""
	}
	user, isSlice := strings.CutSuffix(parts[1], ".slice")
	number, isPart := strings.CutPrefix(parts[2], user+"-j")
	if !isSlice || !isPart || !strings.HasPrefix(user, otherSlices) || !strings.HasSuffix(number, ".slice") {
		return ""
	}
	return parts[2]
}

// cutGroup returns the path of a control group relative to a control group above it.
func cutGroup(path, above string) (string, bool) {
	rest, ok := strings.CutPrefix(path, above)
	if !ok || !strings.HasPrefix(rest, "/") {
		return path, false
	}
	return rest, true
}
