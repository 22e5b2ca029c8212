package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// tester is a systemd whose units end as they are told.
type tester struct {
	status units.Status
	err    error
	name   string
	props  []units.Property
}

func (s *tester) RunOneshot(_ context.Context, name string, props []units.Property) (units.Status, error) {
	s.name, s.props = name, props
	return s.status, s.err
}

// withCUDA makes the library and the node that CUDA needs. /dev/null stands in for the node.
func withCUDA(t *testing.T, root string) {
	t.Helper()
	lib, dev := filepath.Join(root, "usr/lib64"), filepath.Join(root, "dev")
	err := errors.Join(os.MkdirAll(lib, 0o755), os.WriteFile(filepath.Join(lib, "libcuda.so.1"), nil, 0o644),
		os.MkdirAll(dev, 0o755), os.Symlink("/dev/null", filepath.Join(dev, "nvidia-uvm")))
	if err != nil {
		t.Fatal(err)
	}
}

// The end of a unit that tests a GPU decides whether the GPU is at fault.
func TestProve(t *testing.T) {
	const exit = units.ResultExitCode
	mismatch := "cuInit: 803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
	for name, c := range map[string]struct {
		status units.Status
		err    error
		says   gpu.Proof
		text   string
	}{
		"well":         {units.Status{Result: units.ResultSuccess}, nil, gpu.ProofWell, ""},
		"error":        {units.Status{Result: exit, MainStatus: 3, StatusText: mismatch + "\n"}, nil, gpu.ProofError, mismatch},
		"in use":       {units.Status{Result: exit, MainStatus: 3, StatusText: "cuCtxCreate: 46 X"}, nil, gpu.ProofUnknown, "cuCtxCreate: 46 X"},
		"no compiler":  {units.Status{Result: exit, MainStatus: 3, StatusText: "cuModuleLoadData: 221 X"}, nil, gpu.ProofUnknown, "cuModuleLoadData: 221 X"},
		"no number":    {units.Status{Result: exit, MainStatus: 3, StatusText: "libcuda.so.1 has no function cuInit"}, nil, gpu.ProofUnknown, "libcuda.so.1 has no function cuInit"},
		"not ready":    {units.Status{Result: exit, MainStatus: 3, StatusText: "cuInit: 802 X"}, nil, gpu.ProofNotReady, "cuInit: 802 X"},
		"wrong":        {units.Status{Result: exit, MainStatus: 4, StatusText: "wrong sums: 1"}, nil, gpu.ProofWrongSums, "wrong sums: 1"},
		"no text":      {units.Status{Result: exit, MainStatus: 4}, nil, gpu.ProofWrongSums, "its test ended with exit status 4"},
		"no library":   {units.Status{Result: exit, MainStatus: 5, StatusText: "none"}, nil, gpu.ProofNoLibrary, "none"},
		"not executed": {units.Status{Result: exit, MainStatus: 203}, nil, gpu.ProofUnknown, "its test ended with exit status 203"},
		"hang":         {units.Status{Result: units.ResultTimeout}, nil, gpu.ProofHang, "no answer within 20s"},
		"unkillable":   {units.Status{Active: units.ActiveDeactivating}, context.DeadlineExceeded, gpu.ProofHang, "no answer, and its test can't be ended"},
		"survives":     {units.Status{Active: units.ActiveFailed, Result: units.ResultTimeout}, units.ErrProcesses, gpu.ProofHang, "no answer within 20s"},
		"daemon stops": {units.Status{Active: units.ActiveDeactivating}, context.Canceled, gpu.ProofUnknown, "context canceled"},
		"slow systemd": {units.Status{Active: units.ActiveActivating}, context.DeadlineExceeded, gpu.ProofUnknown, "context deadline exceeded"},
		"crash":        {units.Status{Result: units.ResultCoreDump, MainStatus: 11}, nil, gpu.ProofError, "CUDA crashed by signal 11"},
		"killed":       {units.Status{Result: units.ResultSignal, MainStatus: 9}, nil, gpu.ProofUnknown, "its test was ended: signal"},
		"no systemd":   {units.Status{}, errors.New("no bus"), gpu.ProofUnknown, "no bus"},
	} {
		root := t.TempDir()
		withCUDA(t, root)
		systemd := &tester{status: c.status, err: c.err}
		p := prover{Program: "/nvml", Units: systemd, Root: root}
		if says, text := p.prove(t.Context(), core.Prove{GPU: contract.GPU{Index: 3, UUID: "GPU-b"}}); says != c.says || text != c.text {
			t.Errorf("%s: %s %q, want %s %q", name, says, text, c.says, c.text)
		}
		if systemd.name != "gpusched-test-3.service" {
			t.Errorf("unit %s", systemd.name)
		}
	}
	none := prover{Units: &tester{}, Root: t.TempDir()}
	if says, text := none.prove(t.Context(), core.Prove{}); says != gpu.ProofNoLibrary || text != gpu.NoCUDA {
		t.Errorf("without a library: %s %q", says, text)
	}
	root := t.TempDir()
	withCUDA(t, root)
	if err := os.Remove(filepath.Join(root, uvm)); err != nil {
		t.Fatal(err)
	}
	noNode := prover{Units: &tester{}, Root: root}
	if says, text := noNode.prove(t.Context(), core.Prove{}); says != gpu.ProofUnknown || text != "there is no /dev/nvidia-uvm" {
		t.Errorf("without the node: %s %q", says, text)
	}
}

// The test of a slice can open the slice's own nodes. In the test, links to /dev/null and /dev/zero
// replace these.
func TestProveASlice(t *testing.T) {
	root := t.TempDir()
	withCUDA(t, root)
	caps := filepath.Join(root, "dev/nvidia-caps")
	if err := errors.Join(os.MkdirAll(caps, 0o755), os.Symlink("/dev/null", filepath.Join(caps, "nvidia-cap30")), os.Symlink("/dev/zero", filepath.Join(caps, "nvidia-cap31"))); err != nil {
		t.Fatal(err)
	}
	systemd := &tester{status: units.Status{Result: units.ResultSuccess}}
	p := prover{Program: "/nvml", Units: systemd, Root: root}
	p.prove(t.Context(), core.Prove{GPU: contract.GPU{Index: 4, UUID: "MIG-a", GICap: 30, CICap: 31}})
	for _, prop := range systemd.props {
		if allow, ok := prop.Value.([]units.DeviceAllow); ok {
			for _, node := range []string{"/dev/char/195:0", "/dev/char/1:3", "/dev/char/1:5"} {
				if !slices.ContainsFunc(allow, func(a units.DeviceAllow) bool { return a.Path == node }) {
					t.Errorf("%s is not among %v", node, allow)
				}
			}
			return
		}
	}
	t.Error("the test opens no device")
}
