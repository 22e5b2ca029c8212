package doctor

import (
	"context"
	"os"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/doctor/installation"
	"github.com/gpusched/gpusched/cmd/gpusched/doctor/trial"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Cmd is the command doctor.
type Cmd struct {
	Test    bool          `name:"test" xor:"what"`
	GPUIDs  []int         `name:"gpu-ids" type:"gpu-list" placeholder:"LIST"`
	Timeout time.Duration `name:"timeout" type:"span" placeholder:"TIME" default:"2m"`
	Report  bool          `name:"report" xor:"what"`
	Probe   bool          `name:"probe" xor:"what" hidden:""`
	look.QuietHealth
	cli.OutputFlags

	File string `arg:"" optional:"" name:"file" help:"The file of --report. It must not exist."`
}

func (*Cmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime, Usual: true,
		Slurm:    cli.NotForSlurm("it checks the scheduler of this machine", "'gpusched health' checks Slurm from here"),
		Options:  "test gpu-ids timeout report quiet output json",
		Examples: []string{"gpusched doctor --test", "gpusched doctor --report report.txt"},
	}
}

func (c *Cmd) Run(ctx context.Context, a *cli.App) error {
	if c.File != "" && !c.Report {
		return cli.Usagef("'gpusched doctor' writes a file with --report only")
	}
	switch {
	case c.Probe:
		return probe(ctx, a)
	case c.Test:
		return c.testGPUs(ctx, a)
	case c.Report:
		return report(ctx, a, c.File)
	}
	checks := append(installation.Check(ctx, a.Daemon(), cli.Version, a.Root), checkEngines(ctx, a)...)
	reply := api.HealthReply{Schema: api.Schema, Health: job.Worst(checks), Checks: checks}
	return look.ShowHealth(a, c.OutputFlags, c.Quiet, "doctor", reply)
}

// probe is what runs inside the jobs of doctor --test.
func probe(ctx context.Context, a *cli.App) error {
	line, err := trial.Inside(os.Getenv).Probe(ctx).Line()
	if err != nil {
		return err
	}
	_, err = a.Out.W.Write(line)
	return err
}
