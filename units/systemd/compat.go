package systemd

import (
	"slices"
	"strings"
	"sync"

	sddbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// isOptional reports whether a unit can do without a property, if an older systemd does not know
// it. No optional property isolates a job, limits it or keeps its result.
func isOptional(name string) bool {
	switch name {
	case "OOMPolicy", "LogExtraFields", "LogRateLimitIntervalUSec", "LogRateLimitBurst", "SyslogLevelPrefix", "SyslogIdentifier",
		"IgnoreSIGPIPE", "CPUAffinity", "ExecReload", "ExecStopPost", "CPUAccounting",
		"CPUWeight":
		return true
	}
	return false
}

// compat remembers the properties that this systemd does not know.
type compat struct {
	mu      sync.Mutex
	dropped []string // sorted
}

func (c *compat) degraded() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.dropped)
}

// encode converts the properties that this systemd knows to properties on the bus.
func (c *compat) encode(props []units.Property) []sddbus.Property {
	dropped := c.degraded()
	out := make([]sddbus.Property, 0, len(props))
	for _, p := range props {
		if !slices.Contains(dropped, p.Name) {
			out = append(out, sddbus.Property{Name: p.Name, Value: dbus.MakeVariant(p.Value)})
		}
	}
	return out
}

// drop parses systemd's error ("Cannot set property X, or unknown property.") and reports whether
// to try again without X. Every try drops one more property of a closed list, so the tries end. If
// another start has already dropped X, the caller must also try again, but only if the caller sent
// X.
func (c *compat) drop(message string, props []units.Property) bool {
	_, rest, ok := strings.Cut(message, "Cannot set property ")
	if !ok {
		return false
	}
	name, _, _ := strings.Cut(rest, ",")
	if !isOptional(name) || !slices.ContainsFunc(props, func(p units.Property) bool { return p.Name == name }) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.dropped, name) {
		c.dropped = append(c.dropped, name)
		slices.Sort(c.dropped)
	}
	return true
}
