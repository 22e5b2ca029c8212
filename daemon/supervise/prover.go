package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/driver"
	"github.com/gpusched/gpusched/units"
)

// prover tests GPUs with CUDA, each in a unit of its own that can open that GPU alone.
type prover struct {
	Program string // gpusched-nvml
	Scope   units.Scope
	Units   oneshotRunner
	Root    string // directory of /dev and /usr; "" except in tests
}

// proveTime exceeds the unit's own limit of 21 s by more than a busy systemd takes to answer. It
// matters only if the unit outlives SIGKILL.
const proveTime = time.Minute

// uvm is the node that CUDA needs in addition to those of the GPU.
const uvm = "/dev/nvidia-uvm"

// prove implements daemon.Prove.
func (p *prover) prove(ctx context.Context, a core.Prove) (gpu.Proof, string) {
	if !driver.HasCUDA(p.Root) {
		return gpu.ProofNoLibrary, gpu.NoCUDA
	}
	devices := cgroup.StatNodes([]string{p.Root + uvm})
	if len(devices) == 0 {
		return gpu.ProofUnknown, "there is no " + uvm
	}
	ctx, cancel := context.WithTimeout(ctx, proveTime)
	defer cancel()
	nodes := []string{p.Root + uvm}
	for _, node := range a.CapNodes() {
		nodes = append(nodes, p.Root+node)
	}
	spec := units.ProofSpec{
		GPU: a.GPU, Devices: cgroup.StatNodes(nodes), GIDs: p.groups(a.Minor),
		Program: p.Program, Scope: p.Scope,
	}
	status, err := p.Units.RunOneshot(ctx, units.ProofName(a.Index), units.ProofProperties(spec))
	switch {
	case err == nil || status.Active == units.ActiveFailed: // a process that survives SIGKILL keeps its unit
		return verdict(&status)
	case status.Active == units.ActiveDeactivating && errors.Is(err, context.DeadlineExceeded):
		return gpu.ProofHang, "no answer, and its test can't be ended"
	}
	return gpu.ProofUnknown, err.Error() // such as a restart of the daemon or of the bus, or a slow systemd
}

// groups returns the groups that may open the nodes, if not everybody may.
func (p *prover) groups(minor int) (gids []uint32) {
	for _, node := range []string{uvm, "/dev/nvidiactl", fmt.Sprintf("/dev/nvidia%d", minor)} {
		info, err := os.Stat(p.Root + node)
		if err != nil || info.Mode().Perm()&0o006 == 0o006 {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Gid != 0 && !slices.Contains(gids, st.Gid) {
			gids = append(gids, st.Gid)
		}
	}
	return gids
}

// verdict returns what the end of a test says about its GPU. The end says nothing if systemd could
// not execute the program, or if the kernel or an administrator ended the program.
func verdict(s *units.Status) (gpu.Proof, string) {
	told := printableLine(s.StatusText)
	switch s.Result {
	case units.ResultSuccess:
		return gpu.ProofWell, told
	case units.ResultTimeout:
		return gpu.ProofHang, "no answer within 20s"
	case units.ResultExitCode:
		return gpu.ProofOf(int(s.MainStatus), told), cmp.Or(told, fmt.Sprintf("its test ended with exit status %d", s.MainStatus))
	case units.ResultCoreDump:
		return gpu.ProofError, fmt.Sprintf("CUDA crashed by signal %d", s.MainStatus)
	}
	return gpu.ProofUnknown, "its test was ended: " + s.Result
}
