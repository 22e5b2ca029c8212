package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu/driver"
	"github.com/gpusched/gpusched/units/contract"
)

// A host is the machine as the user who runs doctor sees it. The field root is "" except in tests.
type host struct{ root string }

func (h host) path(p string) string { return h.root + p }

func (h host) checks() []job.Check {
	return []job.Check{
		h.checkUnits(), h.checkCgroups(), h.checkProbe(), h.checkNodes(), h.checkDriver(), h.checkMPS(), h.checkConfig(),
		h.checkDropIns(), h.checkFence(), h.checkSubuid(), checkClock(),
	}
}

func healthy(name, detail string) job.Check {
	return job.Check{Name: name, Health: job.Healthy, Detail: detail}
}

func degraded(name, detail, next string) job.Check {
	return job.Check{Name: name, Health: job.Degraded, Detail: detail, Next: next}
}

// unreadable returns a check whose result is unknown because something could not be read.
func unreadable(name string, err error) job.Check {
	detail := "cannot be read: " + reason(err)
	return job.Check{Name: name, Health: Unknown, Detail: detail, Next: "ask root to run 'gpusched doctor'"}
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Path + ": " + p.Err.Error()
	}
	return err.Error()
}

// checkUnits reports whether the machine was booted with systemd.
func (h host) checkUnits() job.Check {
	if _, err := os.Stat(h.path("/run/systemd/system")); err != nil {
		return job.Check{
			Name: "init", Health: job.Failing,
			Detail: "this machine was not booted with systemd, which starts all jobs",
			Next:   "run gpusched on the host, not in a container without systemd",
		}
	}
	return healthy("init", "booted with systemd")
}

// checkCgroups reports whether the control groups have what jobs' limits and device filters need.
func (h host) checkCgroups() job.Check {
	data, err := os.ReadFile(h.path("/sys/fs/cgroup/cgroup.controllers"))
	const next = "boot with systemd.unified_cgroup_hierarchy=1 and without cgroup_disable="
	if err != nil {
		return degraded("cgroups", "no control groups of version 2: limits and device filters may not hold", next)
	}
	have := strings.Fields(string(data))
	var missing []string
	for _, c := range []string{"memory", "pids", "cpu", "cpuset"} {
		if !slices.Contains(have, c) {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		return degraded("cgroups", "version 2, without: "+strings.Join(missing, ", "), next)
	}
	return healthy("cgroups", "version 2, with memory, pids, cpu and cpuset")
}

func (h host) checkProbe() job.Check {
	const name = "device filter"
	const next = "systemd-tmpfiles --create; without it no job can prove its filter, and jobs with GPUs fail"
	st, err := os.Stat(h.path(contract.ProbePath))
	if err != nil {
		return degraded(name, contract.ProbePath+" is not there", next)
	}
	mode, major, minor := node(st)
	if major != contract.NvidiaMajor || minor != contract.ProbeMinor || mode&0o006 != 0o006 {
		return degraded(name, fmt.Sprintf("%s is %s with the numbers %d:%d instead of c 0666 %d:%d",
			contract.ProbePath, st.Mode(), major, minor, contract.NvidiaMajor, contract.ProbeMinor), next)
	}
	return healthy(name, "each job proves it by "+contract.ProbePath+" when it starts")
}

// node returns the mode and numbers of a character device. For other files the numbers are 0.
func node(st os.FileInfo) (mode os.FileMode, major, minor uint32) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || st.Mode()&os.ModeCharDevice == 0 {
		return st.Mode().Perm(), 0, 0
	}
	return st.Mode().Perm(), unix.Major(sys.Rdev), unix.Minor(sys.Rdev)
}

var gpuNode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^nvidia[0-9]+$`)
})

// checkNodes reports whether users may open the device nodes that CUDA needs. Which GPUs a job may
// open depends on its unit, not on the modes of the nodes.
func (h host) checkNodes() job.Check {
	const name = "device nodes"
	entries, err := os.ReadDir(h.path("/dev"))
	if err != nil {
		return unreadable(name, err)
	}
	var closed []string
	gpus, uvm := 0, false
	for _, e := range entries {
		isGPU := gpuNode().MatchString(e.Name())
		uvm = uvm || e.Name() == "nvidia-uvm"
		if isGPU {
			gpus++
		}
		if !isGPU && e.Name() != "nvidiactl" && e.Name() != "nvidia-uvm" {
			continue
		}
		if st, err := os.Stat(h.path("/dev/" + e.Name())); err == nil && st.Mode().Perm()&0o006 != 0o006 {
			closed = append(closed, "/dev/"+e.Name())
		}
	}
	switch {
	case gpus == 0:
		return degraded(name, "there is no /dev/nvidia0: no driver, or its nodes were not made",
			h.nodesHint()+", or install the driver; jobs with --gpus 0 run meanwhile")
	case len(closed) > 0:
		return degraded(name, "not every user may open "+strings.Join(closed, ", ")+", so jobs of others fail",
			"let the driver make them with mode 0666 (NVreg_DeviceFileMode in /etc/modprobe.d): "+
				"each job can open its own GPUs only, whatever the mode")
	case !uvm:
		return degraded(name, "/dev/nvidia-uvm is not there: users' CUDA programs cannot make it in a job",
			h.nodesHint()+"; the scheduler does it at its start")
	}
	return healthy(name, job.Count(int64(gpus), "GPU device node")+", with modes as jobs need them")
}

// nodesHint returns the command that creates missing device nodes.
func (h host) nodesHint() string {
	const program = "/usr/bin/nvidia-modprobe"
	if _, err := os.Stat(h.path(program)); err != nil {
		return "install " + program + " (package nvidia-modprobe), then systemctl start gpusched-devices"
	}
	return "systemctl start gpusched-devices"
}

// checkDriver compares the loaded kernel module with the libraries on disk. After an upgrade
// without a reboot they differ, and every new CUDA program fails.
func (h host) checkDriver() job.Check {
	v := driver.Installed(h.root)
	switch {
	case v.Loaded == "" && v.Library == "":
		return degraded("driver", "NVIDIA's driver is not installed",
			"install it (Debian: nvidia-driver, in non-free). Jobs with --gpus 0 run meanwhile")
	case v.Loaded == "":
		return degraded("driver", "the NVIDIA kernel module is not loaded, or its version can't be read",
			"modprobe nvidia; see 'dmesg | grep NVRM'. Jobs with --gpus 0 run meanwhile")
	case v.Differ():
		return degraded("driver", fmt.Sprintf("the kernel module is %s and %s is %s: "+
			"the driver was upgraded but not reloaded, so new CUDA programs fail", v.Loaded, v.Library, v.Installed),
			"reboot the machine, or unload and load the module while nothing uses it")
	case v.Library != "":
		return healthy("driver", "kernel module "+v.Loaded+", its library is "+v.Library)
	}
	return healthy("driver", "kernel module "+v.Loaded)
}

// checkMPS says whether jobs can use MPS. Most sites have no need of it.
func (h host) checkMPS() job.Check {
	for _, path := range contract.MPSPrograms() {
		if _, err := os.Stat(h.path(path)); err == nil {
			return healthy("mps", "--mps uses "+path)
		}
	}
	return healthy("mps", contract.NoMPS+": "+contract.MPSPackages)
}

// checkConfig reads the settings as the scheduler would.
func (h host) checkConfig() job.Check {
	const next = "gpusched config check; then systemctl reload gpusched"
	files, err := config.Files(h.path(config.MainFile), h.path(config.DropInDir))
	if errors.Is(err, fs.ErrPermission) {
		return unreadable("settings on disk", err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrPermission) {
			return unreadable("settings on disk", err)
		}
		if err == nil {
			f.Close()
		}
	}
	if err == nil {
		read := config.Load
		if h.root != "" {
			read = func(paths []string) (config.Config, config.Origins, error) {
				return config.Read(paths, config.AnyOwner)
			}
		}
		_, _, err = read(files)
	}
	switch {
	case err != nil:
		return degraded("settings on disk", strings.SplitN(err.Error(), "\n", 2)[0], next)
	case len(files) == 0:
		return healthy("settings on disk", "none: everything has its default")
	}
	return healthy("settings on disk", "no mistake in "+strings.Join(files, ", "))
}

// checkClock reports whether the clock is synchronised.
func checkClock() job.Check {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return unreadable("synchronisation", err)
	}
	if t.Status&unix.STA_UNSYNC != 0 {
		return degraded("synchronisation", "the clock is not synchronised, so "+
			"begin times, reservations and recorded times may be wrong",
			"timedatectl set-ntp true, or install chrony")
	}
	return healthy("synchronisation", "the clock is synchronised")
}
