package submit

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// setContainer sets the job's container, and the environment of a job that has one.
func (c *JobOptions) setContainer(ctx context.Context, a *cli.App, set []string, req *api.SubmitRequest) (err error) {
	if c.IsContainer() {
		req.EnvMode, req.Env = contract.EnvClean, jobenv.ImageEnviron(set, a.Environ)
	}
	req.Container, err = c.ContainerOptions.Container(ctx, a, jobenv.ContainerJob{
		Dir: string(req.Dir), GPUs: req.GPUMilli > 0, Force: c.Force, Slurm: a.Other() != nil,
	})
	return err
}

// checkInImage returns an error if a program or script in the job's directory does not exist. The
// container has this directory. Only the job itself can look for files in the image. If the user
// gives options for the engine, checkInImage checks nothing, since they may choose another
// directory.
func (c *JobOptions) checkInImage(a *cli.App, req *api.SubmitRequest) error {
	if len(c.ImageArg) > 0 {
		return nil
	}
	dir, program := string(req.Dir), req.Argv[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		return jobenv.CheckFile(a, program, jobenv.InDir(dir, program))
	}
	if filepath.IsAbs(jobenv.ScriptOf(req.Argv)) {
		return nil
	}
	return jobenv.CheckScriptArgument(a, dir, req.Argv)
}

// refuseOutside refuses options that prepare something outside of the job's image.
func (c *JobOptions) refuseOutside() error {
	if !c.IsContainer() {
		return nil
	}
	for _, o := range []struct {
		given     bool
		name, why string
	}{
		{c.Conda != nil, "--conda", "it prepares an environment on this machine"},
		{c.Venv != nil, "--venv", "it prepares an environment on this machine"},
		{len(c.Modules) > 0, "--modules", "modules are of this machine"},
		{c.Setup != "", "--setup", "it runs in a shell of this machine"},
		{c.Screen, "--screen", "GNU screen is a program of this machine"},
		{c.Env == string(contract.EnvInherit), "--env inherit", "the PATH and libraries of this machine would break the image"},
		{c.Env == string(contract.EnvLogin), "--env login", "a login shell is of this machine"},
	} {
		if o.given {
			hint := "put it into the image, or into the command: --image " + cli.ShellWord(c.Image) + " -- sh -c 'SETUP && COMMAND'"
			switch o.name {
			case "--screen":
				hint = "'gpusched run --tty' gives a terminal that 'gpusched attach' comes back to"
			case "--env inherit", "--env login":
				hint = "leave it out, and name the variables that the job needs: -e NAME"
			}
			return cli.Refuse(api.CodeUsage, hint, "%s has no effect in an image: %s", o.name, o.why)
		}
	}
	return nil
}
