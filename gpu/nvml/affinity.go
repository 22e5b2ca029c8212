package nvml

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpusched/gpusched/cgroup/cpuset"
	"github.com/gpusched/gpusched/gpu"
)

// How far the driver is asked to look for what is near. (go-nvml takes the
// numbers for bytes where they are bits: there is room for eight times as many.)
const (
	askCPUs  = 1024
	askNodes = 64
)

// affinity reads which NUMA node and CPUs are next to the GPU. That never
// changes, so of a GPU that was seen before it is what it was.
func (r *reader) affinity(dev nvml.Device) {
	if k := r.known; k.UUID != "" && k.UUID == r.out.UUID && k.PCI == r.out.PCI {
		r.out.NUMANode, r.out.CPUs = k.NUMANode, k.CPUs
		return
	}
	r.out.NUMANode = r.numaNode(dev)
	r.out.CPUs = r.cpus(dev)
}

// numaNode is -1 where nobody knows. (NVML's GetNumaNodeId means the GPU's own
// memory as a node, on Grace: see memory.)
func (r *reader) numaNode(dev nvml.Device) int {
	if line, ok := r.slotFile("numa_node"); ok {
		node, err := strconv.Atoi(line)
		if err != nil || node < 0 {
			return -1 // the kernel knows that it does not know
		}
		return node
	}
	nodes := func() ([]uint, nvml.Return) { return dev.GetMemoryAffinity(askNodes, nvml.AFFINITY_SCOPE_NODE) }
	words, ok := may(r, needNodes, "reading the NUMA node", nodes)
	node, err := strconv.Atoi(listOf(words))
	if !ok || err != nil {
		return -1 // none, or several
	}
	return node
}

// cpus is "" where nobody knows.
func (r *reader) cpus(dev nvml.Device) string {
	list, ok := r.slotFile("local_cpulist")
	if !ok || list == "" {
		affinity := func() ([]uint, nvml.Return) { return dev.GetCpuAffinity(askCPUs) }
		words, _ := may(r, needCPUs, "reading the CPUs next to it", affinity)
		list = listOf(words)
	}
	if _, err := cpuset.Parse(list); err != nil || len(list) > gpu.MaxCPUsBytes { // which would cost the whole sample
		return ""
	}
	return list
}

// slotFile reads a file that the kernel has for the GPU's slot.
func (r *reader) slotFile(name string) (line string, ok bool) {
	slot := slotOf(r.out.PCI)
	if slot == "" {
		return "", false
	}
	text, err := os.ReadFile(filepath.Join(r.sysRoot, "bus/pci/devices", slot, name))
	return strings.TrimSpace(string(text)), err == nil
}

// slotOf spells the driver's "00000000:07:00.0" as the kernel does,
// "0000:07:00.0"; "" if it is nothing of the kind.
func slotOf(pci string) string {
	domain, rest, ok := strings.Cut(strings.ToLower(pci), ":")
	n, err := strconv.ParseUint(domain, 16, 32)
	if !ok || err != nil || strings.Contains(rest, "/") {
		return ""
	}
	return fmt.Sprintf("%04x:%s", n, rest)
}

// listOf writes the bits that are set as the kernel lists CPUs.
func listOf(words []uint) string {
	var set cpuset.Set
	for i, rest := range words {
		for ; rest != 0; rest &= rest - 1 {
			set = set.With(i*bits.UintSize + bits.TrailingZeros(rest))
		}
	}
	return set.String()
}
