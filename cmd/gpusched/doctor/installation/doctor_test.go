package installation

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// sound returns the files of a machine that has no faults.
func sound() map[string]string {
	return map[string]string{
		"/run/systemd/system/.keep":                              "",
		"/sys/fs/cgroup/cgroup.controllers":                      "cpuset cpu io memory hugetlb pids rdma\n",
		"/dev/nvidia0":                                           "",
		"/dev/nvidiactl":                                         "",
		"/dev/nvidia-uvm":                                        "",
		"/proc/driver/nvidia/version":                            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\nGCC version: 12\n",
		"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15":    "",
		"/etc/subuid":                                            "alice:100000:65536\nalice:165536:65536\nbob:231072:65536\n",
		"/etc/gpusched/gpusched.toml":                            "[jobs]\nmax_mem = \"1T\"\n",
		"/etc/systemd/system/gpujob-.service.d/50-site.conf":     "[Service]\nIOWeight=50\n# DeviceAllow=x\n",
		"/etc/systemd/system/gpusched.service.d/override.conf":   "[Service]\nNice=1\n",
		"/usr/lib/systemd/system/gpujob-.service.d/10-ours.conf": "# nothing\n",
	}
}

// machineWith makes a machine without faults, and then changes some of its files. "-" removes a
// file.
func machineWith(t *testing.T, changes map[string]string) host {
	t.Helper()
	h := host{root: t.TempDir()}
	files := sound()
	for path, text := range changes {
		files[path] = text
	}
	for path, text := range files {
		if text == "-" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(h.path(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.path(path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path, "/dev/") {
			if err := os.Chmod(h.path(path), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	lib := h.path("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")
	if err := os.Symlink("libnvidia-ml.so.550.54.15", lib); err != nil {
		t.Fatal(err)
	}
	return h
}

// Each fault is reported by its own check and no other, with advice. The test uses the real clock
// and the real probe node, since only root can make such a node.
func TestEachFaultIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		changed    map[string]string
		part, says string
	}{
		"sound":                  {nil, "", ""},
		"no systemd":             {map[string]string{"/run/systemd/system/.keep": "-"}, "init", "not booted with systemd"},
		"version 1":              {map[string]string{"/sys/fs/cgroup/cgroup.controllers": "-"}, "cgroups", "no control groups of version 2"},
		"no memory":              {map[string]string{"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io pids\n"}, "cgroups", "without: memory"},
		"no nodes":               {map[string]string{"/dev/nvidia0": "-"}, "device nodes", "no /dev/nvidia0"},
		"no uvm":                 {map[string]string{"/dev/nvidia-uvm": "-"}, "device nodes", "/dev/nvidia-uvm is not there"},
		"no module":              {map[string]string{"/proc/driver/nvidia/version": "-"}, "driver", "not loaded"},
		"no driver":              {map[string]string{"/proc/driver/nvidia/version": "-", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15": "-", "/usr/lib/x86_64-linux-gnu/libc.so.6": ""}, "driver", "not installed"},
		"other module":           {map[string]string{"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Release"}, "driver", "the kernel module is 535.104.05 and /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 is 550.54.15"},
		"settings":               {map[string]string{"/etc/gpusched/gpusched.toml": "[gpus]\nonly_gpu = 1\n"}, "settings on disk", "only_gpu"},
		"shared uids":            {map[string]string{"/etc/subuid": "alice:100000:65536\nroot:1:1000000\nbob:165535:10\n"}, "subordinate uids", "alice and bob share some"},
		"no uids":                {map[string]string{"/etc/subuid": "# none\n\nalice:x:65536\n"}, "subordinate uids", "line 3 of /etc/subuid"},
		"account in a range":     {map[string]string{"/etc/subuid": "bob:165536:65536\n", "/etc/passwd": "root:x:0:0::/:/bin/sh\ndirk:x:165600:100::/:/bin/sh\n"}, "subordinate uids", "uid 165600 of dirk is in the range of bob, who can become dirk"},
		"uids of accounts":       {map[string]string{"/etc/subuid": "alice:1000:65536\n"}, "subordinate uids", "line 1 of /etc/subuid"},
		"drop-in":                {map[string]string{"/etc/systemd/system/gpujob-.service.d/50-site.conf": "[Service]\n\nDeviceAllow = /dev/nvidia0\n"}, "drop-ins", "/etc/systemd/system/gpujob-.service.d/50-site.conf:3 sets DeviceAllow"},
		"drop-in, reload":        {map[string]string{"/etc/systemd/system/gpujob-.service.d/50-site.conf": "[Service]\nExecReload=/bin/true\n"}, "drop-ins", "50-site.conf:2 sets ExecReload"},
		"drop-in, root":          {map[string]string{"/etc/systemd/system/gpujob-.service.d/50-site.conf": "[Service]\nRootDirectory=/srv/jobs\n"}, "drop-ins", "50-site.conf:2 sets RootDirectory"},
		"drop-in, image":         {map[string]string{"/run/systemd/system/service.d/x.conf": "[Service]\nRootImage=/srv/os.raw\n"}, "drop-ins", "service.d/x.conf:2 sets RootImage"},
		"drop-in for all":        {map[string]string{"/etc/systemd/system/service.d/x.conf": "[Service]\nPrivateDevices=yes\n"}, "drop-ins", "service.d/x.conf:2 sets PrivateDevices"},
		"drop-in, limit":         {map[string]string{"/etc/systemd/system/gpujob-.service.d/x.conf": "[Service]\nTimeoutStopSec=5s\nRuntimeMaxSec=1d\n"}, "drop-ins", "x.conf:2 sets TimeoutStopSec"},
		"nonsense for a version": {map[string]string{"/proc/driver/nvidia/version": "hello"}, "driver", "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			h := machineWith(t, c.changed)
			if name == "no systemd" {
				os.RemoveAll(h.path("/run"))
			}
			found := false
			for _, check := range h.checks() {
				switch {
				case check.Name == "device filter" || check.Name == "synchronisation":
				case check.Name == c.part && strings.Contains(check.Detail, c.says) &&
					check.Next != "" && check.Health != "HEALTHY":
					found = true
				case check.Health != "HEALTHY":
					t.Errorf("%s is %s: %s", check.Name, check.Health, check.Detail)
				}
			}
			if found != (c.part != "") {
				t.Errorf("nobody says %q", c.says)
			}
		})
	}
}

// If some users have no right to open a device node, users' programs can't open their own GPUs.
func TestNodeModes(t *testing.T) {
	h := machineWith(t, nil)
	if err := os.Chmod(h.path("/dev/nvidiactl"), 0o660); err != nil {
		t.Fatal(err)
	}
	got := h.checkNodes()
	if !strings.Contains(got.Detail, "/dev/nvidiactl") || !strings.Contains(got.Next, "NVreg_DeviceFileMode") {
		t.Errorf("%+v", got)
	}
}

// The advice for missing device nodes works on this machine.
func TestHintForMissingNodes(t *testing.T) {
	for _, node := range []string{"/dev/nvidia0", "/dev/nvidia-uvm"} {
		with := machineWith(t, map[string]string{node: "-", "/usr/bin/nvidia-modprobe": ""}).checkNodes()
		without := machineWith(t, map[string]string{node: "-"}).checkNodes()
		if !strings.HasPrefix(with.Next, "systemctl start gpusched-devices") ||
			!strings.HasPrefix(without.Next, "install /usr/bin/nvidia-modprobe") {
			t.Errorf("without %s: %q, and %q where nvidia-modprobe is not there", node, with.Next, without.Next)
		}
	}
}

// The probe node must have the right device numbers, since the device filters of jobs rely on them.
func TestProbeNode(t *testing.T) {
	h := machineWith(t, map[string]string{contract.ProbePath: ""})
	if got := h.checkProbe(); !strings.Contains(got.Detail, "0:0 instead of") {
		t.Errorf("a plain file: %+v", got)
	}
	if err := os.Remove(h.path(contract.ProbePath)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", h.path(contract.ProbePath)); err != nil {
		t.Fatal(err)
	}
	if got := h.checkProbe(); !strings.Contains(got.Detail, "1:3 instead of") {
		t.Errorf("another device: %+v", got)
	}
}

func TestWorst(t *testing.T) {
	for want, list := range map[job.Health][]job.Health{
		"HEALTHY": {"HEALTHY", Unknown}, "DEGRADED": {"HEALTHY", "DEGRADED", Unknown}, "FAILING": {"DEGRADED", "FAILING", "HEALTHY"},
	} {
		var checks []job.Check
		for _, h := range list {
			checks = append(checks, job.Check{Health: h})
		}
		if got := job.Worst(checks); got != want {
			t.Errorf("%v: %s, want %s", list, got, want)
		}
	}
}

// The site may choose whether GPUs can be opened outside of jobs. It is a fault if the choice has
// no effect.
func TestSessionsFence(t *testing.T) {
	for _, c := range []struct {
		closed  bool
		opening error
		root    bool
		health  job.Health
		says    string
	}{
		{false, syscall.ENXIO, false, job.Healthy, closeSessions},
		{false, nil, true, job.Healthy, closeSessions},
		{false, syscall.EPERM, false, job.Healthy, "this session cannot open GPUs"},
		{true, syscall.EPERM, false, job.Healthy, "this session cannot open GPUs"},
		{true, syscall.ENXIO, true, job.Healthy, "root's own sessions can"},
		{true, syscall.ENXIO, false, job.Degraded, "but this one can open them"},
	} {
		got := fenceCheck(c.closed, &fs.PathError{Op: "open", Err: c.opening}, c.root)
		if got.Health != c.health || !strings.Contains(got.Detail+got.Next, c.says) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	h := machineWith(t, map[string]string{"/proc/self/cgroup": "0::/gpujobs.slice/gpujobs-u1001.slice/gpujob-7.service\n"})
	if got := h.checkFence(); !strings.Contains(got.Detail, "this is a job") {
		t.Errorf("in a job: %+v", got)
	}
	h = machineWith(t, map[string]string{"/etc/systemd/system/" + fenceDropIn: "", "/dev/gpusched-probe": ""})
	if got := h.checkFence(); strings.Contains(got.Next, closeSessions) {
		t.Errorf("with the drop-ins: %+v", got)
	}
}

// A process that holds a faulted GPU open is named even if the driver does not list the process.
func TestHoldersAreNamed(t *testing.T) {
	h := machineWith(t, map[string]string{"/proc/7/comm": "sleep\x1b[2J\n", "/proc/8/comm": "python\n", "/proc/9/comm": "cat\n", "/proc/10/comm": "gone\n"})
	for pid, nodes := range map[string][]string{"7": {"/dev/null", "/dev/nvidia3"}, "8": {"/dev/nvidia3"}, "9": {"/dev/nvidia30", "/tmp/dev/nvidia3"}} {
		if err := os.MkdirAll(h.path("/proc/"+pid+"/fd"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i, node := range nodes {
			if err := os.Symlink(node, h.path("/proc/"+pid+"/fd/"+strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	gpus := []api.GPU{{GPU: job.GPU{Index: 0, Minor: 0, State: "busy"}}, {GPU: job.GPU{Index: 1, Minor: 3, State: "sick", Processes: []job.GPUProcess{{PID: 8}}}}, {GPU: job.GPU{Index: 2, Minor: 2, State: "suspect"}}}
	got := h.checkHolders(gpus)
	if len(got) != 2 || got[0].Name != "gpu 1 holders" || got[0].Health != job.Degraded || got[1].Health != job.Healthy {
		t.Fatalf("%+v", got)
	}
	me := strconv.Itoa(os.Getuid())
	if want := "process 7 (sleep?[2J) of uid " + me + ", which the driver does not list; process 8 (python) of uid " + me; got[0].Detail != "it is open in "+want {
		t.Errorf("%q, want %q", got[0].Detail, want)
	}
}
