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
	p = append(p, devices(s)...)
	p = append(p, limits(s)...)
	p = append(p, rlimits(s)...)
	return s.Scope.within(append(p, journal(s)...))
}

// startTimeout is less than the daemon waits for a start, so that it is systemd
// that gives one up.
const startTimeout = time.Minute

// service is what makes the unit a job. ExecStart is the plain form: systemd
// 252 loses ExecStartEx at the next daemon-reload.
//
// OOMPolicy=kill: when the kernel kills one process of a job for memory, the
// others go with it at once. The default, stop, would give them the grace time
// first, at a memory limit that leaves no room to use it, and continue would let
// a job that lost a worker hang on its GPUs for ever; in both the reason can get
// lost, because a main process that ends by itself in between is what counts.
//
// ExecReload prints what the scheduler has to tell the job's user: systemd runs
// it in the unit, as the user, so that it is in the journal of the unit, where
// the user can read it. Its failure is no matter to the job.
//
// TimeoutStartUSec is what systemd may take until it executes the launcher. It asks
// for the groups of the account meanwhile, and a directory service can hang.
//
// There is no PAMName (with Type=exec the unit would stay activating on 252, and
// a session costs two thirds of the rate), no NoNewPrivileges (nvidia-modprobe
// is setuid) and no PrivateDevices (it hides NVIDIA's nodes).
//
// Nor is there any other sandboxing: a job may do what its user may do in a
// shell, and the kernel keeps users apart. Each filter of system calls implies
// NoNewPrivileges with User=, a private /tmp or /proc hides from users what they
// started themselves, and each costs a mount namespace for every job. A site
// that wants more has the drop-ins of gpujob-.service.d.
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

// killMode says which processes get SIGTERM. SIGKILL is for all of them in either mode, after
// the grace; in mixed those that are left when the main process has ended get it at once.
func killMode(s Spec) string {
	if s.TermMain {
		return "mixed"
	}
	return "control-group"
}

// screen has what is left of a session of GNU screen removed when nothing of the job is
// there any more: by the job's user, in the job's unit, after every end.
func screen(s Spec) []Property {
	if !s.Screen {
		return nil
	}
	argv := []string{s.Launcher, contract.ScreenEndFlag, s.SpecPath}
	return []Property{{"ExecStopPost", []ExecCommand{{s.Launcher, argv, true}}}}
}

// check has systemd run the launcher in the job's unit before the job's main process. Where that is killed, systemd
// executes no main process, so no command has run.
func check(s Spec) []Property {
	if !s.Check {
		return nil
	}
	argv := []string{s.Launcher, contract.CheckFlag, s.SpecPath}
	return []Property{{"ExecStartPre", []ExecCommand{{s.Launcher, argv, false}}}}
}

// IsCheck reports whether a command is the launcher's check.
func IsCheck(argv []string) bool { return len(argv) > 1 && argv[1] == contract.CheckFlag }

// leastGrace is what ExecStopPost needs of the time that it shares with SIGTERM, and what copies the output needs for
// what was printed last.
const leastGrace = time.Second

func grace(s Spec) time.Duration {
	if s.Screen || s.Log {
		return max(s.Grace, leastGrace)
	}
	return max(s.Grace, time.Millisecond) // 0 would read as infinity after a reload
}

// identity has no SupplementaryGroups: with User systemd gives the account those
// that the host knows at the start.
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

// limits has a weight of the CPU time for each unit: who counts for more CPUs has more of it,
// however many threads the others have. It is against the user's other jobs, and costs nobody
// anything while there is time left.
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

// The weights of a job on one CPU, or on none that counts, and of one on a thousand, the
// highest that the kernel knows.
const (
	weightOfCPU  = 10
	maxCPUWeight = 10_000
)

func cpuWeight(cpus int) uint64 {
	return uint64(min(max(cpus, 1), maxCPUWeight/weightOfCPU) * weightOfCPU)
}

// rlimits names the hard limit first: a soft one may not go above it. Those
// under which the launcher could not live are left to the launcher, which sets
// them as its last act.
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

// The rate limit of a job's lines is one that no job reaches: 0, as interval or as
// burst, would be journald's own.
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
		{"SyslogLevelPrefix", false}, // "<3>" at the start of a job's line is the job's text
		{"LogRateLimitIntervalUSec", uint64(LogIntervalUSec)},
		{"LogRateLimitBurst", uint32(LogBurst)},
		{"LogExtraFields", fields},
	}
}

// description reads well in systemctl status: job, user and GPUs.
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

// printable keeps what a terminal or a unit file should not see out of a name.
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
