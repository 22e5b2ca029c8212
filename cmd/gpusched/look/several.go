package look

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

func StatusOfHosts(ctx context.Context, a *cli.App, c *StatusCmd) error {
	if c.Short {
		return cli.Usagef("--short is about this machine: leave out --hosts, or add --on local")
	}
	return c.Again(ctx, a, c.OutputFlags, func() error { return showStatusOf(ctx, a, c) })
}

func showStatusOf(ctx context.Context, a *cli.App, c *StatusCmd) error {
	hosts := machines(a)
	answers := afar.FetchAll[api.StatusReply](ctx, a, hosts, remote.Typed{Words: []string{"status"}})
	all := api.StatusReply{Schema: api.Schema, Counts: map[job.State]int{}, Hosts: afar.HostAnswers(hosts, answers)}
	all.GPUs, all.Running, all.Waiting = []api.GPU{}, []api.Job{}, []api.Job{}
	for i := range answers {
		r, h := &answers[i].Doc, &all.Hosts[i]
		if h.Error != nil {
			continue
		}
		h.OfStatus(r)
		all.Health = worseHealth(all.Health, r.Health)
		for state, n := range r.Counts {
			all.Counts[state] += n
		}
		all.GPUs = append(all.GPUs, r.GPUs...)
		all.Running = append(all.Running, r.Running...)
		all.Waiting = append(all.Waiting, r.Waiting...)
	}
	jobs := slices.Concat(all.Running, all.Waiting)
	table := a.JobReport(all, jobs, func(wide bool) { writeHosts(a, all, jobs, wide, c.Detailed) })
	table.Cols = withHostColumn(table.Cols, func(j api.Job) string { return j.Host })
	return finishView(a, c.Watch, answers, table.Show(a, c.OutputFlags))
}

// finishView prints the errors of machines that did not answer. It returns the view's own error, or
// else the exit status for the first machine that did not answer. If watched is set, a missing
// machine does not end the view.
func finishView[T any](a *cli.App, watched bool, answers []afar.Fetched[T], err error) error {
	a.Out.W.Flush()
	var missing error
	for i, host := range machines(a) {
		if e := afar.ComplainOf(a, host, answers[i].Err); e != nil && missing == nil {
			missing = e
		}
	}
	if watched || err != nil {
		return err
	}
	return missing
}

// machines returns the machines that a view shows: those whose jobs are named, or else all.
func machines(a *cli.App) []string {
	if len(a.Far) > 0 {
		return a.Far
	}
	return a.Hosts
}

// worseHealth returns the worse of two health states. "" is better than any other.
func worseHealth(x, y job.Health) job.Health {
	rank := []job.Health{"", job.Healthy, job.Degraded, job.Failing}
	if slices.Index(rank, x) < slices.Index(rank, y) {
		return y
	}
	return x
}

func writeHosts(a *cli.App, all api.StatusReply, jobs []api.Job, wide, detailed bool) {
	t := a.Out
	free := map[string]int{}
	gpus := map[string]int{}
	for _, g := range all.GPUs {
		gpus[g.Host]++
		if g.State == job.GPUFree {
			free[g.Host]++
		}
	}
	answered := func(cell func(h api.HostAnswer) string) func(api.HostAnswer) string {
		return func(h api.HostAnswer) string {
			if h.Error != nil {
				return "-"
			}
			return cell(h)
		}
	}
	number := func(cell func(h api.HostAnswer) int) func(api.HostAnswer) string {
		return answered(func(h api.HostAnswer) string { return strconv.Itoa(cell(h)) })
	}
	term.WriteTable(t, []term.Column[api.HostAnswer]{
		{Title: "HOST", Least: 6, Cell: func(h api.HostAnswer) string { return h.Host }},
		{Title: "HEALTH", Least: 7, Cell: func(h api.HostAnswer) string {
			if h.Error != nil {
				return "no answer"
			}
			return string(h.Health)
		}, Style: func(h api.HostAnswer) term.Style {
			if h.Error != nil {
				return term.Red
			}
			return styleOf(h.Health)
		}},
		{Title: "GPUS", Right: true, Cell: number(func(h api.HostAnswer) int { return gpus[h.Host] })},
		{Title: "FREE", Right: true, Cell: number(func(h api.HostAnswer) int { return free[h.Host] })},
		{Title: "RUNNING", Right: true, Cell: number(func(h api.HostAnswer) int { return h.Counts[job.Running] })},
		{Title: "QUEUED", Right: true, Cell: number(func(h api.HostAnswer) int { return h.Counts[job.Queued] })},
		{Title: "UP SINCE", Maybe: true, Cell: answered(func(h api.HostAnswer) string { return t.Clock(h.StartedAt) })},
		{Title: "VERSION", Extra: true, Cell: answered(func(h api.HostAnswer) string { return h.Version })},
		{Title: "PROBLEM", Maybe: true, Least: 12, Cell: func(h api.HostAnswer) string { return hostProblem(t, h) }},
	}, all.Hosts, wide)
	writeStatusTables(a, all, jobs, wide, detailed, "")
}

// hostProblem describes in one line what is wrong with a machine.
func hostProblem(t *term.Terminal, h api.HostAnswer) string {
	switch {
	case h.Error != nil:
		return h.Error.Message
	case h.Drain != nil:
		return h.Drain.Text(t.Reader())
	case h.Problem != nil:
		return h.Problem.Name + ": " + t.Reader().Check(*h.Problem)
	}
	return ""
}

// withHostColumn adds a first column with the machine's name, for csv.
func withHostColumn[T any](cols []term.Column[T], host func(T) string) []term.Column[T] {
	return append([]term.Column[T]{{Key: "host", Cell: host}}, cols...)
}

// ListOfHosts lists the GPUs and jobs of several machines. If jobs are named, it lists only these.
func ListOfHosts(ctx context.Context, a *cli.App, c *ListCmd) error {
	return c.Again(ctx, a, c.OutputFlags, func() error { return showListOf(ctx, a, c) })
}

func showListOf(ctx context.Context, a *cli.App, c *ListCmd) error {
	if c.Wide && c.Form() == "table" {
		c.Output = "wide"
	}
	if c.GPUsOnly {
		return showGPUsOf(ctx, a, c.OutputFlags, c.Watch)
	}
	hosts := machines(a)
	answers := afar.FetchAll[listAnswer](ctx, a, hosts, afar.Typed(a))
	var all listAnswer
	all.Schema, all.Hosts = api.Schema, afar.HostAnswers(hosts, answers)
	all.Jobs, all.GPUs = []api.Job{}, []api.GPU{} // encoded as [] in the document, not as null
	silent := true
	for i := range answers {
		r := &answers[i].Doc
		all.Hosts[i].Omitted, all.Hosts[i].Drain = r.Omitted, r.Drain
		all.Jobs, all.GPUs, all.Omitted = append(all.Jobs, r.Jobs...), append(all.GPUs, r.GPUs...), all.Omitted+r.Omitted
		all.Recent = bothRecent(all.Recent, r.Recent)
		all.Left = cli.LeftOut{Tasks: all.Left.Tasks + r.Left.Tasks, Ended: all.Left.Ended || r.Left.Ended}
		for _, name := range r.Params {
			if !slices.Contains(all.Params, name) {
				all.Params = append(all.Params, name)
			}
		}
		silent = silent && answers[i].Err != nil
	}
	api.InListOrder(all.Jobs, nil)
	if err := c.sort(a, &all.ListReply, all.Params); err != nil {
		return err
	}
	table := a.JobReport(all.ListReply, all.Jobs, func(wide bool) {
		for _, h := range all.Hosts {
			if h.Drain != nil {
				a.Out.Printf("%s: ", term.Clean(h.Host))
				writeDrain(a, h.Drain)
			}
		}
		if !silent { // if no machine has answered, it is unknown whether jobs wait
			c.write(a, all.ListReply, all.Params, wide, all.Left)
		}
	})
	table.Cols = withHostColumn(columnsWith(a, all.Params, true), func(j api.Job) string { return j.Host })
	return finishView(a, c.Watch, answers, table.Show(a, c.OutputFlags))
}

func bothRecent(x, y *api.Recent) *api.Recent {
	if x == nil || y == nil {
		return cmp.Or(x, y)
	}
	since := x.Since
	if y.Since.Before(since) {
		since = y.Since
	}
	return &api.Recent{Since: since, Ended: x.Ended + y.Ended, Failed: x.Failed + y.Failed}
}

func GPUsOfHosts(ctx context.Context, a *cli.App, c *GPUsCmd) error {
	if c.Topology {
		return cli.Refuse(api.CodeUsage, "ask for one at a time", "--topology is about one machine")
	}
	if c.Wide && c.Form() == "table" {
		c.Output = "wide"
	}
	return c.Again(ctx, a, c.OutputFlags, func() error { return showGPUsOf(ctx, a, c.OutputFlags, c.Watch) })
}

func showGPUsOf(ctx context.Context, a *cli.App, o cli.OutputFlags, watched bool) error {
	hosts := machines(a)
	answers := afar.FetchAll[gpusAnswer](ctx, a, hosts, remote.Typed{Words: []string{"gpus"}})
	all := api.GPUsReply{Schema: api.Schema, Hosts: afar.HostAnswers(hosts, answers), GPUs: []api.GPU{}}
	for i := range answers {
		r := &answers[i].Doc.GPUsReply
		all.Hosts[i].OfGPUs(r)
		all.GPUs = append(all.GPUs, r.GPUs...)
	}
	table := gpuReport(a, all, func(wide bool) { writeGPUsOf(a, all, wide) })
	table.Cols = withHostColumn(table.Cols, func(g api.GPU) string { return g.Host })
	return finishView(a, watched, answers, table.Show(a, o))
}

func writeGPUsOf(a *cli.App, all api.GPUsReply, wide bool) {
	t := a.Out
	for _, h := range all.Hosts {
		if h.Error != nil {
			continue
		}
		text := "no driver"
		if h.Driver != "" {
			text = "driver " + h.Driver + ", CUDA " + cli.Dash(h.CUDA) + ", read " + cli.Dash(t.Moment(h.SampledAt))
		}
		if h.GPUProblem != "" {
			text = h.ProblemDetail
		}
		t.Printf("%s: %s\n", term.Clean(h.Host), term.Clean(text))
	}
	if len(all.GPUs) == 0 {
		if slices.ContainsFunc(all.Hosts, func(h api.HostAnswer) bool { return h.Error == nil }) {
			t.Printf("no GPUs\n")
		}
		return
	}
	t.Printf("\n")
	a.WriteGPUs(all.GPUs, wide)
	if list := processesOf(all.GPUs); len(list) > 0 {
		t.Printf("\n")
		term.WriteTable(t, cli.ProcessColumns(t), list, wide)
	}
}
