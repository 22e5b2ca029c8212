package cli

import (
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
)

// ErrNoTerminal returns the error for a command that needs a terminal here.
func ErrNoTerminal() error {
	return Refuse(api.CodeUsage, "without a terminal there are 'gpusched run' and 'gpusched logs -f'",
		"there is no terminal here: both input and output must be a terminal")
}

// OnTerminal reports whether both input and output are a terminal.
func (a *App) OnTerminal() bool { return a.Interactive && a.Out.TTY }

// BecomeProgram replaces this process with one of the engine's programs.
func (a *App) BecomeProgram(p engines.Program) error {
	for _, text := range p.Notes {
		a.Note("%s", text)
	}
	return &Failure{Refuse(api.CodeInternal, "", "%s can't be started: %v", p.Path, a.Exec(p.Path, p.Argv, p.Environ))}
}

// Exec replaces this process with another program. It returns only if that fails.
func (a *App) Exec(path string, argv, environ []string) error {
	a.Out.W.Flush()
	a.Err.W.Flush()
	a.RestoreLimits()
	return syscall.Exec(path, argv, environ)
}
