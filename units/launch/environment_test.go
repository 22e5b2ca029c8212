package launch

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/units/contract"
)

// unitBase is the environment that systemd gives a job's unit.
var unitBase = []string{
	"LANG=en_US.UTF-8", "PATH=/unit/bin", "HOME=/home/alice", "LOGNAME=alice", "USER=alice", "SHELL=/bin/zsh",
	"INVOCATION_ID=unit", "JOURNAL_STREAM=8:15", "SYSTEMD_EXEC_PID=77", "NOTIFY_SOCKET=/run/systemd/notify", "http_proxy=http://site",
}

func value(env []string, name string) string {
	found := "(unset)"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			if found != "(unset)" {
				return "(twice)"
			}
			found = v
		}
	}
	return found
}

func expect(t *testing.T, env []string, want map[string]string) {
	t.Helper()
	for name, v := range want {
		if got := value(env, name); got != v {
			t.Errorf("%s is %q, not %q", name, got, v)
		}
	}
}

// CUDA_VISIBLE_DEVICES and the other GPU variables are right in every case.
func TestGPUVariables(t *testing.T) {
	two := []contract.GPU{{Index: 2, Minor: 5, UUID: "GPU-c"}, {Index: 3, Minor: 1, UUID: "GPU-d"}}
	slice := []contract.GPU{{Index: 4, Minor: 0, UUID: "MIG-a", GICap: 30, CICap: 31}}
	for _, c := range []struct {
		name     string
		gpus     []contract.GPU
		visible  string
		filtered bool
		want     map[string]string
	}{
		{"filter", two, "", true, map[string]string{"CUDA_VISIBLE_DEVICES": "0,1", "NVIDIA_VISIBLE_DEVICES": "GPU-c,GPU-d", "GPUSCHED_GPU_IDS": "2,3", "GPUSCHED_GPU_UUIDS": "GPU-c,GPU-d"}},
		{"filter, by name", two, "index", true, map[string]string{"CUDA_VISIBLE_DEVICES": "0,1"}},
		{"no filter", two, "", false, map[string]string{"CUDA_VISIBLE_DEVICES": "2,3", "NVIDIA_VISIBLE_DEVICES": "GPU-c,GPU-d"}},
		{"uuid", two, VisibleUUID, true, map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-c,GPU-d"}},
		{"uuid, no filter", two, VisibleUUID, false, map[string]string{"CUDA_VISIBLE_DEVICES": "GPU-c,GPU-d"}},
		{"slice", slice, "", true, map[string]string{"CUDA_VISIBLE_DEVICES": "MIG-a", "NVIDIA_VISIBLE_DEVICES": "MIG-a", "GPUSCHED_GPU_IDS": "4"}},
		{"slice, no filter", slice, "index", false, map[string]string{"CUDA_VISIBLE_DEVICES": "MIG-a"}},
		{"no GPUs", nil, "", true, map[string]string{"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void", "GPUSCHED_GPU_IDS": "", "GPUSCHED_GPU_UUIDS": ""}},
		{"no GPUs, no filter", nil, VisibleUUID, false, map[string]string{"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void"}},
	} {
		for _, mode := range []contract.EnvMode{contract.EnvInherit, contract.EnvClean, contract.EnvLogin} {
			s := &Spec{JobID: 42, Attempt: 2, Program: contract.Program{
				EnvMode: mode, Env: []string{
					"CUDA_VISIBLE_DEVICES=7", "CUDA_DEVICE_ORDER=FASTEST_FIRST", "NVIDIA_VISIBLE_DEVICES=all", "GPUSCHED_JOB_ID=1",
					"GPUSCHED_GPU_MEM_MIB=9", "GPUSCHED_ARRAY_JOB=2", "GPUSCHED_ARRAY_TASK=4", "GPUSCHED_CONFIG=mine",
				},
			}, GPUs: c.gpus, Visible: c.visible}
			env := Environment(s, c.filtered, append([]string{"CUDA_VISIBLE_DEVICES=0,1,2,3"}, unitBase...))
			t.Run(c.name+" "+string(mode), func(t *testing.T) {
				expect(t, env, c.want)
				expect(t, env, map[string]string{
					"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "GPUSCHED_JOB_ID": "42", "GPUSCHED_ATTEMPT": "2",
					"GPUSCHED_GPU_MEM_MIB": "(unset)", "GPUSCHED_ARRAY_JOB": "(unset)", "GPUSCHED_ARRAY_TASK": "(unset)", "GPUSCHED_CONFIG": "mine",
				})
			})
		}
	}
}

// A task, even task 0, knows its own array, not that of its submitter.
func TestArrayVariables(t *testing.T) {
	for task, want := range map[int]string{0: "0", 300: "300"} {
		env := Environment(&Spec{JobID: 12, ArrayJob: 7, ArrayTask: task, Program: contract.Program{Env: []string{"GPUSCHED_ARRAY_JOB=2", "GPUSCHED_ARRAY_TASK=9"}}}, true, nil)
		expect(t, env, map[string]string{"GPUSCHED_JOB_ID": "12", "GPUSCHED_ARRAY_JOB": "7", "GPUSCHED_ARRAY_TASK": want})
	}
}

// Python's output is not buffered, unless the submitter or the site sets PYTHONUNBUFFERED
// otherwise.
func TestPythonPrintsAtOnce(t *testing.T) {
	for _, c := range []struct {
		mode          contract.EnvMode
		asked, ofUnit string
		want          string
	}{
		{contract.EnvInherit, "X=1", "Y=1", "1"},
		{contract.EnvClean, "X=1", "Y=1", "1"},
		{contract.EnvInherit, "PYTHONUNBUFFERED=", "Y=1", ""},
		{contract.EnvClean, "PYTHONUNBUFFERED=", "Y=1", ""},
		{contract.EnvLogin, "PYTHONUNBUFFERED=0", "PYTHONUNBUFFERED=2", "0"},
		{contract.EnvInherit, "X=1", "PYTHONUNBUFFERED=", ""},
	} {
		s := &Spec{Program: contract.Program{EnvMode: c.mode, Env: []string{c.asked}}}
		expect(t, Environment(s, true, append([]string{c.ofUnit}, unitBase...)), map[string]string{"PYTHONUNBUFFERED": c.want})
	}
}

// One and a half GPUs are two devices.
func TestFractionOfASecondGPU(t *testing.T) {
	s := &Spec{ShareMilli: 1500, GPUs: []contract.GPU{{Index: 2, Minor: 5, UUID: "GPU-c"}, {Index: 3, Minor: 1, UUID: "GPU-d"}}}
	expect(t, Environment(s, true, nil), map[string]string{"CUDA_VISIBLE_DEVICES": "0,1", "GPUSCHED_GPU_IDS": "2,3", "GPUSCHED_GPU_SHARE": "1.5"})
}

func TestShareAndMemory(t *testing.T) {
	for milli, want := range map[int]string{0: "0", 10: "0.01", 250: "0.25", 500: "0.5", 1000: "1", 1500: "1.5", 12000: "12"} {
		env := Environment(&Spec{ShareMilli: milli, GPUMemMiB: 20480}, true, nil)
		expect(t, env, map[string]string{"GPUSCHED_GPU_SHARE": want, "GPUSCHED_GPU_MEM_MIB": "20480"})
	}
}

// Frameworks are told the smallest part of the job, once, and not against what somebody has set. A
// job that another job submitted gets its own.
func TestHints(t *testing.T) {
	half := []contract.GPU{{HintMilli: 450}}
	outer := []string{"GPUSCHED_GPU_FRACTION=0.225", "XLA_PYTHON_CLIENT_MEM_FRACTION=0.225", "TF_FORCE_GPU_ALLOW_GROWTH=true"}
	in := contract.Container{Engine: contract.Podman}
	for name, c := range map[string]struct {
		gpus      []contract.GPU
		env, base []string
		in        contract.Container
		want      string // the fraction, JAX's older and newer name, TensorFlow's variable
	}{
		"part":       {half, nil, nil, contract.Container{}, "0.45 0.45 (unset) true"},
		"whole":      {[]contract.GPU{{}}, nil, nil, contract.Container{}, "(unset) (unset) (unset) (unset)"},
		"two":        {[]contract.GPU{{}, {HintMilli: 450}, {HintMilli: 90}}, nil, nil, contract.Container{}, "0.09 0.09 (unset) true"},
		"submitter":  {half, []string{"XLA_CLIENT_MEM_FRACTION=.3", "GPUSCHED_GPU_FRACTION=1"}, nil, contract.Container{}, "0.45 (unset) .3 true"},
		"unset":      {half, []string{"XLA_PYTHON_CLIENT_MEM_FRACTION="}, nil, contract.Container{}, "0.45  (unset) true"},
		"site":       {half, nil, []string{"XLA_PYTHON_CLIENT_MEM_FRACTION=.2", "TF_FORCE_GPU_ALLOW_GROWTH=false"}, contract.Container{}, "0.45 .2 (unset) false"},
		"inner":      {half, outer, nil, contract.Container{}, "0.45 0.45 (unset) true"},
		"inner, all": {[]contract.GPU{{}}, outer, nil, contract.Container{}, "(unset) (unset) (unset) (unset)"},
		"container":  {half, nil, nil, in, "0.45 0.45  true"},
	} {
		env := Environment(&Spec{GPUs: c.gpus, Program: contract.Program{EnvMode: contract.EnvInherit, Env: c.env, Container: c.in}}, true, c.base)
		var got []string
		for _, name := range []string{"GPUSCHED_GPU_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION", "TF_FORCE_GPU_ALLOW_GROWTH"} {
			got = append(got, value(env, name))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}

// The job's scratch directory replaces the submitter's directory for temporary files.
func TestScratchVariables(t *testing.T) {
	s := &Spec{Scratch: "/nvme/u1001/7.1", Program: contract.Program{EnvMode: contract.EnvInherit, Env: []string{"TMPDIR=/tmp/session", "GPUSCHED_SCRATCH=/nvme/u1001/3.1"}}}
	expect(t, Environment(s, true, nil), map[string]string{"TMPDIR": s.Scratch, "GPUSCHED_SCRATCH": s.Scratch})
	s.Scratch = ""
	expect(t, Environment(s, true, nil), map[string]string{"TMPDIR": "/tmp/session", "GPUSCHED_SCRATCH": "(unset)"})
}

// Mode inherit passes on the submitter's variables, except those that do not apply to the job
// (invariant 4).
func TestInherit(t *testing.T) {
	s := &Spec{Program: contract.Program{
		EnvMode: contract.EnvInherit, Dir: "/data/run", Env: []string{
			"PATH=/my/bin:/usr/bin", "HOME=/other", "FOO=1", "BAD\xff=\xfe", "BASH_FUNC_f%%=() { :; }", "EMPTY=", "MULTI=a\nb", "PWD=/where/submitted", "OLDPWD=/x", "SHLVL=2", "_=/usr/bin/gpusched",
			"INVOCATION_ID=session", "JOURNAL_STREAM=1:1", "SYSTEMD_EXEC_PID=1", "NOTIFY_SOCKET=@theirs", "LISTEN_FDS=1", "LISTEN_PID=9", "WATCHDOG_USEC=1", "MEMORY_PRESSURE_WATCH=/x",
			"XDG_RUNTIME_DIR=/run/user/1001", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1001/bus", "XDG_SESSION_ID=3", "SSH_TTY=/dev/pts/1",
			"SSH_AUTH_SOCK=/tmp/agent", "DISPLAY=:0", "no-equals-sign", "=nameless", "FOO=2", "LISTEN_PORT=8080",
		},
	}}
	env := Environment(s, true, unitBase)
	expect(t, env, map[string]string{
		"PATH": "/my/bin:/usr/bin", "HOME": "/other", "FOO": "2", "BAD\xff": "\xfe", "BASH_FUNC_f%%": "() { :; }", "EMPTY": "", "MULTI": "a\nb", "PWD": "/data/run",
		"INVOCATION_ID": "unit", "JOURNAL_STREAM": "8:15", "SYSTEMD_EXEC_PID": "77", "NOTIFY_SOCKET": "(unset)", "LISTEN_FDS": "(unset)", "LISTEN_PID": "(unset)",
		"WATCHDOG_USEC": "(unset)", "MEMORY_PRESSURE_WATCH": "(unset)", "XDG_RUNTIME_DIR": "(unset)", "DBUS_SESSION_BUS_ADDRESS": "(unset)", "XDG_SESSION_ID": "(unset)", "SSH_TTY": "(unset)",
		"SSH_AUTH_SOCK": "/tmp/agent", "DISPLAY": ":0", "LISTEN_PORT": "8080",
		"USER": "alice", "LOGNAME": "alice", "SHELL": "/bin/zsh", "LANG": "(unset)", "http_proxy": "http://site",
	})
	for _, kv := range env {
		if !strings.Contains(kv, "=") || kv[0] == '=' {
			t.Errorf("entry %q", kv)
		}
	}
}

// If the submitter had no PATH, the job has none: the C library's default applies, not the unit's.
func TestInheritAddsNoPath(t *testing.T) {
	env := Environment(&Spec{Program: contract.Program{EnvMode: contract.EnvInherit}}, true, append([]string{"LC_ALL=C"}, unitBase...))
	expect(t, env, map[string]string{"PATH": "(unset)", "LANG": "(unset)", "LC_ALL": "(unset)"})
}

// A job in mode "clean" gets the few variables of every login, and those that were requested.
func TestClean(t *testing.T) {
	s := &Spec{Program: contract.Program{EnvMode: contract.EnvClean, Env: []string{"FOO=1", "XDG_RUNTIME_DIR=/asked/for", "PATH=/asked/bin"}}}
	got := Environment(s, true, unitBase)
	slices.Sort(got)
	want := []string{
		"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=", "FOO=1", "GPUSCHED_ATTEMPT=0", "GPUSCHED_GPU_IDS=", "GPUSCHED_GPU_SHARE=0", "GPUSCHED_GPU_UUIDS=",
		"GPUSCHED_JOB_ID=0", "HOME=/home/alice", "INVOCATION_ID=unit", "JOURNAL_STREAM=8:15", "LANG=en_US.UTF-8", "LOGNAME=alice", "NVIDIA_VISIBLE_DEVICES=void",
		"PATH=/asked/bin", "PYTHONUNBUFFERED=1", "SHELL=/bin/zsh", "SYSTEMD_EXEC_PID=77", "USER=alice", "XDG_RUNTIME_DIR=/asked/for", "http_proxy=http://site",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

// What the unit's environment lacks is taken from the spec.
func TestFallbacks(t *testing.T) {
	s := &Spec{Program: contract.Program{EnvMode: contract.EnvClean}, Home: "/home/bob", User: "bob", Shell: "/bin/bash"}
	expect(t, Environment(s, true, nil), map[string]string{
		"HOME": "/home/bob", "USER": "bob", "LOGNAME": "bob", "SHELL": "/bin/bash", "PATH": defaultPath, "LANG": "C.UTF-8",
	})
	expect(t, Environment(&Spec{Program: contract.Program{EnvMode: contract.EnvInherit}}, true, nil), map[string]string{"HOME": "(unset)", "PATH": "(unset)"})
}

// Whatever the environments of the submitter and the unit contain, each name occurs once, the
// launcher sets the GPU variables, and the launcher's own variables are gone.
func TestEnvironmentAlways(t *testing.T) {
	entry := rapid.Custom(func(t *rapid.T) string {
		name := rapid.SampledFrom([]string{"A", "B", "PATH", "CUDA_VISIBLE_DEVICES", "NOTIFY_SOCKET", "INVOCATION_ID", "PWD", "LC_ALL", "GPUSCHED_GPU_IDS", "", "\xff"}).Draw(t, "name")
		return name + rapid.SampledFrom([]string{"=", "=x", "", "=a=b", "=\n"}).Draw(t, "value")
	})
	rapid.Check(t, func(t *rapid.T) {
		s := &Spec{
			Program: contract.Program{EnvMode: rapid.SampledFrom([]contract.EnvMode{contract.EnvInherit, contract.EnvClean, contract.EnvLogin}).Draw(t, "mode"), Env: rapid.SliceOf(entry).Draw(t, "env")},
			GPUs:    []contract.GPU{{Index: 3, UUID: "GPU-x"}},
		}
		base := rapid.SliceOf(entry).Draw(t, "base")
		env := Environment(s, true, base)
		seen := map[string]bool{}
		for _, kv := range env {
			name := nameOf(kv)
			if name == "" || seen[name] {
				t.Fatalf("entry %q in %q", kv, env)
			}
			seen[name] = true
		}
		if value(env, "CUDA_VISIBLE_DEVICES") != "0" || value(env, "GPUSCHED_GPU_IDS") != "3" || seen["NOTIFY_SOCKET"] {
			t.Fatalf("%q", env)
		}
		if seen["INVOCATION_ID"] && !slices.ContainsFunc(base, func(kv string) bool { return nameOf(kv) == "INVOCATION_ID" }) {
			t.Fatalf("the submitter's INVOCATION_ID in %q", env)
		}
	})
}
