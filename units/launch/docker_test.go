package launch

import (
	"cmp"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

func dockerBoxOf(s *Spec, cdi ...string) *box {
	s.Container.Engine, s.Container.Driver, s.Container.Store = contract.Docker, "", ""
	return newBox(s, true, &surroundings{
		group: "/gpujobs.slice/gpujobs-u1000.slice/gpujobs-u1000-j17.slice/gpujob-17.service", base: ofContainer, cdi: cdi,
		free: func(int) bool { return true }, ids: ids{1000, 100, []int{100, 2500}},
		exists: func(path string) bool { return path != "/dev/nvidia-uvm-tools" },
	})
}

// Docker's daemon starts the container, so the command line has the settings that other processes
// get from their unit. The container gets the job's own GPUs alone, and never --gpus.
func TestDockerCommands(t *testing.T) {
	const start = "docker --host=unix:///var/run/docker.sock run --pull=never --rm --init --name=gpujob-17-2 --cgroup-parent=gpujobs-u1000-j17.slice" +
		" --network=host --ipc=host --security-opt=label=disable --log-driver=none --user=1000:100 --workdir=/home/alice/work --group-add=2500"
	const home = " --mount=type=bind,src=/home/alice,dst=/home/alice img python a b.py"
	gpus := []contract.GPU{{UUID: "GPU-a", Index: 0, Minor: 3}, {UUID: "GPU-b", Index: 1, Minor: 1}}
	const cdi = "- name: GPU-a\n- name: GPU-b\n"
	for _, c := range []struct {
		name, want string
		change     func(*Spec)
	}{
		{"plain", start + home, nil},
		{"nodes", start + " --device=/dev/nvidiactl --device=/dev/nvidia-uvm --device=/dev/nvidia3 --device=/dev/nvidia1" + home, func(s *Spec) {
			s.GPUs = gpus
		}},
		{"names", start + " --device=nvidia.com/gpu=GPU-a --device=nvidia.com/gpu=GPU-b" + home, func(s *Spec) {
			s.GPUs, s.Container.CDI = gpus, true
		}},
		{"terminal", start + " --interactive --tty" + home, func(s *Spec) { s.TTY = true }},
		{"limits", start + " --ulimit=nofile=1024:4096 --ulimit=memlock=-1:-1" + home, func(s *Spec) {
			s.SoftLimits = []contract.Limit{
				{Name: "NOFILE", Soft: 1024, Hard: 4096}, {Name: "AS", Soft: 1, Hard: 1}, {Name: "MEMLOCK", Soft: ^uint64(0), Hard: ^uint64(0)},
			}
		}},
	} {
		argv, _ := dockerBoxOf(containerSpec(c.change), cdi).start()
		argv = slices.DeleteFunc(argv, func(word string) bool { return strings.HasPrefix(word, "--env=") })
		if got := strings.Join(argv, " "); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	b := dockerBoxOf(containerSpec(func(s *Spec) { s.Env = []string{"KEY=secret"} }))
	b.docker.tasks = "99"
	argv, env := b.start()
	if !slices.Contains(argv, "--pids-limit=99") {
		t.Errorf("the limit of tasks is missing in %q", argv)
	}
	if strings.Contains(strings.Join(argv, " "), "secret") || !slices.Contains(argv, "--env=HOME=/home/alice") {
		t.Errorf("%q", argv)
	}
	expect(t, env, map[string]string{"KEY": "secret", "DBUS_SESSION_BUS_ADDRESS": "(unset)"})
	argv, _ = b.enter(true, "xterm")
	if got, want := strings.Join(argv, " "), "docker --host=unix:///var/run/docker.sock exec --interactive --workdir=/home/alice/work --tty --env=TERM=xterm gpujob-17-2"; got != want {
		t.Errorf("enter: %s\nwant %s", got, want)
	}
}

// If Docker would put the container outside the job, the container does not start. If the image is
// not there, it is pulled. A job that meets a stopped Docker is tried again, whichever command failed.
func TestPrepareDocker(t *testing.T) {
	defer func(stderr *os.File) { os.Stderr = stderr }(os.Stderr)
	os.Stderr, _ = os.Open(os.DevNull)
	listening := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", listening)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, c := range map[string]struct {
		group, info     string
		first           string // what 'docker info' prints before info
		socket          string
		step            contract.Step
		what            string
		status          int
		err             error
		inspect, pulled int
		calls           int
		ok              bool
	}{
		"all is there":   {info: "systemd 2\n", calls: 2, ok: true},
		"a pull":         {info: "systemd 2\n", inspect: 1, calls: 3, ok: true},
		"no such image":  {info: "systemd 2\n", inspect: 1, pulled: 1, calls: 3},
		"another driver": {info: "cgroupfs 2\n", calls: 2},
		"cgroup v1":      {info: "systemd 1\n", calls: 2},
		"not allowed":    {info: "permission denied\n", status: 1, calls: 2, step: contract.StepContainer},
		"not allowed, 0": {info: "\npermission denied: socket\n", calls: 2, step: contract.StepContainer, what: "did not answer"},
		"stopped":        {info: "Cannot connect\n", status: 1, calls: 1, socket: "/nowhere", step: contract.StepEngine},
		"stopped, 0":     {info: "Cannot connect\n", calls: 1, socket: "/nowhere", step: contract.StepEngine},
		"back already":   {first: "Cannot connect\n", info: "systemd 2\n", calls: 3, ok: true},
		"stops later":    {info: "systemd 2\n", inspect: 1, pulled: 1, calls: 3, socket: "/nowhere", step: contract.StepEngine},
		"not installed":  {err: errors.New("not found"), calls: 1},
		"no slice":       {group: "/gpujobs.slice/gpujobs-u1000.slice/gpujob-17.service"},
		"another's":      {group: "/gpujobs.slice/gpujobs-u1000.slice/gpujobs-u1000-j7.slice/gpujob-17.service"},
	} {
		b, calls := dockerBoxOf(containerSpec(nil)), 0
		b.docker.socket = cmp.Or(c.socket, listening)
		if c.group != "" {
			b.docker = newDockerBox(containerSpec(nil), &surroundings{group: c.group})
		}
		f := b.prepare(func(argv, _ []string, quiet bool) (int, string, error) {
			calls++
			switch argv[2] {
			case "info":
				if c.first != "" && calls == 1 {
					return c.status, c.first, c.err
				}
				return c.status, c.info, c.err
			case "image":
				return c.inspect, "", nil
			case "pull":
				if quiet {
					t.Errorf("%s: the progress of a pull is not shown", name)
				}
				return c.pulled, "", nil
			}
			t.Errorf("%s: %q", name, argv)
			return 0, "", nil
		})
		if (f == nil) != c.ok || calls != c.calls || c.step != "" && f.Step != c.step ||
			f != nil && !strings.Contains(f.What, c.what) {
			t.Errorf("%s: %v after %d calls", name, f, calls)
		}
	}
}
