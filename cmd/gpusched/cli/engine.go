package cli

import (
	"errors"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
)

// Daemon is the daemon that is asked. Where another engine is, it is that of this machine, of which
// then nothing but its socket is known.
func (a *App) Daemon() *api.Client {
	if c, ok := a.Client.(*api.Client); ok {
		return c
	}
	return &api.Client{}
}

// NamesEngine is what numbers of jobs stand behind where the command line alone has chosen the engine: without it
// the next command would take them for those of jobs of another one. "" is nothing.
func (a *App) NamesEngine() string {
	usual := *a
	usual.On = ""
	if name, err := usual.WhichEngine(); a.On != EngineSlurm || err == nil && name == EngineSlurm {
		return ""
	}
	return EngineSlurm
}

// Other is the engine where that is no scheduler of ours, else nil.
func (a *App) Other() engines.Other {
	e, _ := a.Client.(engines.Other)
	return e
}

// Answers is what the one that answers is called.
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

// DaemonName is what answers, where no other engine does.
const DaemonName = "gpuschedd"
