package act

import (
	"context"
	"slices"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

type GPUCmd struct {
	Pause   gpuPauseCmd   `cmd:"" usage:"[--reason TEXT] [--until WHEN] INDEX..." help:"Start no new jobs on GPUs."`
	Resume  gpuResumeCmd  `cmd:"" usage:"INDEX..." help:"Let jobs back on GPUs."`
	Drain   gpuDrainCmd   `cmd:"" usage:"[--reason TEXT] [--until WHEN] INDEX..." help:"Take GPUs out of service when their jobs have ended."`
	Undrain gpuUndrainCmd `cmd:"" usage:"INDEX..." help:"Put GPUs back into service."`
}

func (*GPUCmd) About() cli.About {
	return cli.About{Host: cli.RunThere, Hosts: cli.OneAtATime, Slurm: cli.ForSlurm}
}

type indexes []int

// UnmarshalText parses a list of GPU numbers such as 0,2-3.
func (v *indexes) UnmarshalText(text []byte) error {
	list, err := job.ParseGPUList(string(text))
	*v = list
	return err
}

// gpuFlags are the arguments of all commands that act on GPUs.
type gpuFlags struct {
	cli.OutputFlags

	GPUs []indexes `arg:"" sep:"none" name:"index" help:"The GPUs, such as 0,2-3."`
}

// eachGPU makes a request for each GPU. Then it prints the new states of the GPUs.
func (c *gpuFlags) eachGPU(ctx context.Context, a *cli.App, done func(api.GPU) string, r *api.Route, body any) error {
	var last api.GPUsReply
	all := slices.Concat(c.GPUs...)
	if e := a.Other(); e != nil {
		e.Meant(all)
	}
	for _, index := range all {
		reply, err := api.ActOnGPU(ctx, a.Client, r, index, body)
		if err != nil {
			return err
		}
		last = reply
		if c.Form() == "table" {
			a.Out.Printf("GPU %d %s\n", index, done(look.GPUOf(reply.GPUs, index)))
		}
	}
	if c.Form() == "table" {
		return nil
	}
	return look.ShowGPUs(a, c.OutputFlags, last)
}

// controlFlags are the flags of pause and drain.
type controlFlags struct {
	Reason string     `name:"reason" placeholder:"TEXT"`
	Until  *time.Time `name:"until" type:"moment" placeholder:"WHEN"`
	gpuFlags
}

// control pauses or drains each GPU.
func (c *controlFlags) control(ctx context.Context, a *cli.App, done func(api.GPU) string, r *api.Route) error {
	req, until := api.PauseRequest{Reason: c.Reason}, ""
	if c.Until != nil {
		if c.Until.IsZero() {
			return cli.Usagef("--until now would end it before it begins")
		}
		req.Until, until = *c.Until, " until "+a.Out.Clock(*c.Until)
	}
	return c.eachGPU(ctx, a, func(g api.GPU) string { return done(g) + until }, r, req)
}

type gpuPauseCmd struct {
	controlFlags
}

func (c *gpuPauseCmd) Run(ctx context.Context, a *cli.App) error {
	return c.control(ctx, a, func(api.GPU) string { return "paused" }, api.RoutePauseGPU)
}

type gpuDrainCmd struct {
	controlFlags
}

func (c *gpuDrainCmd) Run(ctx context.Context, a *cli.App) error {
	return c.control(ctx, a, drained, api.RouteDrainGPU)
}

// drained says whether the drain of a GPU is complete.
func drained(g api.GPU) string {
	if g.State == job.GPUDrained {
		return "is drained"
	}
	return "is being drained"
}

// undrained says whether a GPU is back in service.
func undrained(g api.GPU) string {
	if out := stillOut(g); out != "" {
		return "is no longer drained" + out
	}
	return "back in service"
}

// stillOut returns the state of a GPU that is still out of service, or "" if the GPU is in service.
func stillOut(g api.GPU) string {
	if g.State.Broken() {
		return ", but is " + string(g.State) + ": see 'gpusched health' and 'gpusched gpus'"
	}
	return ""
}

type gpuResumeCmd struct {
	gpuFlags
}

func (c *gpuResumeCmd) Run(ctx context.Context, a *cli.App) error {
	return c.eachGPU(ctx, a, func(g api.GPU) string { return "resumed" + stillOut(g) }, api.RouteResumeGPU, nil)
}

type gpuUndrainCmd struct {
	gpuFlags
}

func (c *gpuUndrainCmd) Run(ctx context.Context, a *cli.App) error {
	return c.eachGPU(ctx, a, undrained, api.RouteUndrainGPU, nil)
}
