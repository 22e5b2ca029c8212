package look

import (
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

type GPUsCmd struct {
	Topology bool `name:"topology"`
	Wide     bool `name:"wide" short:"w"`
	cli.OutputFlags
	cli.AgainFlags
}

func (*GPUsCmd) About() cli.About {
	return cli.About{
		Host: cli.ShownHere, Hosts: cli.Together, Slurm: cli.ForSlurm, Usual: true, Habits: manual.OptionsOfGPUs,
		Columns: func(a *cli.App) []string { return term.Names(cli.GPUColumns(a.Out)) },
	}
}

func (c *GPUsCmd) Run(ctx context.Context, a *cli.App) error {
	if c.Wide && c.Form() == "table" {
		c.Output = "wide"
	}
	return c.Again(ctx, a, c.OutputFlags, func() error { return c.show(ctx, a) })
}

func (c *GPUsCmd) show(ctx context.Context, a *cli.App) error {
	reply, err := afar.Fetch(ctx, a, func() (gpusAnswer, error) { return c.ask(ctx, a) })
	if err != nil {
		return err
	}
	switch {
	case a.Documents():
		return cli.WriteJSON(a.Out.W, reply, "")
	case c.Topology && c.Form() == "table":
		writeTopology(a, reply.GPUsReply, false)
		return nil
	}
	err = ShowGPUs(a, c.OutputFlags, reply.GPUsReply)
	if err == nil && (c.Form() == "table" || c.Form() == "wide") {
		WriteOverruns(a, reply.Reservations, reply.Jobs)
	}
	return err
}

// gpusAnswer is the JSON document of 'gpusched gpus'. If there are reservations, it also lists the
// jobs that have GPUs.
type gpusAnswer struct {
	api.GPUsReply
	Jobs []api.Job `json:"jobs,omitempty"`
}

func (all *gpusAnswer) NameAll(host string) {
	afar.NameJobs(host, all.Jobs)
	afar.NameGPUs(host, all.GPUs)
}

func (c *GPUsCmd) ask(ctx context.Context, a *cli.App) (all gpusAnswer, err error) {
	if all.GPUsReply, err = api.GPUs(ctx, a.Client); err == nil && !c.Topology {
		all.Jobs, err = GPUHolders(ctx, a, all.Reservations)
	}
	return all, err
}

func ShowGPUs(a *cli.App, o cli.OutputFlags, reply api.GPUsReply) error {
	return gpuReport(a, reply, func(wide bool) { writeDriver(a, reply, wide) }).Show(a, o)
}

func gpuReport(a *cli.App, reply api.GPUsReply, text func(wide bool)) cli.Report[api.GPU] {
	ids := job.Each(reply.GPUs, cli.GPUName)
	return cli.Report[api.GPU]{Doc: reply, Rows: reply.GPUs, Cols: cli.GPUColumns(a.Out), IDs: ids, Text: text}
}

func writeDriver(a *cli.App, reply api.GPUsReply, wide bool) {
	t := a.Out
	if reply.Problem != "" {
		t.Printf("%s\n", t.Paint(term.Red, term.Clean(reply.ProblemDetail)))
	}
	if reply.Driver != "" {
		cuda, read := term.Clean(cli.Dash(reply.CUDA)), cli.Dash(t.Moment(reply.SampledAt))
		t.Printf("driver %s, CUDA %s, read %s\n", term.Clean(reply.Driver), cuda, read)
	}
	if len(reply.GPUs) == 0 {
		t.Printf("%s\n", noGPUs(reply))
		return
	}
	if reply.Problem != "" || reply.Driver != "" {
		t.Printf("\n")
	}
	a.WriteGPUs(reply.GPUs, wide)
	if list := processesOf(reply.GPUs); len(list) > 0 {
		t.Printf("\n")
		term.WriteTable(t, cli.ProcessColumns(t), list, wide)
	}
	if len(reply.Reservations) > 0 {
		t.Printf("\n")
		term.WriteTable(t, ReservationColumns(a), reply.Reservations, wide)
	}
	if wide && len(reply.Links) > 0 {
		t.Printf("\n")
		writeTopology(a, reply, wide)
	}
}

// noGPUs returns the sentence that takes the place of an empty table of GPUs.
func noGPUs(reply api.GPUsReply) string {
	if reply.SampledAt.IsZero() && reply.Problem == "" {
		return "the GPUs have not been read yet"
	}
	return "no GPUs"
}

func processesOf(gpus []api.GPU) (list []cli.GPUProcess) {
	for _, g := range gpus {
		for _, p := range g.Processes {
			list = append(list, cli.GPUProcess{GPU: g, GPUProcess: p})
		}
	}
	return list
}

// GPUOf returns the GPU with this index, or the zero GPU if there is none.
func GPUOf(gpus []api.GPU, index int) api.GPU {
	if i := slices.IndexFunc(gpus, func(g api.GPU) bool { return g.Index == index }); i >= 0 {
		return gpus[i]
	}
	return api.GPU{}
}
