package units

// Property is one property of a transient unit. Value has exactly the type that systemd expects on
// the bus: bool, string, uint64 (sizes, times, limits), int32, []byte (a bit per CPU), [][]byte, or
// one of the slices below, whose structs are marshalled field by field.
type Property struct {
	Name  string
	Value any
}

// ExecCommand is one command of a unit, (sasb) on the bus.
type ExecCommand struct {
	Path          string
	Args          []string // Args[0] included
	IgnoreFailure bool
}

// DeviceAllow is one device entry of a unit, (ss) on the bus.
type DeviceAllow struct {
	Path   string
	Access string // any of r, w and m
}

// Infinity is systemd's value for no limit and no timeout. 0 means zero.
const Infinity = ^uint64(0)
