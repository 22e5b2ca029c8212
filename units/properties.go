package units

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/cgroup/cpuset"
	"github.com/gpusched/gpusched/units/contract"
)

// Properties returns the properties of a job's unit, in a fixed order.
func Properties(s Spec) []Property {
	var p []Property
	p = append(p, service(s)...)
	p = append(p, checkProperties(s)...)
	p = append(p, screenProperties(s)...)
	p = append(p, containerProperties(s)...)
	p = append(p, mpsProperties(s)...)
	p = append(p, identity(s)...)
	p = append(p, hooks(s))
	p = append(p, devices(s)...)
	p = append(p, limitProperties(s)...)
	p = append(p, rlimitProperties(s)...)
	return s.Scope.applicable(append(p, journal(s)...))
}

// startTimeout is shorter than the time that the daemon waits for a start, so systemd gives up
// first.
const startTimeout = time.Minute

// service returns the properties that make the unit a job. ExecStart is used because systemd 252
// loses ExecStartEx at the next daemon-reload.
//
// OOMPolicy=kill: if the kernel kills one process of a job for lack of memory, systemd kills all
// others at once. With the policy stop, the default, they would first get the grace time, but
// without memory they could hardly use that time. With the policy continue, a job that lost a
// worker could hang on its GPUs for ever. With stop and with continue, the reason for the end could
// also get lost: if the main process ends by itself before the others, systemd reports only how the
// main process ended.
//
// ExecReload prints a note of the scheduler for the job's user. systemd runs it in the unit, as the
// user, so the note is in the unit's journal, where the user can read it. If ExecReload fails, the
// job is not affected.
//
// TimeoutStartUSec limits the time until systemd executes the launcher. systemd looks up the
// account's groups in that time, and a directory service can hang.
//
// Three properties are not set: PAMName (with Type=exec the unit would remain in the state
// activating on systemd 252, and a session costs two thirds of the start rate), NoNewPrivileges
// (nvidia-modprobe is setuid) and PrivateDevices (it hides NVIDIA's nodes).
//
// There is no other sandboxing either: a job may do what its user may do in a shell, and the kernel
// separates users. With User=, each system call filter implies NoNewPrivileges. A private /tmp or
// /proc hides what users started themselves, and costs a mount namespace per job. A site that wants
// more sandboxing uses drop-ins in gpujob-.service.d.
func service(s Spec) []Property {
	return []Property{
		{"Description", description(s)},
		{"Type", "exec"},
		{"RemainAfterExit", true},
		{"ExecStart", []ExecCommand{{s.Launcher, []string{s.Launcher, s.SpecPath}, false}}},
		{"ExecReload", []ExecCommand{{s.Launcher, []string{s.Launcher, contract.TellFlag, s.SpecPath}, true}}},
		{"NotifyAccess", "main"},
		{"KillMode", killMode(s)},
		{"SendSIGKILL", true},
		{"TimeoutStartUSec", usec(startTimeout)},
		{"TimeoutStopUSec", usec(grace(s))},
		{"OOMPolicy", "kill"},
		{"IgnoreSIGPIPE", false},
	}
}

// killMode selects the processes that get SIGTERM. In both modes all processes get SIGKILL after
// the grace time. In mode mixed, the processes that are left when the main process ends get SIGKILL
// at once.
func killMode(s Spec) string {
	if s.TermMain {
		return "mixed"
	}
	return "control-group"
}

// screenProperties makes systemd run a command after every end of the job, as the job's user and in
// its unit. The command removes the leftovers of a GNU screen session.
func screenProperties(s Spec) []Property {
	if !s.Screen {
		return nil
	}
	argv := []string{s.Launcher, contract.ScreenEndFlag, s.SpecPath}
	return []Property{{"ExecStopPost", []ExecCommand{{s.Launcher, argv, true}}}}
}

const runtimeDirectory = "RuntimeDirectory"

// containerProperties makes systemd remove, after every end of the job, what a container left
// behind. For Podman, systemd also creates, as root, a directory in memory for the containers of
// the user's jobs. The directory outlives the job, because other jobs of the user use it. It also
// outlives the user's session, in whose directory Podman would otherwise keep what it needs for a
// running container.
func containerProperties(s Spec) []Property {
	if s.Engine != contract.Podman && s.Engine != contract.Docker {
		return nil
	}
	argv := []string{s.Launcher, contract.ContainerEndFlag, s.SpecPath}
	end := Property{"ExecStopPost", []ExecCommand{{s.Launcher, argv, true}}}
	if s.Engine == contract.Docker {
		return []Property{end}
	}
	return []Property{
		end,
		{runtimeDirectory, []string{contract.ContainersDir + "/" + strconv.Itoa(s.UID)}},
		{"RuntimeDirectoryMode", uint32(0o700)},
		{"RuntimeDirectoryPreserve", "yes"},
	}
}

// checkProperties makes systemd run the launcher in the job's unit before the main process. If that
// run fails, systemd does not execute the main process, so the job's command has not run.
func checkProperties(s Spec) []Property {
	if !s.Check {
		return nil
	}
	argv := []string{s.Launcher, contract.CheckFlag, s.SpecPath}
	return []Property{{"ExecStartPre", []ExecCommand{{s.Launcher, argv, false}}}}
}

// IsCheck reports whether a command runs the launcher's check.
func IsCheck(argv []string) bool { return len(argv) > 1 && argv[1] == contract.CheckFlag }

// leastGrace is enough time for ExecStopPost, whose time is part of the grace time that begins with
// SIGTERM, and for the process that copies the output.
const leastGrace = time.Second

// leastContainerGrace is enough time for an engine to remove a container.
const leastContainerGrace = 5 * time.Second

func grace(s Spec) time.Duration {
	if s.Engine == contract.Podman || s.Engine == contract.Docker {
		return max(s.Grace, leastContainerGrace)
	}
	if s.Screen || s.Log {
		return max(s.Grace, leastGrace)
	}
	return max(s.Grace, time.Millisecond) // after a reload 0 would mean infinity
}

// identity sets User and Group but not SupplementaryGroups: with User, systemd gives the account
// the groups that the host knows at the start.
func identity(s Spec) []Property {
	p := []Property{
		{"Slice", cmp.Or(s.Scope.OwnSlice(s.UID, s.ID, s.Engine), s.Scope.Slice(s.UID))},
		{"User", strconv.Itoa(s.UID)},
	}
	if s.GID != 0 {
		p = append(p, Property{"Group", strconv.Itoa(s.GID)})
	}
	return p
}

// hooks returns variables for the commands that a site adds in drop-ins, such as ExecStartPre. The
// description and the journal fields contain the same values. The launcher sets the job's own
// variables.
func hooks(s Spec) Property {
	var indexes, uuids []string
	for _, g := range s.GPUs {
		indexes, uuids = append(indexes, strconv.Itoa(g.Index)), append(uuids, g.UUID)
	}
	return Property{"Environment", []string{
		fmt.Sprintf("GPUSCHED_JOB_ID=%d", s.ID),
		fmt.Sprintf("GPUSCHED_ATTEMPT=%d", s.Attempt),
		"GPUSCHED_GPU_IDS=" + strings.Join(indexes, ","),
		"GPUSCHED_GPU_UUIDS=" + strings.Join(uuids, ","),
	}}
}

// fuse is the device /dev/fuse, through which Apptainer mounts the file of an image.
var fuse = cgroup.Device{Major: 10, Minor: 229}

// devices returns the device filter. If the job has its own slice, the filter also lets processes
// make nodes, because the containers in that slice need them.
func devices(s Spec) []Property {
	var allow []DeviceAllow
	inSlice := s.Scope.OwnSlice(s.UID, s.ID, s.Engine) != ""
	add := func(d cgroup.Device) { allow = append(allow, deviceEntry(d, inSlice)) }
	ctl := cgroup.Device{Major: contract.NvidiaMajor, Minor: contract.CtlMinor}
	for _, g := range s.GPUs {
		add(cgroup.GPU(uint32(g.Minor)))
	}
	if len(s.GPUs) > 0 {
		add(ctl)
	}
	for _, d := range s.Devices {
		if !d.Reserved() && d != ctl {
			add(d)
		}
	}
	if s.Engine == contract.Apptainer {
		add(fuse)
	}
	p := []Property{{"DevicePolicy", "closed"}}
	if len(allow) > 0 {
		p = append(p, Property{"DeviceAllow", allow})
	}
	return p
}

func deviceEntry(d cgroup.Device, ofSlice bool) DeviceAllow {
	if ofSlice {
		return DeviceAllow{d.Path(), "rwm"}
	}
	return DeviceAllow{d.Path(), "rw"}
}

// ChangeDevices returns the device entries of a job's unit, or of its slice, after devices were
// opened or closed.
func ChangeDevices(has []DeviceAllow, devices []cgroup.Device, open, ofSlice bool) []DeviceAllow {
	for _, d := range devices {
		e := deviceEntry(d, ofSlice)
		has = slices.DeleteFunc(slices.Clone(has), func(h DeviceAllow) bool { return h.Path == e.Path })
		if open {
			has = append(has, e)
		}
	}
	return has
}

// Split separates the properties of a unit that has a slice of its own from those of that slice.
// Only the slice has the device filter, so a launcher that tests its filter tests the filter of the
// slice. The unit and the slice both have the limits. If a unit has no slice of its own, the result
// slice is "".
func Split(props []Property) (slice string, ofSlice, ofUnit []Property) {
	for _, p := range props {
		if name, _ := p.Value.(string); p.Name == "Slice" {
			if _, _, own := ParseJobSlice(name); own {
				slice = name
			}
		}
	}
	if slice == "" {
		return "", nil, props
	}
	for _, p := range props {
		switch p.Name {
		case "DevicePolicy", "DeviceAllow":
			ofSlice = append(ofSlice, p)
			continue
		case "Description", "MemoryAccounting", "CPUAccounting", "TasksAccounting", "CPUWeight", "MemoryMax", "MemorySwapMax",
			"TasksMax", "CPUQuotaPerSecUSec":
			ofSlice = append(ofSlice, p)
		}
		ofUnit = append(ofUnit, p)
	}
	return slice, ofSlice, ofUnit
}

// limitProperties gives each unit a CPU weight: a job that counts for more CPUs gets more CPU time,
// however many threads the other jobs have. The weight divides the time among the jobs of one user,
// and has no effect while CPUs are idle.
func limitProperties(s Spec) []Property {
	p := []Property{
		{"MemoryAccounting", true},
		{"CPUAccounting", true},
		{"TasksAccounting", true},
		{"CPUWeight", uint64(min(max(s.CPUShare, 1), maxCPUWeight/weightOfCPU) * weightOfCPU)},
	}
	if s.Limits.MemBytes > 0 {
		p = append(p, Property{"MemoryMax", uint64(s.Limits.MemBytes)}, Property{"MemorySwapMax", uint64(0)})
	}
	if s.Limits.TasksMax > 0 {
		p = append(p, Property{"TasksMax", s.Limits.TasksMax})
	}
	if s.Limits.CPUs > 0 {
		p = append(p, Property{"CPUQuotaPerSecUSec", uint64(s.Limits.CPUs) * 1_000_000})
	}
	if set, _ := cpuset.Parse(s.CPUAffinity); len(set) > 0 {
		p = append(p, Property{"CPUAffinity", []byte(set)})
	}
	return p
}

// MemoryProperties returns the properties that change the memory limit of a running unit. Above the
// amount high, the kernel slows the unit down. 0 means that there is no such limit.
func MemoryProperties(limit, high int64) []Property {
	amount := func(n int64) uint64 {
		if n == 0 {
			return Infinity
		}
		return uint64(n)
	}
	swap := uint64(0)
	if limit == 0 {
		swap = Infinity
	}
	return []Property{{"MemoryMax", amount(limit)}, {"MemoryHigh", amount(high)}, {"MemorySwapMax", swap}}
}

// The CPU weights of a job on one CPU, or without a number of CPUs, and of a job on a thousand
// CPUs. The latter is the kernel's maximum.
const (
	weightOfCPU  = 10
	maxCPUWeight = 10_000
)

// rlimitProperties sets each hard limit before the soft limit, which may not exceed it. Limits
// under which the launcher could not run are left to the launcher, which sets them last.
func rlimitProperties(s Spec) []Property {
	var p []Property
	for _, l := range s.Rlimits {
		least := contract.LeastLimit(l.Name)
		switch l.Name {
		case "AS", "DATA", "NPROC":
			continue
		}
		p = append(p, Property{"Limit" + l.Name, max(l.Hard, least)}, Property{"Limit" + l.Name + "Soft", max(l.Soft, least)})
	}
	return p
}

// The rate limit of a job's lines, so high that no job reaches it. 0, as interval or burst, would
// select journald's own limit.
const (
	LogIntervalUSec = 1_000_000
	LogBurst        = 1_000_000_000
)

func journal(s Spec) []Property {
	fields := [][]byte{
		fmt.Appendf(nil, jobField+"%d", s.ID),
		fmt.Appendf(nil, attemptField+"%d", s.Attempt),
	}
	if !s.Placed.IsZero() {
		fields = append(fields, fmt.Appendf(nil, placedField+"%d", s.Placed.UnixMicro()))
	}
	if s.TimeLimit > 0 {
		fields = append(fields, fmt.Appendf(nil, limitField+"%d", usec(s.TimeLimit)))
	}
	if s.Array != 0 {
		fields = append(fields, fmt.Appendf(nil, taskField+"%d_%d", s.Array, s.Task))
	}
	for _, g := range s.GPUs {
		fields = append(fields, []byte(gpuField+g.UUID))
	}
	if len(s.GPUs) > 0 {
		fields = append(fields, []byte(holdsField+formatHolds(s.GPUs)))
	}
	return []Property{
		{"StandardInput", "null"},
		{"StandardOutput", "journal"},
		{"StandardError", "journal"},
		{"SyslogIdentifier", s.Scope.Identifier(s.ID)},
		{"SyslogLevelPrefix", false}, // "<3>" at the start of a line is part of the job's text
		{"LogRateLimitIntervalUSec", uint64(LogIntervalUSec)},
		{"LogRateLimitBurst", uint32(LogBurst)},
		{"LogExtraFields", fields},
	}
}

// description returns the text that systemctl status shows: job, user and GPUs.
func description(s Spec) string {
	where := " without a GPU"
	switch {
	case s.Attempt == 0: // not placed yet
		where = ""
	case len(s.GPUs) > 0:
		idx := make([]string, len(s.GPUs))
		for i, g := range s.GPUs {
			idx[i] = strconv.Itoa(g.Index)
		}
		where = " on GPU " + strings.Join(idx, ",")
	}
	return fmt.Sprintf("gpusched job %d (%s) of %s%s", s.ID, toPrintable(s.JobName), toPrintable(s.User), where)
}

const maxName = 100 // runes of a name in a description

// toPrintable replaces the characters of a name that must not reach a terminal or a unit file.
func toPrintable(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n++; n > maxName {
			break
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func usec(d time.Duration) uint64 { return uint64(max(d, 0) / time.Microsecond) }
