package gpu

import "strings"

// leastContext is less than what a program that computes has of a GPU's memory,
// also while it has allocated nothing: its CUDA context. What nvidia-smi was seen
// to show in tables that people published: 107 MiB of CUDA's nbody sample under
// MPS, 160 MiB of a C++ program (XuehaiPan/nvitop#152), 700 to 800 MiB of PyTorch
// with one tensor (discuss.pytorch.org/t/73021 and 81330). Type C below it is a
// helper: nvidia-cuda-mps-server has 25 to 60 MiB. Tools that only ask NVML
// (nvidia-smi, nvtop, DCGM's nv-hostengine, nvidia-persistenced) have no context
// and are in no list.
const leastContext = 100 << 20

// Computes reports whether the process is one that computes, be it at this moment
// or not: it has a context for nothing else. What also draws is a desktop or a
// window on it: compositors are listed as C+G too. The GPU's own load says
// nothing about it, since that is of all processes together.
func (p *Process) Computes() bool {
	return !p.Dead && !p.draws() && (p.UsedBytes < 0 || p.UsedBytes >= leastContext)
}

func (p *Process) draws() bool { return strings.Contains(p.Kind, KindGraphics) }

// Occupies reports whether a process that belongs to no job has the GPU so that
// whoever wants it whole would not have it alone: it computes, or has more than so
// much memory.
func (p *Process) Occupies(maxBytes int64) bool {
	return p.Computes() || p.UsedBytes > maxBytes
}
