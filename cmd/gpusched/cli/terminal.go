package cli

import (
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
)

// ErrNoTerminal refuses a command that needs a terminal on this side.
func ErrNoTerminal() error {
	return Refuse(api.CodeUsage, "without a terminal there are 'gpusched run' and 'gpusched logs -f'",
		"there is no terminal here: input and output must both be one")
}

// OnTerminal reports whether a person can work in a session here.
func (a *App) OnTerminal() bool { return a.Interactive && a.Out.TTY }

// BecomeProgram goes on as a program of the engine's.
func (a *App) BecomeProgram(p engines.Program) error {
	for _, text := range p.Notes {
		a.Note("%s", text)
	}
	return &Failure{Refuse(api.CodeInternal, "", "%s can't be started: %v", p.Path, a.Exec(p.Path, p.Argv, p.Environ))}
}

// Exec goes on as another program. It returns where that can't be started.
func (a *App) Exec(path string, argv, environ []string) error {
	a.Out.W.Flush()
	a.Err.W.Flush()
	a.RestoreLimits()
	return syscall.Exec(path, argv, environ)
}
