package act

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
)

// DaemonCmd acts on the scheduler as a whole.
type DaemonCmd struct {
	Drain  daemonDrainCmd  `cmd:"" usage:"[--reason TEXT] [--until WHEN | --then reboot]" help:"Start no new jobs, with or without GPUs."`
	Resume daemonResumeCmd `cmd:"" usage:"" help:"Start jobs again."`

	LogLevel daemonLogLevelCmd `cmd:"" name:"log-level" usage:"[LEVEL]" help:"Show how much the daemon logs, or change it until it restarts."`
}

func (*DaemonCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("Slurm has daemons of its own",
			"a Slurm administrator uses 'scontrol update PartitionName=… State=DOWN' to let no job start"),
	}
}

type daemonDrainCmd struct {
	Reason string     `name:"reason" placeholder:"TEXT"`
	Until  *time.Time `name:"until" type:"moment" placeholder:"WHEN"`
	Then   string     `name:"then" placeholder:"reboot" enum:",reboot" default:""`
	By     *time.Time `name:"by" type:"moment" placeholder:"WHEN"`
	Force  bool       `name:"force"`
}

func (c *daemonDrainCmd) Run(ctx context.Context, a *cli.App) error {
	req, until := api.DrainRequest{Reboot: c.Then != "", Force: c.Force}, "'gpusched daemon resume'"
	if req.Reason = c.Reason; c.By != nil {
		if req.By = *c.By; c.By.IsZero() {
			req.By = time.Now()
		}
	}
	if c.Until != nil {
		if c.Until.IsZero() {
			return cli.Usagef("--until now would end it before it begins")
		}
		req.Until, until = *c.Until, a.Out.Clock(*c.Until)
	}
	var reply api.StatusReply
	err := a.Client.Do(ctx, api.RouteDrain, "", req, &reply)
	switch {
	case err != nil:
	case !req.Reboot:
		a.Out.Printf("no new job starts until %s; %s\n", until, stillRun(reply))
	case c.By == nil || c.By.IsZero():
		a.Out.Printf("no new job starts, and the machine reboots as soon as no job runs; %s\n", stillRun(reply))
	default:
		a.Out.Printf("only jobs that end before %s start, and the machine reboots as soon as no job runs; %s\n",
			a.Out.Clock(req.By), stillRun(reply))
	}
	return err
}

type daemonResumeCmd struct{}

func (c *daemonResumeCmd) Run(ctx context.Context, a *cli.App) error {
	err := a.Client.Do(ctx, api.RouteUndrain, "", nil, new(api.StatusReply))
	if err == nil {
		a.Out.Printf("jobs may start again\n")
	}
	return err
}

type daemonLogLevelCmd struct {
	Level string `arg:"" optional:"" placeholder:"LEVEL" enum:",debug,info,warn,error,default" default:"" help:"debug, info, warn or error: the least urgent entries that reach the journal. default: what the settings say (daemon.log_level)."`
}

func (c *daemonLogLevelCmd) Run(ctx context.Context, a *cli.App) error {
	var reply api.LogLevelReply
	var err error
	switch c.Level {
	case "":
		err = a.Client.Get(ctx, api.RouteLogLevel, "", nil, &reply)
	case "default":
		err = a.Client.Do(ctx, api.RouteSetLogLevel, "", api.LogLevelRequest{}, &reply)
	default:
		err = a.Client.Do(ctx, api.RouteSetLogLevel, "", api.LogLevelRequest{Level: c.Level}, &reply)
	}
	if err != nil {
		return err
	}
	if reply.Level == reply.Settings {
		a.Out.Printf("%s, as the settings say\n", reply.Level)
	} else {
		a.Out.Printf("%s until the daemon restarts (the settings say %s)\n", reply.Level, reply.Settings)
	}
	return nil
}

func stillRun(s api.StatusReply) string {
	if n := len(s.Running); n > 0 {
		return cli.Count(n, "job") + " still to end"
	}
	return "none runs"
}
