package gpu

import (
	"fmt"
	"slices"
)

// Link is the best way between two devices of a Snapshot. A pair that the
// driver said nothing about has none: nobody knows, which is not LinkCross.
type Link struct {
	A     int      `json:"a"` // Device.Index; A < B
	B     int      `json:"b"`
	Kind  LinkKind `json:"kind"`
	Lanes int      `json:"lanes,omitempty"` // NVLinks between the two, at least 1 of LinkNVLink; 0 otherwise
}

// LinkKind is what a Link goes through; a closed list.
type LinkKind string

const (
	LinkNVLink LinkKind = "nvlink" // NVLinks, straight or through NVSwitches
	LinkSwitch LinkKind = "switch" // PCIe switches only
	LinkBridge LinkKind = "bridge" // the same PCIe host bridge
	LinkNode   LinkKind = "node"   // several host bridges of one NUMA node
	LinkCross  LinkKind = "cross"  // from one NUMA node to another
)

// LinkKinds lists every LinkKind, the best first.
func LinkKinds() []LinkKind {
	return []LinkKind{LinkNVLink, LinkSwitch, LinkBridge, LinkNode, LinkCross}
}

// MaxLanes is the most Lanes that a Link can have: no GPU has more NVLinks.
const MaxLanes = 64

// Weight orders links for the choice of a set of devices by the sum over its
// pairs: more is better, NVLinks more than any of PCIe, and more NVLinks more
// than fewer. 0 is a link of no known kind. The steps follow the bandwidth
// loosely: an NVLink carries about as much as all of PCIe does, so the worst
// pair of NVLink is worth three pairs behind one switch.
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

// checkLinks holds that links are between devices of s, known, each pair once
// and in order of A, then B.
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
			return fmt.Errorf("%w: link %d: from %d to %d, and there is no such device", ErrLine, i, l.A, l.B)
		}
		if i > 0 && l.compare(s.Links[i-1]) <= 0 {
			return fmt.Errorf("%w: link %d: from %d to %d twice or out of order", ErrLine, i, l.A, l.B)
		}
	}
	return nil
}

func (l Link) check() error {
	if !slices.Contains(LinkKinds(), l.Kind) {
		return fmt.Errorf("unknown kind %q", printable(string(l.Kind), maxWord))
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
