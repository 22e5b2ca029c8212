package main

import (
	"context"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// gpusCmd lists the GPUs.
type gpusCmd struct {
	Topology bool `name:"topology" help:"Only show how the GPUs are connected."`
	Wide     bool `name:"wide" short:"w" help:"The same as -o wide, with how the GPUs are connected."`
	outputFlags
}

// Help is the text below the options.
func (gpusCmd) Help() string {
	return `What the driver says of each GPU and which jobs have it. FOREIGN is memory held by processes that belong to no job; gpusched leaves them alone and counts their memory as used; 'gpusched why' names them to a job that waits for it. A GPU whose state is foreign has such processes and no job; a fraction, or a job that says with --gpu-mem or --max-used what it needs, is placed beside them, and others on it only where they neither compute nor have much memory (gpus.max_foreign_memory). MEM OF JOBS (-w) is what each job uses, and what it was promised where it has a fraction. The names of programs are shown to their users and to administrators only.

JOBS are the jobs on a GPU, 12:0.5 is one with half of it; FREE is how much is not given out, where GPUs are shared. A GPU that is reserved at the moment says for whom; all reservations that have not ended are listed below.

How two GPUs are connected: NV4 (NVLink with four lanes), switch (the same PCIe switch), bridge (the same host bridge), node (the same NUMA node), cross (between NUMA nodes).

States of a GPU: free, shared (fractions have a part of it), busy (no part is free), paused (by an administrator, see 'gpusched gpu pause'), draining and drained (to be taken out of service, see 'gpusched gpu drain'), cleaning (being checked after a job), suspect (something of a job is still on it), sick (after an error, or since a job left something on it, it needs a look, a reset or a reboot, see 'gpusched health'), lost (the driver says so) and unknown (the driver does not answer).`
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
	if c.Topology && c.form() == "table" {
		a.writeTopology(reply, false)
		return nil
	}
	return a.showGPUs(c.outputFlags, reply)
}

func (a *app) showGPUs(o outputFlags, reply api.GPUsReply) error {
	items, ids := gpuLines(reply.GPUs)
	return a.show(o, report{
		doc: reply, items: items, ids: ids, csv: a.gpusCSV(reply.GPUs),
		text: func(wide bool) { a.writeDriver(reply, wide) },
	})
}

func (a *app) writeDriver(reply api.GPUsReply, wide bool) {
	t := a.out
	if reply.Problem != "" {
		t.Printf("%s\n", t.Paint(term.Red, term.Clean(reply.ProblemDetail)))
	}
	if reply.Driver != "" {
		cuda, seen := term.Clean(dash(reply.CUDA)), dash(t.Ago(reply.SampledAt))
		t.Printf("driver %s, CUDA %s, seen %s\n", term.Clean(reply.Driver), cuda, seen)
	}
	if len(reply.GPUs) == 0 {
		t.Printf("no GPUs\n")
		return
	}
	t.Printf("\n")
	a.writeGPUs(reply.GPUs, wide)
	var list []gpuProcess
	for _, g := range reply.GPUs {
		for _, p := range g.Processes {
			list = append(list, gpuProcess{g.Index, p})
		}
	}
	if len(list) > 0 {
		t.Printf("\n")
		term.WriteTable(t, processColumns(), list, wide)
	}
	if len(reply.Reservations) > 0 {
		t.Printf("\n")
		term.WriteTable(t, a.reservationColumns(), reply.Reservations, wide)
	}
	if wide && len(reply.Links) > 0 {
		t.Printf("\n")
		a.writeTopology(reply, wide)
	}
}

// gpuOf returns the GPU of an index, an empty one where there is none.
func gpuOf(gpus []api.GPU, index int) api.GPU {
	for _, g := range gpus {
		if g.Index == index {
			return g
		}
	}
	return api.GPU{}
}
