package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// status shows several machines at a glance.
func (f *fleet) status(ctx context.Context, c *statusCmd) error {
	return c.again(ctx, f.a, c.outputFlags, func() error { return f.showStatus(ctx, c) })
}

func (f *fleet) showStatus(ctx context.Context, c *statusCmd) error {
	hosts := f.a.hosts
	replies := make([]api.StatusReply, len(hosts))
	errs := f.each(ctx, hosts, func(ctx context.Context, i int, p *peer) (err error) {
		replies[i], err = p.app.client.Status(ctx)
		return err
	})
	all := api.StatusReply{Schema: api.Schema, Counts: map[string]int{}, Hosts: hostAnswers(hosts, errs)}
	all.GPUs, all.Running, all.Waiting = []api.GPU{}, []api.Job{}, []api.Job{}
	for i, r := range replies {
		h := &all.Hosts[i]
		if h.Error != nil {
			continue
		}
		h.OfStatus(&r)
		all.Health = worse(all.Health, r.Health)
		for state, n := range r.Counts {
			all.Counts[state] += n
		}
		all.GPUs = append(all.GPUs, r.GPUs...)
		all.Running = append(all.Running, r.Running...)
		all.Waiting = append(all.Waiting, r.Waiting...)
	}
	jobs := slices.Concat(all.Running, all.Waiting)
	table := f.a.jobReport(all, jobs, func(wide bool) { f.writeStatus(all, jobs, wide, c.Detailed) })
	table.cols = withHostColumn(table.cols, func(j api.Job) string { return j.Host })
	return f.shown(c.Watch, errs, table.show(f.a, c.outputFlags))
}

// shown is the error of a view: its own, or that of machines that are missing in it, which are named. While
// it is kept up to date nothing ends it.
func (f *fleet) shown(watched bool, errs []error, err error) error {
	f.forget(errs)
	f.a.out.W.Flush()
	missing := f.complainOf(f.a.hosts, errs)
	if watched || err != nil {
		return err
	}
	return missing
}

// silent reports whether no machine has answered.
func silent(errs []error) bool { return !slices.Contains(errs, nil) }

// forget has machines connected with anew that have not answered.
func (f *fleet) forget(errs []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, err := range errs {
		if err != nil {
			delete(f.open, f.a.hosts[i])
		}
	}
}

// worse is the worse of two healths; "" is none.
func worse(x, y job.Health) job.Health {
	rank := []job.Health{"", job.Healthy, job.Degraded, job.Failing}
	if slices.Index(rank, x) < slices.Index(rank, y) {
		return y
	}
	return x
}

func (f *fleet) writeStatus(all api.StatusReply, jobs []api.Job, wide, detailed bool) {
	t := f.a.out
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
		f.a.writeGPUs(all.GPUs, wide)
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
		term.WriteTable(t, f.a.jobColumns(), shown, wide)
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
		return t.Local(h.Drain.Sentence)
	case h.Problem != nil:
		return h.Problem.Name + ": " + t.Local(h.Problem.Detail)
	}
	return ""
}

// withHostColumn puts the machine first, for csv.
func withHostColumn[T any](cols []term.Column[T], host func(T) string) []term.Column[T] {
	return append([]term.Column[T]{{Key: "host", Cell: host}}, cols...)
}

// list lists the GPUs and jobs of several machines.
func (f *fleet) list(ctx context.Context, c *listCmd) error {
	if len(c.IDs) > 0 {
		return refuse(api.CodeUsage, "such as "+f.a.hosts[0]+":"+c.IDs[0], "say which machine's job %s is", c.IDs[0])
	}
	return c.again(ctx, f.a, c.outputFlags, func() error { return f.showList(ctx, c, nil) })
}

// listOf lists jobs that are named, of several machines.
func (a *app) listOf(ctx context.Context, c *listCmd, words, hosts []string) error {
	here := *a
	here.hosts = hosts
	ids := wordsByHost(words)
	f := here.fleet()
	return c.again(ctx, &here, c.outputFlags, func() error { return f.showList(ctx, c, ids) })
}

// showList lists what all have, or the jobs that are named of each.
func (f *fleet) showList(ctx context.Context, c *listCmd, ids map[string][]string) error {
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	if c.GPUsOnly {
		return f.showGPUs(ctx, &gpusCmd{outputFlags: c.outputFlags}, c.Watch)
	}
	hosts := f.a.hosts
	replies, lefts, names := make([]api.ListReply, len(hosts)), make([]leftOut, len(hosts)), make([][]string, len(hosts))
	errs := f.each(ctx, hosts, func(ctx context.Context, i int, p *peer) error {
		one := *c
		one.IDs = ids[hosts[i]]
		q, err := one.query(ctx, p.app)
		q.Names = false
		if err == nil {
			replies[i], names[i], lefts[i], err = one.fetch(ctx, p.app, q)
		}
		return err
	})
	all, left, params := api.ListReply{Schema: api.Schema, Hosts: hostAnswers(hosts, errs)}, leftOut{}, []string(nil)
	for i, r := range replies {
		all.Hosts[i].Omitted, all.Hosts[i].Drain = r.Omitted, r.Drain
		all.Jobs, all.GPUs, all.Omitted = append(all.Jobs, r.Jobs...), append(all.GPUs, r.GPUs...), all.Omitted+r.Omitted
		all.Recent = bothRecent(all.Recent, r.Recent)
		left.tasks, left.ended = left.tasks+lefts[i].tasks, left.ended || lefts[i].ended
		for _, name := range names[i] {
			if !slices.Contains(params, name) {
				params = append(params, name)
			}
		}
	}
	all.Jobs, all.GPUs = append([]api.Job{}, all.Jobs...), append([]api.GPU{}, all.GPUs...) // in a document [], not null
	api.InListOrder(all.Jobs, nil)
	if err := c.sort(f.a, &all, params); err != nil {
		return err
	}
	table := f.a.jobReport(all, all.Jobs, func(wide bool) {
		for _, h := range all.Hosts {
			if h.Drain != nil {
				f.a.out.Printf("%s: ", term.Clean(h.Host))
				f.a.writeDrain(h.Drain)
			}
		}
		if silent(errs) {
			return // that no job waits is not known
		}
		c.write(f.a, all, params, wide, left)
	})
	table.cols = withHostColumn(f.a.columnsWith(params, true), func(j api.Job) string { return j.Host })
	return f.shown(c.Watch, errs, table.show(f.a, c.outputFlags))
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

// gpus lists the GPUs of several machines.
func (f *fleet) gpus(ctx context.Context, c *gpusCmd) error {
	if c.Topology {
		return refuse(api.CodeUsage, "ask for one at a time", "--topology is about one machine")
	}
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	return c.again(ctx, f.a, c.outputFlags, func() error { return f.showGPUs(ctx, c, c.Watch) })
}

func (f *fleet) showGPUs(ctx context.Context, c *gpusCmd, watched bool) error {
	hosts := f.a.hosts
	replies := make([]api.GPUsReply, len(hosts))
	errs := f.each(ctx, hosts, func(ctx context.Context, i int, p *peer) (err error) {
		replies[i], err = p.app.client.GPUs(ctx)
		return err
	})
	all := api.GPUsReply{Schema: api.Schema, Hosts: hostAnswers(hosts, errs), GPUs: []api.GPU{}}
	for i, r := range replies {
		all.Hosts[i].OfGPUs(&r)
		all.GPUs = append(all.GPUs, r.GPUs...)
	}
	table := f.a.gpuReport(all, func(wide bool) { f.writeGPUs(all, wide) })
	table.cols = withHostColumn(table.cols, func(g api.GPU) string { return g.Host })
	return f.shown(watched, errs, table.show(f.a, c.outputFlags))
}

func (f *fleet) writeGPUs(all api.GPUsReply, wide bool) {
	t := f.a.out
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
	f.a.writeGPUs(all.GPUs, wide)
	if list := processesOf(all.GPUs); len(list) > 0 {
		t.Printf("\n")
		term.WriteTable(t, processColumns(), list, wide)
	}
}

// top keeps the status of several machines up to date on the whole terminal. The screen that one machine has
// is about one scheduler.
func (f *fleet) top(ctx context.Context, c *topCmd) error {
	if !f.a.onTerminal() {
		return refuse(api.CodeUsage, "'gpusched status' and 'gpusched list' print the same once", "top needs a terminal")
	}
	if c.Mine {
		l := &listCmd{outputFlags: outputFlags{Output: "table"}}
		l.Mine, l.Watch = true, true
		return f.list(ctx, l)
	}
	return f.status(ctx, &statusCmd{againFlags: againFlags{Watch: true}, outputFlags: outputFlags{Output: "table"}})
}

// why is about the job that the user has submitted last, on whichever of the machines.
func (f *fleet) why(ctx context.Context, c call, cmd *whyCmd) error {
	hosts := f.a.hosts
	jobs := make([]api.Job, len(hosts))
	errs := f.each(ctx, hosts, func(ctx context.Context, i int, p *peer) error {
		id, err := p.app.resolveLast(ctx, "")
		var e *api.Error
		if errors.As(err, &e) && e.Code == api.CodeNotFound {
			return nil // none there
		}
		if err != nil {
			return err
		}
		reply, err := p.app.client.Job(ctx, id.String())
		jobs[i] = reply.Job
		jobs[i].SubmittedAt = jobs[i].SubmittedAt.Add(-p.ahead)
		return err
	})
	missing := f.complainOf(hosts, errs)
	last := slices.MaxFunc(jobs, func(x, y api.Job) int { return x.SubmittedAt.Compare(y.SubmittedAt) })
	switch {
	case last.ID == 0 && missing != nil:
		return missing
	case last.ID == 0:
		return notFoundf("you have submitted no job on %s", strings.Join(hosts, ", "))
	}
	cmd.ID = last.ID.String()
	p := f.open[last.Host]
	if err := exitHere(p.app, c.run(p.app)); err != nil {
		return err
	}
	return missing
}
