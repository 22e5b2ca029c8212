package client

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// resolve turns a word for jobs of other machines into names as a:12.
func (f *fleet) resolve(ctx context.Context, word string) (ids []string, ok bool, err error) {
	parts := placedWords(word)
	if len(parts) == 1 && parts[0].host == "" {
		return nil, false, nil
	}
	for _, part := range parts {
		asked, err := f.a, error(nil)
		if part.host != "" {
			var p *peer
			if p, err = f.at(ctx, part.host); err == nil {
				asked = p.app
			}
		}
		var found []string
		if err == nil {
			found, err = asked.resolveWord(ctx, part.word)
		}
		if err != nil {
			return nil, true, f.of(part.host, err)
		}
		for _, id := range found {
			ids = append(ids, nameAt(part.host, id))
		}
	}
	return ids, true, nil
}

// of says whose an error is.
func (f *fleet) of(host string, err error) error {
	var e *api.Error
	if host == "" || !errors.As(err, &e) {
		return err
	}
	named := *e
	its := func(text string) string { return strings.ReplaceAll(text, "\n", "\n"+host+": ") } // no line is another's
	named.Message = host + ": " + its(e.Message)
	named.Hint = its(strings.ReplaceAll(e.Hint, "'gpusched ", "'gpusched "+hostsFlag+" "+host+" "))
	return &named
}

// route asks the engine that has a job, for no longer than patience.
func route[T any](
	ctx context.Context, f *fleet, name string, ask func(e engine, ctx context.Context, id string) (T, error),
) (out T, err error) {
	host, id, named := hostOf(name)
	if !named {
		return ask(f.engine, ctx, id)
	}
	limited, cancel := context.WithTimeout(ctx, remote.Patience)
	defer cancel()
	p, err := f.at(limited, host)
	if err == nil {
		out, err = ask(p.app.client, limited, id)
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = refuse(api.CodeUnreachable, "what it was to do it may have done: see 'gpusched show "+name+"' when it answers again",
			"no answer within %s", remote.Patience)
	}
	return out, f.of(host, err)
}

// The methods of an engine that are about one job ask the machine that its name says.

func (f *fleet) Job(ctx context.Context, id string) (api.JobReply, error) {
	return route(ctx, f, id, engine.Job)
}

func (f *fleet) Results(ctx context.Context, id string) (api.JobReply, error) {
	return route(ctx, f, id, engine.Results)
}

func (f *fleet) Why(ctx context.Context, id string) (api.JobReply, error) {
	return route(ctx, f, id, engine.Why)
}

// Wait waits for as long as the job takes. A machine that is lost meanwhile is noticed by each request of it.
func (f *fleet) Wait(ctx context.Context, id string, timeout time.Duration) (api.JobReply, error) {
	host, id, named := hostOf(id)
	if !named {
		return f.engine.Wait(ctx, id, timeout)
	}
	p, err := f.at(ctx, host)
	if err != nil {
		return api.JobReply{}, f.of(host, err)
	}
	reply, err := p.app.client.Wait(ctx, id, timeout)
	return reply, f.of(host, err)
}

func (f *fleet) Cancel(ctx context.Context, id string, r api.CancelRequest) (api.JobReply, error) {
	return route(ctx, f, id, func(e engine, ctx context.Context, id string) (api.JobReply, error) {
		return e.Cancel(ctx, id, r)
	})
}

func (f *fleet) Hold(ctx context.Context, id string) (api.JobReply, error) {
	return route(ctx, f, id, engine.Hold)
}

func (f *fleet) Release(ctx context.Context, id string) (api.JobReply, error) {
	return route(ctx, f, id, engine.Release)
}

func (f *fleet) Requeue(ctx context.Context, id string) (api.JobReply, error) {
	return route(ctx, f, id, engine.Requeue)
}

func (f *fleet) Suspend(ctx context.Context, id string) (api.JobReply, error) {
	return route(ctx, f, id, engine.Suspend)
}

func (f *fleet) Resume(ctx context.Context, id string) (api.JobReply, error) {
	return route(ctx, f, id, engine.Resume)
}

func (f *fleet) Update(ctx context.Context, id string, r job.Change) (api.JobReply, error) {
	return route(ctx, f, id, func(e engine, ctx context.Context, id string) (api.JobReply, error) {
		return e.Update(ctx, id, r)
	})
}

// Many does it on one machine after the other, in the order in which they are named.
func (f *fleet) Many(ctx context.Context, r api.ManyRequest, told func(api.ManyPart)) error {
	groups, hosts := map[string][]string{}, []string{}
	for _, name := range r.Jobs {
		host, id, _ := hostOf(name)
		if groups[host] == nil {
			hosts = append(hosts, host)
		}
		groups[host] = append(groups[host], id)
	}
	for _, host := range hosts {
		asked := f.engine
		if host != "" {
			p, err := f.at(ctx, host)
			if err != nil {
				return f.of(host, err)
			}
			asked = p.app.client
		}
		r.Jobs = groups[host]
		err := asked.Many(ctx, r, func(part api.ManyPart) {
			for i := range part.Refused {
				if e, ok := f.of(host, &part.Refused[i].Error).(*api.Error); ok {
					part.Refused[i].Error = *e
				}
			}
			told(part)
		})
		if err != nil {
			return f.of(host, err)
		}
	}
	return nil
}
