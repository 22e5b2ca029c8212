//go:build !quick

package main

import (
	"context"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
)

// sshCalls are connections with other machines.
type sshCalls = remote.Calls

// rest is what start leaves: other tools' names, help, mistakes, and what is rare.
func rest(ctx context.Context, a *app, name string, args []string) int {
	a.listen()
	a.ssh = new(sshCalls)
	defer a.ssh.End()
	return runAs(ctx, a, name, args)
}
