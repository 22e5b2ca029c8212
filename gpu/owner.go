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

// Owner is who a process belongs to.
type Owner struct {
	Alive bool   // it is in /proc and not a zombie
	UID   int    // real uid; -1 unknown
	Comm  string // printable, "" unknown
	Unit  string // systemd unit, "" unknown or none

	// when it began, in clock ticks since the boot: tells apart processes that had one pid after another; 0 unknown
	Start uint64
	Age   time.Duration // since then; 0 unknown
}

// OwnerOf reads who pid belongs to from procRoot ("/proc"). A pid that is not
// there is not Alive, nor is a zombie without other threads: the driver has
// let go of it already or never will. A file that cannot be read leaves its
// field unknown.
func OwnerOf(procRoot string, pid int) Owner { return OwnerBelow(procRoot, "", pid) }

// OwnerBelow is OwnerOf where jobs are units of a user's own systemd, whose control
// group is below: "" where they are the machine's.
func OwnerBelow(procRoot, below string, pid int) Owner {
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
		o.Unit = UnitOfCgroup(string(cgroup), below)
	}
	o.Start = StartOf(procRoot, pid)
	if below != "" && strings.HasPrefix(o.Unit, otherSlices) {
		return o // when it began is kept back: it would be counted as left behind by a job of the user's own
	}
	if uptime, err := os.ReadFile(filepath.Join(procRoot, "uptime")); err == nil && o.Start > 0 {
		o.Age = ageOf(o.Start, string(uptime))
	}
	return o
}

// otherSlices is how the slices of the machine's scheduler begin, of which a user's own has none.
const otherSlices = "gpujobs-u"

// ticksPerSecond is what Linux counts the start of a process in on every
// architecture that there is a driver for.
const ticksPerSecond = 100

// StartOf reads when pid began, in clock ticks since the boot; 0 where there is
// no such process or its file cannot be read.
func StartOf(procRoot string, pid int) uint64 {
	stat, err := os.ReadFile(filepath.Join(procRoot, strconv.Itoa(pid), "stat"))
	if pid <= 0 || err != nil {
		return 0
	}
	// The second field, the name, may hold anything; the start is the 22nd.
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

// ageOf is how long ago a process began, by the text of /proc/uptime, which counts
// in ticks too: one that began in this tick is a nanosecond old, since 0 is unknown.
func ageOf(start uint64, uptime string) time.Duration {
	up, _, _ := strings.Cut(uptime, " ")
	seconds, err := strconv.ParseFloat(up, 64)
	began := float64(start) / ticksPerSecond
	if err != nil || !(seconds >= began) || seconds > math.MaxInt32 {
		return 0
	}
	return max(time.Duration((seconds-began)*float64(time.Second)), 1)
}

// ownerOfStatus reads all but the unit from the text of /proc/PID/status. A
// group leader that ended before its other threads reads as a zombie too, so
// the number of threads decides.
func ownerOfStatus(text string) Owner {
	o := Owner{UID: -1}
	ended, threads := false, 1
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			o.Comm = printable(value, maxWord)
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

// UnitOfCgroup finds the systemd unit in the text of /proc/PID/cgroup, by the
// version 2 line ("0::/…"), or by the name=systemd hierarchy where that line is
// absent or names no unit. "" means none.
//
// A job's unit is only believed where systemd puts it: directly below slices.
// Anything a job runs below it (a container, a systemd of its own) is the job's
// too; but a service that a user gives such a name in the user manager, or
// inside a container, is not: it would hide foreign use behind somebody's job.
// Everything else belongs to the deepest unit that does not pretend to be a job.
//
// Where jobs are units of the systemd whose control group is below, they are looked for
// there, and those that the machine's systemd has are another scheduler's.
func UnitOfCgroup(text, below string) string {
	unit := ""
	for line := range strings.Lines(text) {
		id, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		switch {
		case !ok || !strings.HasPrefix(path, "/"):
		case id == "0" && controllers == "":
			if u := unitOfPath(path, below); u != "" {
				return u
			}
		case controllers == "name=systemd":
			unit = unitOfPath(path, below)
		}
	}
	return unit
}

func unitOfPath(path, below string) string {
	deepest, inSlices := "", true
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
			isJob := strings.HasPrefix(part, contract.UnitPrefix)
			if isJob && inSlices {
				return printable(part, maxUnit)
			}
			if !isJob {
				deepest = part
			}
			inSlices = false
		default:
			inSlices = false
		}
	}
	return printable(deepest, maxUnit)
}

// cutGroup returns the path of a control group as seen from one above it.
func cutGroup(path, above string) (string, bool) {
	rest, ok := strings.CutPrefix(path, above)
	if !ok || !strings.HasPrefix(rest, "/") {
		return path, false
	}
	return rest, true
}
