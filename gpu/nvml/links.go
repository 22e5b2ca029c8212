package nvml

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpusched/gpusched/gpu"
)

// A survey reads the connections between GPUs. Like a reader it has only copies of what it needs.
// It leaves out pairs that the driver does not report.
type survey struct {
	nv    nvml.Interface
	has   symbols
	ports []*port
}

// A port is a GPU, with the numbers of its active NVLinks to other GPUs and to switches.
type port struct {
	index    int
	slot     string
	dev      nvml.Device
	toGPU    map[string]int // number of links by slot
	toSwitch int
}

// survey prepares a survey of the GPUs that are well.
func (l *Library) survey(devices []gpu.Device) *survey {
	s := &survey{nv: l.nv, has: l.has}
	for _, d := range devices {
		if d.Health == gpu.HealthOK {
			s.ports = append(s.ports, &port{index: d.Index, slot: slotOf(d.PCI), toGPU: map[string]int{}})
		}
	}
	return s
}

// readPairs reads every pair. If go-nvml panics on an unusual answer, the remaining pairs are left
// out.
func (s *survey) readPairs() (links []gpu.Link) {
	defer func() { _ = recover() }()
	for _, p := range s.ports {
		dev, ret := s.nv.DeviceGetHandleByIndex(p.index)
		if ret == nvml.SUCCESS {
			p.dev = dev
			s.countNVLinks(p)
		}
	}
	for i, a := range s.ports {
		for _, b := range s.ports[i+1:] {
			if l, ok := s.link(a, b); ok {
				links = append(links, l)
			}
		}
	}
	return links
}

// countNVLinks counts the active NVLinks of p. It stops at the first number that the driver
// refuses, because the GPU has no link with that number or a higher one.
func (s *survey) countNVLinks(p *port) {
	if !s.has.any(needNVLink) {
		return
	}
	for n := range nvml.NVLINK_MAX_LINKS {
		up, ret := p.dev.GetNvLinkState(n)
		if ret != nvml.SUCCESS {
			return
		}
		if up == nvml.FEATURE_ENABLED {
			s.countNVLink(p, n)
		}
	}
}

func (s *survey) countNVLink(p *port, n int) {
	if s.has.any(needNVLinkEnd) {
		if kind, ret := p.dev.GetNvLinkRemoteDeviceType(n); ret == nvml.SUCCESS && kind == nvml.NVLINK_DEVICE_TYPE_SWITCH {
			p.toSwitch++
			return
		}
	}
	if !s.has.any(needNVLinkPCI) {
		return
	}
	if pci, ret := p.dev.GetNvLinkRemotePciInfo(n); ret == nvml.SUCCESS {
		p.toGPU[slotOf(busOf(pci))]++
	}
}

// busOf returns the PCI address from pci, where older drivers put it into another field.
func busOf(pci nvml.PciInfo) string {
	if bus := text(pci.BusId[:]); bus != "" {
		return bus
	}
	return text(pci.BusIdLegacy[:])
}

func (s *survey) link(a, b *port) (gpu.Link, bool) {
	l := gpu.Link{A: a.index, B: b.index}
	if a.dev == nil || b.dev == nil {
		return l, false
	}
	if l.Lanes = s.lanes(a, b); l.Lanes > 0 {
		l.Kind = gpu.LinkNVLink
		return l, true
	}
	if !s.has.any(needAncestor) {
		return l, false
	}
	level, ret := a.dev.GetTopologyCommonAncestor(b.dev)
	l.Kind = kindOf(level)
	return l, ret == nvml.SUCCESS && l.Kind != ""
}

// lanes returns the number of NVLinks that a and b can use to reach each other: the direct links,
// or those through NVSwitches. In the second case, the GPU with fewer links to switches determines
// the number. The driver's P2P status overrides the count: NVLinks may be up but unusable (each GPU
// in its own partition), or connect GPUs in an unknown way.
func (s *survey) lanes(a, b *port) int {
	n := min(a.toGPU[b.slot], b.toGPU[a.slot])
	if n == 0 {
		n = min(a.toSwitch, b.toSwitch)
	}
	if s.has.any(needP2P) {
		status, ret := a.dev.GetP2PStatus(b.dev, nvml.P2P_CAPS_INDEX_NVLINK)
		switch {
		case ret != nvml.SUCCESS || status == nvml.P2P_STATUS_UNKNOWN:
		case status == nvml.P2P_STATUS_OK:
			n = max(n, 1)
		default:
			return 0
		}
	}
	return min(n, gpu.MaxLanes)
}

func kindOf(level nvml.GpuTopologyLevel) gpu.LinkKind {
	switch level {
	case nvml.TOPOLOGY_INTERNAL, nvml.TOPOLOGY_SINGLE, nvml.TOPOLOGY_MULTIPLE:
		return gpu.LinkSwitch
	case nvml.TOPOLOGY_HOSTBRIDGE:
		return gpu.LinkBridge
	case nvml.TOPOLOGY_NODE:
		return gpu.LinkNode
	case nvml.TOPOLOGY_SYSTEM:
		return gpu.LinkCross
	default:
		return ""
	}
}
