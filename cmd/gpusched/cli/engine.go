package cli

import (
	"errors"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
)

// Daemon returns a client of the gpusched daemon that this run asks. If this run asks another
// engine, the client is for this machine's daemon at the default socket.
func (a *App) Daemon() *api.Client {
	if c, ok := a.Client.(*api.Client); ok {
		return c
	}
	return &api.Client{}
}

// NamesEngine returns the engine that is shown in front of job numbers, or "" if none is shown. An
// engine is shown if only the command line selected it, since the user's next command would look up
// a bare number in another engine.
func (a *App) NamesEngine() string {
	usual := *a
	usual.On = ""
	if name, err := usual.WhichEngine(); a.On != EngineSlurm || err == nil && name == EngineSlurm {
		return ""
	}
	return EngineSlurm
}

// Other returns the engine, or nil if it is a gpusched scheduler.
func (a *App) Other() engines.Other {
	e, _ := a.Client.(engines.Other)
	return e
}

// Answers returns the name of the scheduler that answers.
func (a *App) Answers() string {
	if a.Other() != nil {
		return EngineSlurm
	}
	return DaemonName
}

func AsAPI(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return Refuse(api.CodeInternal, "", "%v", err)
}

const DaemonName = "gpuschedd"
