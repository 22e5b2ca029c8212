package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The names of what is compared.
const (
	ofCPU       = "CPU of a finished `true` job"
	bareCPU     = "a bare unit's"
	ofDaemonCPU = "of it gpuschedd"
	ofPID1CPU   = "of it PID 1"
	barePID1    = "a bare unit's PID 1"
)

// controlGroups is where the kernel counts what groups of processes used.
const controlGroups = "/sys/fs/cgroup"

// The processes by which the CPU time is told, and the control groups that they have for themselves. The NVML process
// is in the daemon's, whose part is less by it.
const (
	pid1, daemonProcess, nvml = "PID 1", "gpuschedd", "NVML process"
	everything, itself, rest  = "in all", "the bench and its clients", "launcher and the rest"
)

func groups() map[string]string {
	return map[string]string{
		pid1: "init.scope", daemonProcess: "system.slice/gpusched.service", "dbus-daemon": "system.slice/dbus.service",
		"journald": "system.slice/systemd-journald.service", "logind": "system.slice/systemd-logind.service", everything: ".",
	}
}

// told is the order of the processes in the table.
func told() []string {
	return []string{pid1, daemonProcess, "dbus-daemon", nvml, "journald", "logind", rest, everything}
}

// cpu measures the CPU time of each job that does nothing, by process, in turns with bare units one at a time. Clients
// are not in it: the jobs were queued before, and who waits for them is not counted.
func (b *rig) cpu(ctx context.Context, rounds, jobs int) error {
	t := &board{part: "cpu", unit: seconds}
	// A queue that is filled and let go can't be cut from its filling by a contender of its own: these are pairs.
	for r := range rounds {
		t.round()
		for i := range 2 {
			if (r+i)%2 == 0 {
				if err := b.bareUsed(ctx, t, jobs); err != nil {
					return err
				}
			} else if err := b.jobsUsed(ctx, t, jobs); err != nil {
				return err
			}
		}
	}
	fmt.Print("\n| CPU of a `true`, by process | a bare unit | a job |\n|---|---|---|\n")
	for _, name := range told() {
		row(name, t.show("bare "+name), t.show("job "+name))
	}
	fmt.Println("\nThe daemon hears of bare units too, as they are named like jobs: that is not in their total below.")
	b.asPairs(t)
	return nil
}

// asPairs compares the parts that are to become less.
func (b *rig) asPairs(t *board) {
	for _, r := range t.rounds {
		r[ofCPU], r[bareCPU] = r["job "+everything], r["bare "+everything]-r["bare "+daemonProcess]-r["bare "+nvml]
		r[ofDaemonCPU], r[ofPID1CPU], r[barePID1] = r["job "+daemonProcess], r["job "+pid1], r["bare "+pid1]
	}
	head()
	b.compare(t, ofCPU, false, bareCPU)
	b.compare(t, ofDaemonCPU, false, bareCPU)
	b.compare(t, ofPID1CPU, false, barePID1)
}

func (b *rig) bareUsed(ctx context.Context, t *board, jobs int) error {
	return b.used(t, "bare ", jobs, func() error {
		_, err := b.bareRate(ctx, jobs, 1)
		return err
	})
}

func (b *rig) jobsUsed(ctx context.Context, t *board, jobs int) error {
	q := b.ours()
	said, _, err := b.fill(ctx, q, jobs)
	if err != nil {
		return err
	}
	return b.used(t, "job ", jobs, func() error {
		if err := q.open(ctx); err != nil {
			return err
		}
		return q.drained(ctx, said)
	})
}

// used writes down what each process used of the CPU for one of the jobs, in seconds.
func (b *rig) used(t *board, prefix string, jobs int, do func() error) error {
	before, err := usage()
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := usage()
	if err != nil {
		return err
	}
	for name := range after {
		t.add(prefix+name, (after[name]-before[name])/float64(jobs))
	}
	return nil
}

// usage is what each used so far, in seconds.
func usage() (map[string]float64, error) {
	used := map[string]float64{}
	own, err := ownGroup()
	if err != nil {
		return nil, err
	}
	all := groups()
	all[itself] = own
	for name, group := range all {
		if used[name], err = groupCPU(filepath.Join(controlGroups, group)); err != nil {
			return nil, err
		}
	}
	if used[nvml], err = processCPU("gpusched-nvml"); err != nil {
		return nil, err
	}
	return apart(used), nil
}

// apart takes what is in another from that, so that the parts make up what is in all.
func apart(used map[string]float64) map[string]float64 {
	used[daemonProcess] -= used[nvml]
	used[everything] -= used[itself]
	delete(used, itself)
	left := 2 * used[everything]
	for _, u := range used {
		left -= u
	}
	used[rest] = left
	return used
}

// ownGroup is the control group that we are in.
func ownGroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("we are in no control group of version 2: %s", text)
}

// groupCPU is what a control group used, and those that were in it.
func groupCPU(dir string) (float64, error) {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if us, ok := strings.CutPrefix(line, "usage_usec "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(us), 64)
			return n / 1e6, err
		}
	}
	return 0, fmt.Errorf("%s does not say what was used", dir)
}

// processCPU is what the threads of the one process of this name used; the kernel cuts names after 15 characters.
func processCPU(name string) (float64, error) {
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return 0, err
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(text)) != name[:min(len(name), 15)] {
			continue // it ended, or is another
		}
		return threadsCPU(filepath.Dir(path))
	}
	return 0, fmt.Errorf("no process is named %s", name)
}

func threadsCPU(process string) (float64, error) {
	threads, err := filepath.Glob(process + "/task/*/schedstat")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseFloat(ran, 64)
		if err != nil {
			return 0, err
		}
		sum += ns / 1e9
	}
	return sum, nil
}
