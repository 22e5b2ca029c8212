package gpu

import (
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// minContext is a lower bound: every program that computes uses at least this much GPU memory,
// because it has a CUDA context even before it allocates anything. Tables of nvidia-smi that people
// published show 107 MiB for CUDA's nbody sample under MPS, 160 MiB for a C++ program
// (XuehaiPan/nvitop#152), and 700 to 800 MiB for PyTorch with one tensor
// (discuss.pytorch.org/t/73021 and 81330). Compute processes (type C) with less memory are helpers:
// nvidia-cuda-mps-server has 25 to 60 MiB. Tools that only query NVML (nvidia-smi, nvtop, DCGM's
// nv-hostengine, nvidia-persistenced) have no context, so nvidia-smi does not list them.
const minContext = 100 << 20

// Computes reports whether the process is a computing program, even if it is idle now: its context
// serves computing alone. A process that both computes and draws (C+G), such as a compositor,
// belongs to a desktop. The GPU's utilisation does not help here, because it is the sum over all
// processes.
func (p *Process) Computes() bool {
	return !p.Dead && !strings.Contains(p.Kind, KindGraphics) && (p.UsedBytes < 0 || p.UsedBytes >= minContext)
}

// ServesMPS reports whether the process belongs to a unit that serves MPS to jobs. It is then
// neither a job's process nor foreign.
func (p *Process) ServesMPS() bool { return strings.HasPrefix(p.Unit, contract.MPSPrefix) }

// Occupies reports whether a foreign process would prevent a job from having the GPU to itself: the
// process computes, or has more than maxBytes of memory.
func (p *Process) Occupies(maxBytes int64) bool {
	return p.Computes() || p.UsedBytes > maxBytes
}
