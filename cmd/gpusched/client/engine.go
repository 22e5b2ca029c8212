package client

import "github.com/gpusched/gpusched/daemon/api"

// daemon is the daemon that is asked. Where another engine is, it is that of this machine, of which
// then nothing but its socket is known.
func (a *app) daemon() *api.Client {
	if c, ok := a.client.(*api.Client); ok {
		return c
	}
	return &api.Client{}
}
