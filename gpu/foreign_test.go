package gpu_test

import (
	"testing"

	"github.com/gpusched/gpusched/gpu"
)

// The processes are as nvidia-smi listed them.
func TestOccupies(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		p    gpu.Process
		want bool
	}{
		"Xorg":                        {gpu.Process{Kind: "graphics", UsedBytes: 293 * mib}, false},
		"gnome-shell":                 {gpu.Process{Kind: "graphics", UsedBytes: 97 * mib}, false},
		"kwin_wayland":                {gpu.Process{Kind: "compute+graphics", UsedBytes: 335 * mib}, false},
		"Xwayland after some windows": {gpu.Process{Kind: "graphics", UsedBytes: 1331 * mib}, false},
		"a game":                      {gpu.Process{Kind: "compute+graphics", UsedBytes: 6000 * mib}, true},
		"the MPS server":              {gpu.Process{Kind: "compute", UsedBytes: 60 * mib}, false},
		"a client of it":              {gpu.Process{Kind: "compute+mps", UsedBytes: 107 * mib}, true},
		"a C++ program":               {gpu.Process{Kind: "compute", UsedBytes: 160 * mib}, true},
		"a notebook":                  {gpu.Process{Kind: "compute", UsedBytes: 723 * mib}, true},
		"of unknown memory":           {gpu.Process{Kind: "compute", UsedBytes: -1}, true},
		"a desktop of unknown memory": {gpu.Process{Kind: "graphics", UsedBytes: -1}, false},
		"one that died":               {gpu.Process{Kind: "compute", UsedBytes: 1000 * mib, Dead: true}, false},
		"one that died with much":     {gpu.Process{Kind: "compute", UsedBytes: 9000 * mib, Dead: true}, true},
		"a dead one of unknown":       {gpu.Process{Kind: "compute", UsedBytes: -1, Dead: true}, false},
	} {
		if got := c.p.Occupies(2048 * mib); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
