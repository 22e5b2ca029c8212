package systemd

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/gpusched/gpusched/units"
)

// Origin reads the properties of the named unit that reveal its units.Spec. The error is
// units.ErrAbsent if there is no such unit.
func (m *Manager) Origin(ctx context.Context, name string) (units.Origin, error) {
	l, err := m.linkFor("origin of", name)
	if err != nil {
		return units.Origin{}, err
	}
	there, err := unitThere(ctx, l, name)
	if err != nil {
		return units.Origin{}, err
	}
	if !there {
		return units.Origin{}, fmt.Errorf("origin of unit %q: %w", name, units.ErrAbsent)
	}
	p, err := l.allProperties(ctx, "origin of unit", name)
	if err != nil {
		return units.Origin{}, err
	}
	o := p.origin()
	if m.user { // a user's own systemd runs everything as the user, and names none
		o.User = strconv.Itoa(os.Geteuid())
	}
	return o, nil
}

func (p properties) origin() units.Origin {
	return units.Origin{
		Description: get[string](p, "Description"),
		User:        get[string](p, "User"),
		Group:       get[string](p, "Group"),
		Slice:       get[string](p, "Slice"),
		Runtime:     get[[]string](p, "RuntimeDirectory"),
		LogFields:   get[[][]byte](p, "LogExtraFields"),
		SpecPath:    p.specPath(),
		MemoryMax:   p.amount("MemoryMax"),
		CPUQuota:    p.amount("CPUQuotaPerSecUSec"),
		TimeoutStop: p.amount("TimeoutStopUSec"),
	}
}

// specPath returns the last argument of a unit's only command. ExecStart is an array of (path,
// arguments, …).
func (p properties) specPath() string {
	commands := get[[][]any](p, "ExecStart")
	if len(commands) != 1 || len(commands[0]) < 2 {
		return ""
	}
	if args, _ := commands[0][1].([]string); len(args) > 0 {
		return args[len(args)-1]
	}
	return ""
}
