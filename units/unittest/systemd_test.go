package unittest

import (
	"testing"

	"github.com/gpusched/gpusched/units"
)

// The systemd in memory passes the suite that the real one passes.
func TestConformance(t *testing.T) {
	behaviours := map[string]Behaviour{}
	s := Options{Behave: func(name string, props []units.Property) Behaviour { return behaviours[props[0].Value.(string)] }}
	Conformance(t, Bench{
		New: func(*testing.T) Manager { return New(s) },
		Properties: func(_ int64, b Behaviour) []units.Property {
			key := string(rune('a' + len(behaviours)))
			behaviours[key] = b
			return []units.Property{{Name: "Description", Value: key}}
		},
		Processes: func(m Manager, s units.Status) int { return m.(*Systemd).Processes(s.Name) },
	})
}
