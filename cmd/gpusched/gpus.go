package main

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/daemon/api"
)

// gpusCmd lists the GPUs.
type gpusCmd struct {
	Wide bool `name:"wide" short:"w" help:"The same as -o wide."`
	outputFlags
}

// Help is the text below the options.
func (gpusCmd) Help() string {
	return `What the driver says of each GPU and which jobs have it. FOREIGN is memory held by processes that belong to no job; gpusched leaves them alone and counts their memory as used. The names of programs are shown to their users and to administrators only.

States of a GPU: free, busy (a job has it), paused (by an administrator, see 'gpusched gpu pause'), cleaning (being checked after a job), suspect (something of a job is still on it), lost (the driver says so) and unknown (the driver does not answer).`
}

// Run lists the GPUs.
func (c *gpusCmd) Run(ctx context.Context, a *app) error {
	reply, err := a.client.GPUs(ctx)
	if err != nil {
		return err
	}
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	return a.showGPUs(c.outputFlags, reply)
}

func (a *app) showGPUs(o outputFlags, reply api.GPUsReply) error {
	items, ids := gpuLines(reply.GPUs)
	return a.show(o, report{
		doc: reply, items: items, ids: ids, csv: gpusCSV(reply.GPUs),
		text: func(wide bool) { a.writeDriver(reply, wide) },
	})
}

func (a *app) writeDriver(reply api.GPUsReply, wide bool) {
	t := a.out
	if reply.Problem != "" {
		t.printf("%s %s\n", t.paint(red, clean(reply.Problem)+":"), clean(reply.ProblemDetail))
	}
	if reply.Driver != "" {
		t.printf("driver %s, CUDA %s, seen %s\n", clean(reply.Driver), clean(dash(reply.CUDA)), dash(t.ago(reply.SampledAt)))
	}
	if len(reply.GPUs) == 0 {
		t.printf("no GPUs\n")
		return
	}
	t.printf("\n")
	a.writeGPUs(reply.GPUs, wide)
	var list []gpuProcess
	for _, g := range reply.GPUs {
		for _, p := range g.Processes {
			list = append(list, gpuProcess{g.Index, p})
		}
	}
	if len(list) > 0 {
		t.printf("\n")
		writeTable(t, processColumns(), list, wide)
	}
}

// gpuCmd acts on GPUs.
type gpuCmd struct {
	Pause  gpuPauseCmd  `cmd:"" usage:"[--reason TEXT] INDEX..." help:"Start no new jobs on GPUs."`
	Resume gpuResumeCmd `cmd:"" usage:"INDEX..." help:"Let jobs back on GPUs."`
}

// gpuPauseCmd keeps jobs off GPUs.
type gpuPauseCmd struct {
	Reason string `name:"reason" placeholder:"TEXT" help:"Why, for everybody to see."`
	outputFlags

	GPUs []indexes `arg:"" sep:"none" name:"index" help:"The GPUs, such as 0,2-3."`
}

// Help is the text below the options.
func (gpuPauseCmd) Help() string {
	return `A job that runs on the GPU goes on. The pause stays over restarts and reboots, until 'gpusched gpu resume'. For administrators: root and the members of the admin group.

Example:

    gpusched gpu pause 2 --reason "fan is being replaced"`
}

// Run pauses the GPUs.
func (c *gpuPauseCmd) Run(ctx context.Context, a *app) error {
	return a.eachGPU(c.outputFlags, c.GPUs, "paused", func(index int) (api.GPUsReply, error) {
		return a.client.PauseGPU(ctx, index, api.PauseRequest{Reason: c.Reason})
	})
}

// gpuResumeCmd lets jobs back on GPUs.
type gpuResumeCmd struct {
	outputFlags

	GPUs []indexes `arg:"" sep:"none" name:"index" help:"The GPUs, such as 0,2-3."`
}

// Help is the text below the options.
func (gpuResumeCmd) Help() string {
	return `This undoes 'gpusched gpu pause'. For administrators: root and the members of the admin group.`
}

// Run resumes the GPUs.
func (c *gpuResumeCmd) Run(ctx context.Context, a *app) error {
	return a.eachGPU(c.outputFlags, c.GPUs, "resumed", func(index int) (api.GPUsReply, error) {
		return a.client.ResumeGPU(ctx, index)
	})
}

// eachGPU does something to each GPU and shows them as they then are.
func (a *app) eachGPU(o outputFlags, lists []indexes, done string, do func(int) (api.GPUsReply, error)) error {
	var last api.GPUsReply
	for _, list := range lists {
		for _, index := range list {
			reply, err := do(index)
			if err != nil {
				return err
			}
			last = reply
			if o.form() == "table" {
				a.out.printf("GPU %s %s\n", fmt.Sprint(index), done)
			}
		}
	}
	if o.form() == "table" {
		return nil
	}
	return a.showGPUs(o, last)
}
