package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// statusOfHosts shows several machines at a glance.
func (a *app) statusOfHosts(ctx context.Context, c *statusCmd) error {
	return c.again(ctx, a, c.outputFlags, func() error { return a.showStatusOf(ctx, c) })
}

func (a *app) showStatusOf(ctx context.Context, c *statusCmd) error {
	hosts := a.machines()
	answers := fetchAll[api.StatusReply](ctx, a, hosts, remote.Typed{Words: []string{"status"}})
	all := api.StatusReply{Schema: api.Schema, Counts: map[string]int{}, Hosts: hostAnswers(hosts, answers)}
	all.GPUs, all.Running, all.Waiting = []api.GPU{}, []api.Job{}, []api.Job{}
	for i := range answers {
		r, h := &answers[i].doc, &all.Hosts[i]
		if h.Error != nil {
			continue
		}
		h.OfStatus(r)
		all.Health = worse(all.Health, r.Health)
		for state, n := range r.Counts {
			all.Counts[state] += n
		}
		all.GPUs = append(all.GPUs, r.GPUs...)
		all.Running = append(all.Running, r.Running...)
		all.Waiting = append(all.Waiting, r.Waiting...)
	}
	jobs := slices.Concat(all.Running, all.Waiting)
	table := a.jobReport(all, jobs, func(wide bool) { a.writeHosts(all, jobs, wide, c.Detailed) })
	table.cols = withHostColumn(table.cols, func(j api.Job) string { return j.Host })
	return shown(a, c.Watch, answers, table.show(a, c.outputFlags))
}

// shown is the error of a view: its own, or that of machines that are missing in it, which are named. While
// it is kept up to date nothing ends it.
func shown[T any](a *app, watched bool, answers []fetched[T], err error) error {
	a.out.W.Flush()
	var missing error
	for i, host := range a.machines() {
		if e := a.complainOf(host, answers[i].err); e != nil && missing == nil {
			missing = e
		}
	}
	if watched || err != nil {
		return err
	}
	return missing
}

// machines are they of which a view is: those whose jobs are named, or all that are asked.
func (a *app) machines() []string {
	if len(a.far) > 0 {
		return a.far
	}
	return a.hosts
}

// worse is the worse of two healths; "" is none.
func worse(x, y job.Health) job.Health {
	rank := []job.Health{"", job.Healthy, job.Degraded, job.Failing}
	if slices.Index(rank, x) < slices.Index(rank, y) {
		return y
	}
	return x
}

func (a *app) writeHosts(all api.StatusReply, jobs []api.Job, wide, detailed bool) {
	t := a.out
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
		{Title: "RUNNING", Right: true, Cell: number(func(h api.HostAnswer) int { return h.Counts[string(job.Running)] })},
		{Title: "QUEUED", Right: true, Cell: number(func(h api.HostAnswer) int { return h.Counts[string(job.Queued)] })},
		{Title: "UP SINCE", Maybe: true, Cell: answered(func(h api.HostAnswer) string { return t.Clock(h.StartedAt) })},
		{Title: "VERSION", Extra: true, Cell: answered(func(h api.HostAnswer) string { return h.Version })},
		{Title: "PROBLEM", Maybe: true, Least: 12, Cell: func(h api.HostAnswer) string { return hostProblem(t, h) }},
	}, all.Hosts, wide)
	if len(all.GPUs) > 0 {
		t.Printf("\n")
		a.writeGPUs(all.GPUs, wide)
	}
	shown := jobs
	if !wide && !detailed {
		shown = api.ByState(shown, 0)
	}
	hidden := all.Counts[string(job.Queued)] - len(all.Waiting)
	if t.Height > 0 && !wide && !detailed {
		some, rest := fit(shown, max(t.Height-statusLines-len(all.GPUs)-len(all.Hosts), leastShown))
		shown, hidden = some, hidden+rest
	}
	if len(shown) > 0 {
		t.Printf("\n")
		term.WriteTable(t, a.jobColumns(), shown, wide)
	}
	if hidden > 0 {
		t.Printf("… and %d more\n", hidden)
	}
}

// hostProblem is what is the matter with a machine, in one line.
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

// withHostColumn puts the machine first, for csv.
func withHostColumn[T any](cols []term.Column[T], host func(T) string) []term.Column[T] {
	return append([]term.Column[T]{{Key: "host", Cell: host}}, cols...)
}

// listOfHosts lists the GPUs and jobs of several machines, or their jobs that are named.
func (a *app) listOfHosts(ctx context.Context, c *listCmd) error {
	return c.again(ctx, a, c.outputFlags, func() error { return a.showListOf(ctx, c) })
}

func (a *app) showListOf(ctx context.Context, c *listCmd) error {
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	if c.GPUsOnly {
		return a.showGPUsOf(ctx, c.outputFlags, c.Watch)
	}
	hosts := a.machines()
	answers := fetchAll[listAnswer](ctx, a, hosts, a.typed())
	var all listAnswer
	all.Schema, all.Hosts = api.Schema, hostAnswers(hosts, answers)
	all.Jobs, all.GPUs = []api.Job{}, []api.GPU{} // in a document [], not null
	silent := true
	for i := range answers {
		r := &answers[i].doc
		all.Hosts[i].Omitted, all.Hosts[i].Drain = r.Omitted, r.Drain
		all.Jobs, all.GPUs, all.Omitted = append(all.Jobs, r.Jobs...), append(all.GPUs, r.GPUs...), all.Omitted+r.Omitted
		all.Recent = bothRecent(all.Recent, r.Recent)
		all.Left = leftOut{all.Left.Tasks + r.Left.Tasks, all.Left.Ended || r.Left.Ended}
		for _, name := range r.Params {
			if !slices.Contains(all.Params, name) {
				all.Params = append(all.Params, name)
			}
		}
		silent = silent && answers[i].err != nil
	}
	api.InListOrder(all.Jobs, nil)
	if err := c.sort(a, &all.ListReply, all.Params); err != nil {
		return err
	}
	table := a.jobReport(all.ListReply, all.Jobs, func(wide bool) {
		for _, h := range all.Hosts {
			if h.Drain != nil {
				a.out.Printf("%s: ", term.Clean(h.Host))
				a.writeDrain(h.Drain)
			}
		}
		if !silent { // else that no job waits is not known
			c.write(a, all.ListReply, all.Params, wide, all.Left)
		}
	})
	table.cols = withHostColumn(a.columnsWith(all.Params, true), func(j api.Job) string { return j.Host })
	return shown(a, c.Watch, answers, table.show(a, c.outputFlags))
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

// gpusOfHosts lists the GPUs of several machines.
func (a *app) gpusOfHosts(ctx context.Context, c *gpusCmd) error {
	if c.Topology {
		return refuse(api.CodeUsage, "ask for one at a time", "--topology is about one machine")
	}
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	return c.again(ctx, a, c.outputFlags, func() error { return a.showGPUsOf(ctx, c.outputFlags, c.Watch) })
}

func (a *app) showGPUsOf(ctx context.Context, o outputFlags, watched bool) error {
	hosts := a.machines()
	answers := fetchAll[gpusAnswer](ctx, a, hosts, remote.Typed{Words: []string{"gpus"}})
	all := api.GPUsReply{Schema: api.Schema, Hosts: hostAnswers(hosts, answers), GPUs: []api.GPU{}}
	for i := range answers {
		r := &answers[i].doc.GPUsReply
		all.Hosts[i].OfGPUs(r)
		all.GPUs = append(all.GPUs, r.GPUs...)
	}
	table := a.gpuReport(all, func(wide bool) { a.writeGPUsOf(all, wide) })
	table.cols = withHostColumn(table.cols, func(g api.GPU) string { return g.Host })
	return shown(a, watched, answers, table.show(a, o))
}

func (a *app) writeGPUsOf(all api.GPUsReply, wide bool) {
	t := a.out
	for _, h := range all.Hosts {
		if h.Error != nil {
			continue
		}
		text := "no driver"
		if h.Driver != "" {
			text = "driver " + h.Driver + ", CUDA " + dash(h.CUDA) + ", seen " + dash(t.Moment(h.SampledAt))
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
	a.writeGPUs(all.GPUs, wide)
	if list := processesOf(all.GPUs); len(list) > 0 {
		t.Printf("\n")
		term.WriteTable(t, processColumns(), list, wide)
	}
}

// topOfHosts keeps the status of several machines up to date on the whole terminal. The screen that one machine has
// is about one scheduler.
func (a *app) topOfHosts(ctx context.Context, c *topCmd) error {
	if !a.onTerminal() {
		return refuse(api.CodeUsage, "'gpusched status' and 'gpusched list' print the same once", "top needs a terminal")
	}
	there := *a
	if c.Mine {
		there.words = []string{"list", "--mine"}
		l := &listCmd{outputFlags: outputFlags{Output: "table"}}
		l.Mine, l.Watch = true, true
		return there.listOfHosts(ctx, l)
	}
	return there.statusOfHosts(ctx, &statusCmd{againFlags: againFlags{Watch: true}, outputFlags: outputFlags{Output: "table"}})
}

// whyOfHosts is about the job that the user has submitted last, on whichever of the machines.
func (a *app) whyOfHosts(ctx context.Context, c call) error {
	answers := fetchAll[api.JobReply](ctx, a, a.hosts, remote.Typed{Words: []string{"show"}, Plain: true})
	var last api.Job
	var missing error
	for i, host := range a.hosts {
		var e *api.Error
		switch err := answers[i].err; {
		case err == nil && (last.ID == 0 || answers[i].doc.Job.SubmittedAt.After(last.SubmittedAt)):
			last = answers[i].doc.Job
		case errors.As(err, &e) && e.Code == api.CodeNotFound: // none there
		default:
			if err = a.complainOf(host, err); missing == nil {
				missing = err
			}
		}
	}
	switch {
	case last.ID == 0 && missing != nil:
		return missing
	case last.ID == 0:
		return notFoundf("you have submitted no job on %s", strings.Join(a.hosts, ", "))
	}
	return cmp.Or(a.onHost(ctx, c, last.Host), missing)
}
