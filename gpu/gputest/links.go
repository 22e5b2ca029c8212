package gputest

import (
	"strconv"

	"github.com/gpusched/gpusched/gpu"
)

// Links calls linkOf for each pair of n GPUs, and returns the results of linkOf that have a Kind.
func Links(n int, linkOf func(a, b int) gpu.Link) []gpu.Link {
	var links []gpu.Link
	for a := range n {
		for b := a + 1; b < n; b++ {
			if l := linkOf(a, b); l.Kind != "" {
				l.A, l.B = a, b
				links = append(links, l)
			}
		}
	}
	return links
}

// IslandLinks returns the links of eight GPUs in two islands of four.
func IslandLinks() []gpu.Link {
	return Links(8, func(a, b int) gpu.Link {
		if a/4 == b/4 {
			return gpu.Link{Kind: gpu.LinkNVLink, Lanes: 4}
		}
		return gpu.Link{Kind: gpu.LinkCross}
	})
}

// NodeLinks returns the links of n GPUs that share only a NUMA node.
func NodeLinks(n int) []gpu.Link {
	return Links(n, func(int, int) gpu.Link { return gpu.Link{Kind: gpu.LinkNode} })
}

// SetIslands replaces the GPUs with eight idle A100 in two islands of four, and drops all claims.
// Each island has its own NUMA node and CPU.
func (f *Fake) SetIslands() error {
	if err := f.SetGPUs(8); err != nil {
		return err
	}
	for i := range 8 {
		f.Change(i, func(d *gpu.Device) { d.NUMANode, d.CPUs = i/4, strconv.Itoa(i/4) })
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.links = IslandLinks()
	return nil
}
