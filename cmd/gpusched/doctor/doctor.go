package client

import (
	"context"
	"os"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/doctor/installation"
	"github.com/gpusched/gpusched/cmd/gpusched/doctor/trial"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// doctorCmd checks an installation from the outside as well.
type doctorCmd struct {
	Test    bool          `name:"test" xor:"what"`
	GPUIDs  []int         `name:"gpu-ids" type:"gpu-list" placeholder:"LIST"`
	Timeout time.Duration `name:"timeout" type:"span" placeholder:"TIME" default:"2m"`
	Report  bool          `name:"report" xor:"what"`
	Probe   bool          `name:"probe" xor:"what" hidden:""`
	quietHealth
	outputFlags

	File string `arg:"" optional:"" name:"file" help:"The file of --report. It must not exist."`
}

func (*doctorCmd) About() About {
	return About{
		Host: RunThere, Hosts: OneAtATime, Usual: true,
		Slurm:    NotForSlurm("it checks the scheduler of this machine", "'gpusched health' checks Slurm from here"),
		Options:  "test gpu-ids timeout report quiet output json",
		Examples: []string{"gpusched doctor --test", "gpusched doctor --report report.txt"},
	}
}

func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	if c.File != "" && !c.Report {
		return usagef("'gpusched doctor' writes a file with --report only")
	}
	switch {
	case c.Probe:
		return a.probe(ctx)
	case c.Test:
		return c.testGPUs(ctx, a)
	case c.Report:
		return a.report(ctx, c.File)
	}
	checks := installation.Check(ctx, a.daemon(), version, a.root)
	reply := api.HealthReply{Schema: api.Schema, Health: job.Worst(checks), Checks: checks}
	return a.showHealth(c.outputFlags, c.Quiet, "doctor", reply)
}

// probe is what a job of doctor --test runs.
func (a *app) probe(ctx context.Context) error {
	line, err := trial.Inside(os.Getenv).Probe(ctx).Line()
	if err != nil {
		return err
	}
	_, err = a.out.W.Write(line)
	return err
}
