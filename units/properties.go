package units

import (
	"fmt"
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
	p = append(p, check(s)...)
	p = append(p, screen(s)...)
	p = append(p, identity(s)...)
	p = append(p, hooks(s))
	p = append(p, devices(s)...)
	p = append(p, limits(s)...)
	p = append(p, rlimits(s)...)
	return s.Scope.within(append(p, journal(s)...))
}

// startTimeout is shorter than the daemon's wait for a start, so that systemd gives up first.
const startTimeout = time.Minute

// service returns the properties that make the unit a job. ExecStart is the plain form: systemd 252
// loses ExecStartEx at the next daemon-reload.
//
// OOMPolicy=kill: when the kernel kills one process of a job for memory, it kills the others at
// once. The default, stop, would first give them the grace time, at a memory limit that leaves no
// room to use it. With continue, a job that lost a worker could hang on its GPUs for ever. With
// either, the reason can get lost, because a main process that ends by itself in between is what
// counts.
//
// ExecReload prints a note of the scheduler for the job's user. systemd runs it in the unit, as the
// user, so the note is in the unit's journal, where the user can read it. Its failure does not
// affect the job.
//
// TimeoutStartUSec limits the time until systemd executes the launcher. systemd looks up the
// account's groups in that time, and a directory service can hang.
//
// There is no PAMName (with Type=exec the unit would stay activating on 252, and a session costs
// two thirds of the start rate), no NoNewPrivileges (nvidia-modprobe is setuid) and no
// PrivateDevices (it hides NVIDIA's nodes).
//
// There is no other sandboxing either: a job may do what its user may do in a shell, and the kernel
// separates users. Each system call filter implies NoNewPrivileges with User=, a private /tmp or
// /proc hides what users started themselves, and each costs a mount namespace per job. A site that
// wants more uses drop-ins in gpujob-.service.d.
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

// killMode selects the processes that get SIGTERM. In both modes SIGKILL goes to all of them after
// the grace; in mixed, the processes left when the main process ends get it at once.
func killMode(s Spec) string {
	if s.TermMain {
		return "mixed"
	}
	return "control-group"
}

// screen makes systemd run, after every end of the job, as the job's user and in its unit, a
// command that removes the leftovers of a GNU screen session.
func screen(s Spec) []Property {
	if !s.Screen {
		return nil
	}
	argv := []string{s.Launcher, contract.ScreenEndFlag, s.SpecPath}
	return []Property{{"ExecStopPost", []ExecCommand{{s.Launcher, argv, true}}}}
}

// check makes systemd run the launcher in the job's unit before the main process. If that run
// fails, systemd does not execute the main process, so no command has run.
func check(s Spec) []Property {
	if !s.Check {
		return nil
	}
	argv := []string{s.Launcher, contract.CheckFlag, s.SpecPath}
	return []Property{{"ExecStartPre", []ExecCommand{{s.Launcher, argv, false}}}}
}

// IsCheck reports whether a command is the launcher's check.
func IsCheck(argv []string) bool { return len(argv) > 1 && argv[1] == contract.CheckFlag }

// leastGrace is the time that ExecStopPost, which shares the grace with SIGTERM, or the copier of
// the output needs.
const leastGrace = time.Second

func grace(s Spec) time.Duration {
	if s.Screen || s.Log {
		return max(s.Grace, leastGrace)
	}
	return max(s.Grace, time.Millisecond) // after a reload 0 would mean infinity
}

// identity sets no SupplementaryGroups: with User, systemd gives the account the groups that the
// host knows at the start.
func identity(s Spec) []Property {
	p := []Property{
		{"Slice", s.Scope.Slice(s.UID)},
		{"User", strconv.Itoa(s.UID)},
	}
	if s.GID != 0 {
		p = append(p, Property{"Group", strconv.Itoa(s.GID)})
	}
	return p
}

// hooks returns the variables for a site's own commands in drop-ins, such as ExecStartPre. The
// description and the fields of the journal have the same; the launcher sets the job's own variables.
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

func devices(s Spec) []Property {
	var allow []DeviceAllow
	add := func(d cgroup.Device) { allow = append(allow, DeviceAllow{d.Path(), "rw"}) }
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
	p := []Property{{"DevicePolicy", "closed"}}
	if len(allow) > 0 {
		p = append(p, Property{"DeviceAllow", allow})
	}
	return p
}

// limits gives each unit a CPU weight: a job that counts for more CPUs gets more time, however many
// threads the others have. It works against the user's own jobs, and costs nobody anything while
// CPUs are idle.
func limits(s Spec) []Property {
	p := []Property{
		{"MemoryAccounting", true},
		{"CPUAccounting", true},
		{"TasksAccounting", true},
		{"CPUWeight", cpuWeight(s.CPUShare)},
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

// The CPU weight of a job on one CPU, or without a number of CPUs, and of one on a thousand: the
// kernel's maximum.
const (
	weightOfCPU  = 10
	maxCPUWeight = 10_000
)

func cpuWeight(cpus int) uint64 {
	return uint64(min(max(cpus, 1), maxCPUWeight/weightOfCPU) * weightOfCPU)
}

// rlimits sets the hard limit first, since a soft one may not exceed it. Limits under which the
// launcher could not run are left to the launcher, which sets them last.
func rlimits(s Spec) []Property {
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

// The rate limit of a job's lines, which no job reaches. 0, as interval or burst, would select
// journald's own limit.
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

// description is what systemctl status shows: job, user and GPUs.
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
	return fmt.Sprintf("gpusched job %d (%s) of %s%s", s.ID, printable(s.JobName), printable(s.User), where)
}

const maxName = 100 // runes of a name in a description

// printable replaces the characters of a name that must not reach a terminal or a unit file.
func printable(name string) string {
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
