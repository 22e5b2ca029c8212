package gpu

import (
	"fmt"
	"slices"
)

// A Link is the best connection between two devices of a Snapshot. A pair without a Link is
// unknown, which is not the same as LinkCross.
type Link struct {
	A     int      `json:"a"` // Device.Index; A < B
	B     int      `json:"b"`
	Kind  LinkKind `json:"kind"`
	Lanes int      `json:"lanes,omitempty"` // number of NVLinks, at least 1 for LinkNVLink, otherwise 0
}

// A LinkKind is the kind of a connection. The list below is complete.
type LinkKind string

const (
	LinkNVLink LinkKind = "nvlink" // NVLinks, direct or through NVSwitches
	LinkSwitch LinkKind = "switch" // only PCIe switches
	LinkBridge LinkKind = "bridge" // the same PCIe host bridge
	LinkNode   LinkKind = "node"   // different host bridges of one NUMA node
	LinkCross  LinkKind = "cross"  // different NUMA nodes
)

// LinkKinds returns every LinkKind, best first.
func LinkKinds() []LinkKind {
	return []LinkKind{LinkNVLink, LinkSwitch, LinkBridge, LinkNode, LinkCross}
}

// MaxLanes is the maximum of Link.Lanes. No GPU has more NVLinks than that.
const MaxLanes = 64

// Weight returns the worth of a link. A set of devices is worth the sum over its pairs, and the
// scheduler chooses sets by that sum. NVLink is worth more than any PCIe connection, and more
// NVLinks are worth more than fewer. An unknown kind is worth 0. The values roughly follow the
// bandwidth: one NVLink carries about as much as all of PCIe, so the worst NVLink pair is worth
// three pairs behind a switch.
func (l Link) Weight() int {
	switch l.Kind {
	case LinkNVLink:
		return 100 + 20*min(max(l.Lanes, 1), MaxLanes)
	case LinkSwitch:
		return 40
	case LinkBridge:
		return 30
	case LinkNode:
		return 20
	case LinkCross:
		return 10
	default:
		return 0
	}
}

// checkLinks checks that links join devices of s, and are valid, unique and ordered by A, then B.
func (s Snapshot) checkLinks() error {
	known := make(map[int]bool, len(s.Devices))
	for _, d := range s.Devices {
		known[d.Index] = true
	}
	for i, l := range s.Links {
		if err := l.check(); err != nil {
			return fmt.Errorf("%w: link %d: %w", ErrLine, i, err)
		}
		if !known[l.A] || !known[l.B] {
			return fmt.Errorf("%w: link %d: from %d to %d: no such device", ErrLine, i, l.A, l.B)
		}
		if i > 0 && l.compare(s.Links[i-1]) <= 0 {
			return fmt.Errorf("%w: link %d: from %d to %d: duplicate or out of order", ErrLine, i, l.A, l.B)
		}
	}
	return nil
}

func (l Link) check() error {
	if !slices.Contains(LinkKinds(), l.Kind) {
		return fmt.Errorf("unknown kind %q", toPrintable(string(l.Kind), maxWord))
	}
	if l.A < 0 || l.A >= l.B {
		return fmt.Errorf("from %d to %d", l.A, l.B)
	}
	fewest, most := 0, 0
	if l.Kind == LinkNVLink {
		fewest, most = 1, MaxLanes
	}
	if l.Lanes < fewest || l.Lanes > most {
		return fmt.Errorf("%d lanes of kind %q", l.Lanes, l.Kind)
	}
	return nil
}

func (l Link) compare(o Link) int {
	if l.A != o.A {
		return l.A - o.A
	}
	return l.B - o.B
}
