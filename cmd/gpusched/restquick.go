//go:build quick

package main

import (
	"context"
	"io"
	"os"
	"syscall"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// sshCalls are none: the whole program asks other machines.
type sshCalls struct{}

// rest becomes the program that has all of it. Nothing of what was asked has been done. Where that
// program is this one again, it would become itself for ever.
func rest(_ context.Context, a *app, name string, args []string) int {
	path := besides(wholeName)
	if path == "" || isThis(path) {
		return a.flush(a.finish(refuse(api.CodeInternal, "it comes with gpusched, in /usr/libexec/gpusched",
			"%s is not installed, which this needs", wholeName)))
	}
	a.restoreLimits()
	err := syscall.Exec(path, append([]string{name}, args...), a.environ)
	return a.flush(a.finish(refuse(api.CodeInternal, "", "%s can't be started: %v", path, err)))
}

// isThis reports whether a file is this program.
func isThis(path string) bool {
	this, err := os.Stat("/proc/self/exe")
	that, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(this, that)
}

// The options of a script, a file of jobs and the table of models are read by the program that
// has the whole grammar.

func (c *jobOptions) withLines(*app, *scriptFile, []string) (newJob, *app, error) {
	return nil, nil, errWhole
}

func (c *submitCmd) submitElsewhere(context.Context, *app) error { return errWhole }

func (c *runCmd) runElsewhere(context.Context, *app) error { return errWhole }

func (c *submitCmd) submitFile(context.Context, *app) error { return errWhole }

func (o *modelOptions) lookUp(*app, []string, *job.Request) error { return errWhole }

// Other engines than the daemon are the whole program's.

func (c *runCmd) byEngine(context.Context, *app) (bool, error) { return false, nil }

func (c *logsCmd) byEngine(context.Context, *app) (bool, error) { return false, nil }

func (a *app) enterElsewhere(api.Job, []string) (bool, error) { return false, nil }

func (a *app) outputElsewhere(context.Context, api.Job, io.Writer) (bool, error) { return false, nil }

func (a *app) answers() string { return daemonName }
