package gpu

import (
	"fmt"
	"strings"
)

// A bus is a PCI address without its function number.
type bus struct{ domain, bus, device uint64 }

func (b bus) String() string { return fmt.Sprintf("%04x:%02x:%02x", b.domain, b.bus, b.device) }

// parseBus reads a PCI address such as "0000:3b:00" or, with a function number, "0000:3b:00.0". The
// domain may have any number of digits.
func parseBus(s string) (b bus, ok bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return bus{}, false
	}
	device, _, _ := strings.Cut(parts[2], ".")
	var numbers [3]uint64
	for i, text := range []string{parts[0], parts[1], device} {
		if numbers[i], ok = digits(text, 16); !ok || (i > 0 && numbers[i] > 0xff) {
			return bus{}, false
		}
	}
	return bus{domain: numbers[0], bus: numbers[1], device: numbers[2]}, true
}

// At reports whether the device has the PCI address, in any spelling.
func (d Device) At(pci string) bool {
	here, ok := parseBus(d.PCI)
	there, known := parseBus(pci)
	return ok && known && here == there
}
