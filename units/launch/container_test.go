package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// ofContainer is the environment of the unit of a job with a container.
var ofContainer = append(slices.Clone(unitBase), "RUNTIME_DIRECTORY=/run/site:/run/gpujobs-containers/1000", "GPUSCHED_JOB_ID=17")

func containerSpec(change func(*Spec)) *Spec {
	s := &Spec{JobID: 17, Attempt: 2, User: "alice", Program: contract.Program{
		Argv: []string{"python", "a b.py"}, EnvMode: contract.EnvClean, Dir: "/home/alice/work", Umask: 0o027,
		Container: contract.Container{Engine: contract.Podman, Image: "img", Driver: "overlay", Store: "/home/alice/images"},
	}}
	if change != nil {
		change(s)
	}
	return s
}

func boxOf(s *Spec, cdi ...string) *box {
	return newBox(s, true, &surroundings{
		self: "/libexec/gpusched-job", group: "/gpujobs.slice/gpujob-17.service", base: ofContainer, cdi: cdi,
		free: func(int) bool { return true },
	})
}

// The commands of Podman and Apptainer have the settings that each kind of job needs.
func TestContainerCommands(t *testing.T) {
	const global = "podman --root=/home/alice/images/gpusched --storage-opt=overlay.imagestore=/home/alice/images --storage-driver=overlay" +
		" --runroot=/run/gpujobs-containers/1000/run --tmpdir=/run/gpujobs-containers/1000/tmp" +
		" --events-backend=none --log-level=error --cgroup-manager=cgroupfs --runtime=crun "
	const start = global + "run --pull=never --rm --replace --name=gpujob-17-2 --init --init-path=/libexec/gpusched-job" +
		" --cgroups=disabled --cgroupns=host --sdnotify=ignore --network=host --ipc=host" +
		" --security-opt=label=disable --group-add=keep-groups --umask=0027"
	const home = " --mount=type=bind,src=/home/alice,dst=/home/alice"
	gpus := []contract.GPU{{UUID: "GPU-a", Index: 0}, {UUID: "MIG-b", Index: 3, GICap: 1, CICap: 2}}
	for _, c := range []struct {
		name, want string
		change     func(*Spec)
		cdi        string
	}{
		{"plain", start + " --workdir=/home/alice/work --log-driver=passthrough" + home + " img python a b.py", nil, ""},
		{"terminal", start + " --workdir=/home/alice/work --interactive --tty --log-driver=none --userns=keep-id" + home + " img python a b.py", func(s *Spec) {
			s.TTY, s.Container.KeepIDs = true, true
		}, ""},
		{"GPUs", start + " --workdir=/home/alice/work --log-driver=passthrough --device=nvidia.com/gpu=GPU-a --device=nvidia.com/gpu=MIG-b" + home + " img python a b.py", func(s *Spec) {
			s.GPUs = gpus
		}, "devices:\n- containerEdits: {}\n  name: \"GPU-a\"\n- {name: MIG-b, containerEdits: {}}\n"},
		{"GPUs without names", start + " --workdir=/home/alice/work --log-driver=passthrough --device=nvidia.com/gpu=all" + home + " img python a b.py", func(s *Spec) {
			s.GPUs = gpus
		}, `{"devices":[{"name":"all"},{"name":"GPU-a"},{"name":"MIG-bb"}]}`},
		{"mounts", start + " --workdir=/data/x --log-driver=passthrough" + home + " --mount=type=bind,src=/data/x,dst=/data/x" +
			` --mount=type=bind,"src=/s,""1""",dst=/in,ro=true --shm-size=1g --init img python a b.py`, func(s *Spec) {
			s.Dir, s.Container.Args = "/data/x", []string{"--shm-size=1g"}
			s.Container.Mounts = []contract.Mount{{Source: `/s,"1"`, Target: "/in", ReadOnly: true}}
		}, ""},
		{"root directory", start + " --workdir=/ --log-driver=passthrough" + home + " img python a b.py", func(s *Spec) { s.Dir = "/" }, ""},
		{"apptainer", `apptainer exec --cleanenv --nv --bind /home/alice:/home/alice --bind /a\:b:/in:ro --pwd /home/alice/work --writable-tmpfs /x.sif python a b.py`, func(s *Spec) {
			s.GPUs = gpus
			s.Container = contract.Container{Engine: contract.Apptainer, Image: "/x.sif", Args: []string{"--writable-tmpfs"},
				Mounts: []contract.Mount{{Source: "/a:b", Target: "/in", ReadOnly: true}}}
		}, ""},
	} {
		argv, _ := boxOf(containerSpec(c.change), c.cdi).start()
		argv = slices.DeleteFunc(argv, func(word string) bool { return strings.HasPrefix(word, "--env=") })
		if got := strings.Join(argv, " "); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		tty        bool
		term, want string
	}{
		{false, "", global + "exec --interactive --workdir=/home/alice/work gpujob-17-2"},
		{true, "xterm", global + "exec --interactive --workdir=/home/alice/work --tty --env=TERM=xterm gpujob-17-2"},
	} {
		argv, env := boxOf(containerSpec(nil)).enter(c.tty, c.term)
		if got := strings.Join(argv, " "); got != c.want {
			t.Errorf("enter: %s\nwant %s", got, c.want)
		}
		expect(t, env, map[string]string{"XDG_RUNTIME_DIR": "/run/gpujobs-containers/1000"})
	}
	own := boxOf(containerSpec(nil))
	own.runtime = "/run/user/1000/gpujobs-containers/1000"
	if got, want := own.store(), boxOf(containerSpec(nil)).store()+"-own"; got != want {
		t.Errorf("the user's own scheduler has the store %s, not %s", got, want)
	}
}

// The image's own environment stays, except for the scheduler's variables, some about the user, and
// those that the submitter asked for. Others can read the command line, so it has the values of
// only those variables that Podman itself would heed.
func TestContainerEnvironment(t *testing.T) {
	s := containerSpec(func(s *Spec) {
		s.Env = []string{"KEY=secret", "PATH=/mine", "LD_PRELOAD=/x.so", "A.B=c", "GPUSCHED_AIMED=9", "TZ=UTC",
			"GOOGLE_API_KEY=secret", "DOCKER_PASSWORD=secret", "SSH_PRIVATE_KEY=secret", "OCI_KEY=secret", "GPG_PASSPHRASE=secret"}
		s.Aimed = []int{10, 15}
	})
	for _, engine := range []contract.Engine{contract.Podman, contract.Apptainer} {
		s.Container.Engine = engine
		b := boxOf(s)
		expect(t, b.env, map[string]string{
			"HOME": "/home/alice", "USER": "alice", "LOGNAME": "alice", "LANG": "en_US.UTF-8", "TZ": "UTC", "SHELL": "(unset)", "PATH": "/mine",
			"http_proxy": "(unset)", "CUDA_VISIBLE_DEVICES": "", "GPUSCHED_JOB_ID": "17", "GPUSCHED_ATTEMPT": "2", "MASTER_PORT": "20017",
			"RUNTIME_DIRECTORY": "(unset)", "DBUS_SESSION_BUS_ADDRESS": "(unset)", "XDG_RUNTIME_DIR": "(unset)", "INVOCATION_ID": "(unset)",
		})
		expect(t, b.outside, map[string]string{
			"PATH": "/unit/bin", "HOME": "/home/alice", "http_proxy": "http://site", "NOTIFY_SOCKET": "(unset)", "KEY": "(unset)",
			"GPUSCHED_JOB_ID": "(unset)",
		})
		argv, env := b.start()
		if line := strings.Join(argv, " "); strings.Contains(line, "secret") {
			t.Error(line)
		}
		if engine == contract.Apptainer {
			expect(t, env, map[string]string{"APPTAINERENV_KEY": "secret", "APPTAINERENV_PATH": "/mine", "PATH": "/unit/bin", "APPTAINERENV_HOME": "(unset)"})
			continue
		}
		expect(t, b.env, map[string]string{contract.GroupVariable: "/gpujobs.slice/gpujob-17.service", contract.AimedVariable: "10,15"})
		expect(t, env, map[string]string{
			"KEY": "secret", "PATH": "/unit/bin", "LD_PRELOAD": "(unset)", "TZ": "UTC", "XDG_RUNTIME_DIR": "/run/gpujobs-containers/1000",
			"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
		})
		for _, word := range []string{"--env=KEY", "--env=PATH=/mine", "--env=LD_PRELOAD=/x.so", "--env=A.B=c", "--env=HOME=/home/alice"} {
			if !slices.Contains(argv, word) {
				t.Errorf("no %s in %q", word, argv)
			}
		}
	}
}

// If only the job's own GPUs are in the container, CUDA counts them from 0, even without a filter.
func TestContainerCountsItsGPUs(t *testing.T) {
	s := containerSpec(func(s *Spec) { s.GPUs = []contract.GPU{{UUID: "GPU-a", Index: 3}} })
	for cdi, want := range map[string]string{"": "3", "name: GPU-a": "0"} {
		b := newBox(s, false, &surroundings{base: ofContainer, cdi: []string{cdi}, free: func(int) bool { return true }})
		expect(t, b.env, map[string]string{"CUDA_VISIBLE_DEVICES": want})
	}
}
