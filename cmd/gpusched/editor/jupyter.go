package editor

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/attach"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// JupyterCmd starts Jupyter as a job, or finds the one that runs, and prints how to reach it.
type JupyterCmd struct {
	holder

	Port int `name:"port" placeholder:"N" group:"self"`
}

func (*JupyterCmd) About() cli.About {
	return cli.About{
		Host: cli.OnlyHere, Hosts: cli.OneAtATime, Slurm: cli.NotForSlurm("it keeps notebooks only on this machine's own scheduler",
			"'gpusched --on slurm submit -- jupyter lab --no-browser' runs one as a job"), Habits: manual.OptionsOfNewJobs,
		Options: usedOptions + " port", Examples: []string{"gpusched jupyter -g 1 -t 8h --conda torch"},
	}
}

func (c *JupyterCmd) Run(ctx context.Context, a *cli.App) error {
	if err := c.complete(a, "jupyter", "type 'ssh HOST gpusched jupyter'",
		"'gpusched submit --image IMAGE -- jupyter lab --no-browser' runs it there"); err != nil {
		return err
	}
	programs, args := c.programs(a)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	j, latest, err := c.find(ctx, a)
	if err == nil && j.ID == 0 {
		if err := freePort(c.Port); err != nil {
			return err
		}
		argv := notebookArgv(self, c.Idle, c.Port, filepath.Join(jobenv.StateDir(a), "jupyter"), programs, args)
		j, err = c.Queue(ctx, a, requestKey("jupyter", c.Label.Name, latest), argv, func(req api.SubmitRequest) error {
			return installed(a, programs, req)
		})
	}
	if err != nil {
		return cli.WaitError(ctx, err)
	}
	j, served, err := c.untilServed(ctx, a, j)
	if err != nil {
		return err
	}
	show(a, j, served)
	return nil
}

// programs returns the programs that can serve the notebook, and their arguments. The first program
// that is installed runs.
func (c *JupyterCmd) programs(a *cli.App) (programs, args []string) {
	args = a.TypedCommand(c.Command)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return []string{"jupyter-" + args[0]}, args[1:]
	}
	return []string{"jupyter-lab", "jupyter-notebook"}, args
}

// installed returns an error if it is certain that none of the programs is in the job's PATH.
func installed(a *cli.App, programs []string, req api.SubmitRequest) error {
	env := jobenv.SearchPath(req)
	if env == nil || slices.ContainsFunc(programs, func(p string) bool { return jobenv.InPath(p, env) }) {
		return nil
	}
	return cli.Refuse(api.CodeUsage, "'pip install jupyterlab' in the environment installs it; --conda or --venv names another environment",
		"there is no program %q in the PATH of the job", programs[0])
}

// freePort returns an error if something listens on the port. Port 0 is always free.
func freePort(port int) error {
	if port < 0 || port > 1<<16-1 {
		return cli.Usagef("%d is not a port: use 1024 to 65535, or leave --port out", port)
	}
	l, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return cli.Refuse(api.CodeConflict, "leave --port out, and a free port is found", "port %d can't be used here: %v", port, err)
	}
	return l.Close()
}

// untilServed returns the job and its server's address once the server answers.
func (c *JupyterCmd) untilServed(ctx context.Context, a *cli.App, j api.Job) (api.Job, address, error) {
	for from := time.Now(); ; {
		now, err := attach.Await(ctx, a, j)
		switch {
		case ctx.Err() != nil:
			a.Note("job %s goes on: 'gpusched jupyter --name %s' shows its address, 'gpusched cancel %[1]s' ends it", cli.NameOfJob(j), c.Label.Name)
			return j, address{}, cli.ExitStatus(cli.StatusInterrupted)
		case err != nil:
			return j, address{}, cli.WaitError(ctx, err)
		case now.State != job.Running:
			return now, address{}, ended(a, now)
		}
		path := addressFile(now)
		if path == "" {
			return now, address{}, cli.Refuse(api.CodeConflict, "choose another name with --name", "job %s has that name and is no notebook", cli.NameOfJob(now))
		}
		if served, ok := readAddress(path, a.UID); ok {
			return now, served, nil
		}
		if from = sayWaiting(a, now, from); ctx.Err() == nil {
			time.Sleep(lookAtServer)
		}
	}
}

// lookAtServer is the time between two checks whether a starting server has an address.
const lookAtServer = 200 * time.Millisecond

// sayWaiting tells the user every ten seconds that the server has not answered yet.
func sayWaiting(a *cli.App, j api.Job, from time.Time) time.Time {
	if time.Since(from) < 10*time.Second {
		return from
	}
	a.Note("job %s runs, and Jupyter does not answer yet; what it prints is in 'gpusched logs %[1]s'", cli.NameOfJob(j))
	a.Err.W.Flush()
	return time.Now()
}

// usualPort is the port of the user's own computer in the lines that are shown.
const usualPort = 8888

// show prints how to reach a notebook. A second call prints the same.
func show(a *cli.App, j api.Job, at address) {
	machine, _ := os.Hostname()
	where := ""
	if len(j.GPUs) > 0 {
		where = " on " + cli.GPUNames(j.GPUs)
	}
	port := cmp.Or(at.Asked, usualPort)
	a.Out.Printf("Job %s runs Jupyter%s. Type this on your own computer, and leave it running:\n\n"+
		"    ssh -N -L %d:%s:%d %s@%s\n\nThen open this address in the browser there:\n\n    http://%[4]s:%[3]d/?token=%[8]s\n\n"+
		"The token in it keeps the other users of this machine out. 'gpusched cancel %[1]s' ends the job.\n",
		cli.NameOfJob(j), where, port, loopback, at.Port, cmp.Or(a.CallerName(), "NAME"), machine, at.Token)
}
