package launch

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

const probe = "/dev/gpusched-probe"

// fakeNodes answers for the device nodes in a table. Other nodes do not exist.
func fakeNodes(answers map[string]error) nodes {
	answer := func(path string) error {
		if err, ok := answers[path]; ok {
			return err
		}
		return unix.ENOENT
	}
	return nodes{open: answer, access: answer, readable: answer, list: func(string) ([]string, error) {
		names := []string{"null", "nvidia-uvm", "nvidia-caps", "nvidiactl", "nvidia", "nvidiax", "nvidia-1"}
		for path := range answers {
			names = append(names, strings.TrimPrefix(path, devDir+"/"))
		}
		return names, nil
	}}
}

// The whole decision table of prove (invariant 3).
func TestProve(t *testing.T) {
	const closed = unix.EPERM
	own := func(probeAnswer error, more map[string]error) map[string]error {
		m := map[string]error{probe: probeAnswer, "/dev/nvidiactl": nil, "/dev/nvidia0": nil, "/dev/nvidia1": closed}
		for path, err := range more {
			m[path] = err
		}
		return m
	}
	none := func(probeAnswer, gpu error) map[string]error {
		return map[string]error{probe: probeAnswer, "/dev/nvidiactl": gpu, "/dev/nvidia0": gpu, "/dev/nvidia1": gpu}
	}
	type world = map[string]error
	for _, c := range []struct {
		name     string
		gpus     bool
		optional bool
		world    world
		active   bool
		fails    string // part of the message; "": the launch continues
		errno    unix.Errno
	}{
		{name: "filter active", gpus: true, world: own(unix.EPERM, nil), active: true},
		{name: "active, job without GPUs", world: none(unix.EPERM, closed), active: true},
		{name: "active, machine without GPUs", world: world{probe: unix.EPERM}, active: true},
		{name: "active but another GPU is open", gpus: true, world: own(unix.EPERM, world{"/dev/nvidia1": nil}), fails: "/dev/nvidia1 is not the job's"},
		{name: "active but a GPU is open to a job without", world: own(unix.EPERM, nil), fails: "/dev/nvidia0 is not the job's"},

		{name: "no filter: ENXIO", gpus: true, world: own(unix.ENXIO, nil), fails: "filter is not active"},
		{name: "no filter: ENODEV", gpus: true, world: own(unix.ENODEV, nil), fails: "filter is not active"},
		{name: "no filter: opens", gpus: true, world: own(nil, nil), fails: "filter is not active"},
		{name: "probe node missing", gpus: true, world: own(unix.ENOENT, nil), fails: "systemd-tmpfiles --create", errno: unix.ENOENT},
		{name: "probe node closed by its mode", gpus: true, world: own(unix.EACCES, nil), fails: "can't be proven", errno: unix.EACCES},
		{name: "no filter, job without GPUs", world: none(unix.ENXIO, nil), fails: "filter is not active"},
		{name: "no filter, another GPU is open", gpus: true, world: own(unix.ENXIO, world{"/dev/nvidia1": nil}), fails: "filter is not active"},
		{name: "no filter, nothing to protect", world: world{probe: unix.ENXIO}},
		{name: "no probe, nothing to protect", world: world{}},
		{name: "no probe, GPUs closed by their mode", world: none(unix.ENOENT, unix.EACCES)},

		{name: "filter not required", gpus: true, optional: true, world: own(unix.ENXIO, world{"/dev/nvidia1": nil})},
		{name: "not required but active", gpus: true, optional: true, world: own(unix.EPERM, nil), active: true},
		{name: "not required, active, another is open", gpus: true, optional: true, world: own(unix.EPERM, world{"/dev/nvidia1": nil})},
		{name: "not required, job without GPUs", optional: true, world: none(unix.ENXIO, nil)},

		{name: "own GPU filtered", gpus: true, world: own(unix.EPERM, world{"/dev/nvidia0": closed}), fails: "refuses the job its own GPU node /dev/nvidia0", errno: unix.EPERM},
		{name: "own GPU filtered, not required", gpus: true, optional: true, world: own(unix.EPERM, world{"/dev/nvidia0": closed}), fails: "own GPU node", errno: unix.EPERM},
		{name: "control node filtered", gpus: true, world: own(unix.EPERM, world{"/dev/nvidiactl": closed}), fails: "/dev/nvidiactl", errno: unix.EPERM},
		{name: "own GPU closed by its mode", gpus: true, world: own(unix.EPERM, world{"/dev/nvidia0": unix.EACCES}), fails: "ls -l /dev/nvidia0", errno: unix.EACCES},
		{name: "own node missing", gpus: true, world: world{probe: unix.EPERM, "/dev/nvidiactl": nil}, fails: "nvidia-modprobe -c 0", errno: unix.ENOENT},
		{name: "control node missing", gpus: true, world: world{probe: unix.EPERM, "/dev/nvidia0": nil}, fails: "nvidia-modprobe -c 255", errno: unix.ENOENT},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Spec{ProbePath: probe, RequireFilter: !c.optional}
			if c.gpus {
				s.GPUs = []contract.GPU{{Index: 5, Minor: 0, UUID: "GPU-a"}}
			}
			active, f := fakeNodes(c.world).prove(s)
			if active != c.active {
				t.Errorf("active: %v", active)
			}
			switch {
			case f == nil && c.fails != "":
				t.Errorf("went on")
			case f != nil && (c.fails == "" || !strings.Contains(f.Error(), c.fails) || f.Step != contract.StepFilter || f.Errno() != int(c.errno)):
				t.Errorf("failed with %s, %d: %v", f.Step, f.Errno(), f)
			}
		})
	}
}

// A slice needs the node of its GPU, which the GPU's other slices need too, and two nodes of its
// own.
func TestNodesOfASlice(t *testing.T) {
	const first, second = "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31"
	for _, c := range []struct {
		first, second error
		fails         string
	}{
		{nil, nil, ""},
		{unix.EPERM, nil, "refuses the job its own GPU node " + first},
		{nil, unix.ENOENT, "nvidia-modprobe -f"},
	} {
		n := fakeNodes(map[string]error{probe: unix.EPERM, "/dev/nvidiactl": nil, "/dev/nvidia0": nil, first: c.first, second: c.second})
		n.access = func(path string) error {
			if strings.HasPrefix(path, contract.CapPrefix) {
				return unix.EACCES // nobody can write to these nodes
			}
			return n.readable(path)
		}
		s := &Spec{ProbePath: probe, RequireFilter: true, GPUs: []contract.GPU{{Index: 4, UUID: "MIG-a", GICap: 30, CICap: 31}}}
		active, f := n.prove(s)
		if active != (c.fails == "") || f != nil && (c.fails == "" || !strings.Contains(f.Error(), c.fails)) {
			t.Errorf("%+v: active %t, %v", c, active, f)
		}
	}
}

// An unreadable /dev proves nothing.
func TestUnreadableDevIsNoProof(t *testing.T) {
	n := fakeNodes(map[string]error{probe: unix.EPERM})
	n.list = func(string) ([]string, error) { return nil, unix.EACCES }
	if active, f := n.prove(&Spec{ProbePath: probe, RequireFilter: true}); active || f == nil || !errors.Is(f, unix.EACCES) {
		t.Fatalf("%v, %v", active, f)
	}
}

// The real functions answer correctly for existing and for missing nodes. That needs no filter.
func TestSystemNodes(t *testing.T) {
	n := systemNodes()
	for path, want := range map[string]error{"/dev/null": nil, "/dev/none-such": unix.ENOENT} {
		if got := n.open(path); got != want {
			t.Errorf("open %s: %v", path, got)
		}
		if got := n.access(path); got != want {
			t.Errorf("access %s: %v", path, got)
		}
	}
	if names, err := n.list("/dev"); err != nil || len(names) < 3 {
		t.Error(names, err)
	}
}
