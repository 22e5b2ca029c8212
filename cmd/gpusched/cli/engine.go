package cli

import (
	"errors"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
)

// Daemon returns the client of the daemon that is asked. If another engine is asked, the daemon is
// this machine's, of which only the default socket is known.
func (a *App) Daemon() *api.Client {
	if c, ok := a.Client.(*api.Client); ok {
		return c
	}
	return &api.Client{}
}

// NamesEngine returns the engine that job numbers are shown with; "" for none. They need one if
// only the command line selected the engine: the next command would take bare numbers for jobs of
// another one.
func (a *App) NamesEngine() string {
	usual := *a
	usual.On = ""
	if name, err := usual.WhichEngine(); a.On != EngineSlurm || err == nil && name == EngineSlurm {
		return ""
	}
	return EngineSlurm
}

// Other returns the engine if it is not a gpusched scheduler, else nil.
func (a *App) Other() engines.Other {
	e, _ := a.Client.(engines.Other)
	return e
}

// Answers names the scheduler that answers.
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
