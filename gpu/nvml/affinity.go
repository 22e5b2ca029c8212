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

// Sizes of the masks that the driver is asked for. (go-nvml treats these numbers of bits as numbers
// of bytes, so each mask has room for eight times as many CPUs.)
const (
	askCPUs  = 1024
	askNodes = 64
)

// readAffinity reads the NUMA node and the CPUs near the GPU. Both never change, so readAffinity
// takes them from an earlier reading of the GPU if there is one.
func (r *reader) readAffinity(dev nvml.Device) {
	if k := r.known; k.UUID != "" && k.UUID == r.out.UUID && k.PCI == r.out.PCI {
		r.out.NUMANode, r.out.CPUs = k.NUMANode, k.CPUs
		return
	}
	r.out.NUMANode = r.numaNode(dev)
	r.out.CPUs = r.cpus(dev)
}

// numaNode returns the NUMA node of the GPU's slot, or -1. (NVML's GetNumaNodeId returns another
// node: the one that consists of a Grace GPU's own memory. See readMemory.)
func (r *reader) numaNode(dev nvml.Device) int {
	if line, ok := r.slotFile("numa_node"); ok {
		node, err := strconv.Atoi(line)
		if err != nil || node < 0 {
			return -1 // the kernel does not know either
		}
		return node
	}
	nodes := func() ([]uint, nvml.Return) { return dev.GetMemoryAffinity(askNodes, nvml.AFFINITY_SCOPE_NODE) }
	words, ok := askOptional(r, needNodes, "reading the NUMA node", nodes)
	node, err := strconv.Atoi(listOf(words))
	if !ok || err != nil {
		return -1 // no node or several
	}
	return node
}

// cpus returns the CPUs near the GPU, or "".
func (r *reader) cpus(dev nvml.Device) string {
	list, ok := r.slotFile("local_cpulist")
	if !ok || list == "" {
		affinity := func() ([]uint, nvml.Return) { return dev.GetCpuAffinity(askCPUs) }
		words, _ := askOptional(r, needCPUs, "reading the CPUs next to it", affinity)
		list = listOf(words)
	}
	if _, err := cpuset.Parse(list); err != nil || len(list) > gpu.MaxCPUsBytes { // the Snapshot would be invalid
		return ""
	}
	return list
}

// slotFile reads a file in the sysfs directory of the GPU's slot.
func (r *reader) slotFile(name string) (line string, ok bool) {
	slot := slotOf(r.out.PCI)
	if slot == "" {
		return "", false
	}
	text, err := os.ReadFile(filepath.Join(r.sysRoot, "bus/pci/devices", slot, name))
	return strings.TrimSpace(string(text)), err == nil
}

// slotOf converts the driver's "00000000:07:00.0" to the kernel's "0000:07:00.0". It returns "" for
// anything else.
func slotOf(pci string) string {
	domain, rest, ok := strings.Cut(strings.ToLower(pci), ":")
	n, err := strconv.ParseUint(domain, 16, 32)
	if !ok || err != nil || strings.Contains(rest, "/") {
		return ""
	}
	return fmt.Sprintf("%04x:%s", n, rest)
}

// listOf returns the bits of a mask in the kernel's list format.
func listOf(words []uint) string {
	var set cpuset.Set
	for i, rest := range words {
		for ; rest != 0; rest &= rest - 1 {
			set = set.With(i*bits.UintSize + bits.TrailingZeros(rest))
		}
	}
	return set.String()
}
