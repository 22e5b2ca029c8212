package client

import (
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// gpusCmd lists the GPUs.
type gpusCmd struct {
	Topology bool `name:"topology"`
	Wide     bool `name:"wide" short:"w"`
	outputFlags
	againFlags
}

func (*gpusCmd) About() About {
	return About{
		Host: ShownHere, Hosts: Together, Slurm: ForSlurm, Usual: true, Habits: manual.OptionsOfGPUs,
		Columns: func(a *app) []string { return term.Names(gpuColumns(a.out)) },
	}
}

func (c *gpusCmd) Run(ctx context.Context, a *app) error {
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	return c.again(ctx, a, c.outputFlags, func() error { return c.show(ctx, a) })
}

func (c *gpusCmd) show(ctx context.Context, a *app) error {
	reply, err := fetch(ctx, a, func() (gpusAnswer, error) { return c.ask(ctx, a) })
	if err != nil {
		return err
	}
	switch {
	case a.documents():
		return writeJSON(a.out.W, reply, "")
	case c.Topology && c.form() == "table":
		a.writeTopology(reply.GPUsReply, false)
		return nil
	}
	err = a.showGPUs(c.outputFlags, reply.GPUsReply)
	if err == nil && (c.form() == "table" || c.form() == "wide") {
		a.writeSitters(reply.Reservations, reply.Jobs)
	}
	return err
}

// gpusAnswer is what gpus shows: with reservations, the jobs that may be on their GPUs.
type gpusAnswer struct {
	api.GPUsReply
	Jobs []api.Job `json:"jobs,omitempty"`
}

func (all *gpusAnswer) nameAll(host string) {
	nameJobs(host, all.Jobs)
	nameGPUs(host, all.GPUs)
}

func (c *gpusCmd) ask(ctx context.Context, a *app) (all gpusAnswer, err error) {
	if all.GPUsReply, err = api.GPUs(ctx, a.client); err == nil && !c.Topology {
		all.Jobs, err = a.sitters(ctx, all.Reservations)
	}
	return all, err
}

func (a *app) showGPUs(o outputFlags, reply api.GPUsReply) error {
	return a.gpuReport(reply, func(wide bool) { a.writeDriver(reply, wide) }).show(a, o)
}

// gpuReport is a report of GPUs.
func (a *app) gpuReport(reply api.GPUsReply, text func(wide bool)) report[api.GPU] {
	ids := each(reply.GPUs, gpuName)
	return report[api.GPU]{doc: reply, rows: reply.GPUs, cols: gpuColumns(a.out), ids: ids, text: text}
}

func (a *app) writeDriver(reply api.GPUsReply, wide bool) {
	t := a.out
	if reply.Problem != "" {
		t.Printf("%s\n", t.Paint(term.Red, term.Clean(reply.ProblemDetail)))
	}
	if reply.Driver != "" {
		cuda, seen := term.Clean(dash(reply.CUDA)), dash(t.Moment(reply.SampledAt))
		t.Printf("driver %s, CUDA %s, seen %s\n", term.Clean(reply.Driver), cuda, seen)
	}
	if len(reply.GPUs) == 0 {
		t.Printf("no GPUs\n")
		return
	}
	if reply.Problem != "" || reply.Driver != "" {
		t.Printf("\n")
	}
	a.writeGPUs(reply.GPUs, wide)
	if list := processesOf(reply.GPUs); len(list) > 0 {
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

// processesOf are the processes on GPUs.
func processesOf(gpus []api.GPU) (list []gpuProcess) {
	for _, g := range gpus {
		for _, p := range g.Processes {
			list = append(list, gpuProcess{g, p})
		}
	}
	return list
}

// gpuOf returns the GPU of an index, an empty one where there is none.
func gpuOf(gpus []api.GPU, index int) api.GPU {
	if i := slices.IndexFunc(gpus, func(g api.GPU) bool { return g.Index == index }); i >= 0 {
		return gpus[i]
	}
	return api.GPU{}
}
