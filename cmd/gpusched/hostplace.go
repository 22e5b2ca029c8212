//go:build !quick

package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
)

// needs are what jobs need of a machine besides its scheduler: what several need is asked once.
type needs struct {
	remote.Question
	at map[string]int // in Checks, by its JSON
}

// add is the number of what a job needs.
func (q *needs) add(req api.SubmitRequest) (int, error) {
	req = onlyAsked(api.SubmitRequest{Argv: req.Argv, EnvMode: req.EnvMode, Env: req.Env, Dir: req.Dir, Setup: req.Setup})
	key, err := json.Marshal(req)
	i, known := q.at[string(key)]
	if err == nil && !known {
		i = len(q.Checks)
		q.Checks, q.at[string(key)] = append(q.Checks, req), i
	}
	return i, err
}

// reach connects with each machine on which one of the jobs may be, once, and asks what it lacks. One that does
// not answer lacks everything.
func (f *fleet) reach(ctx context.Context, jobs ...*newElsewhere) {
	var hosts []string
	for _, n := range jobs {
		n.lacks = map[string]error{}
		for _, host := range n.hosts {
			if !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	lacks := make([]func(*newElsewhere) error, len(hosts))
	errs := f.eachOf(ctx, hosts, func(ctx context.Context, i int) (err error) {
		lacks[i], err = f.ask(ctx, hosts[i], len(hosts), jobs)
		return err
	})
	for i, host := range hosts {
		for _, n := range jobs {
			err := errs[i]
			if err == nil {
				err = lacks[i](n)
			}
			if err != nil && slices.Contains(n.hosts, host) {
				n.lacks[host] = err
			}
		}
	}
}

// ask connects with a machine; lacks is what it has not for a job.
func (f *fleet) ask(
	ctx context.Context, host string, among int, jobs []*newElsewhere,
) (lacks func(*newElsewhere) error, err error) {
	q, number := needs{at: map[string]int{}}, map[*newElsewhere]int{}
	for _, n := range jobs {
		if n.c.Force || !slices.Contains(n.hosts, host) {
			continue
		}
		if number[n], err = q.add(n.req); err != nil {
			return nil, err
		}
	}
	p, err := f.join(ctx, host, among, q.Question)
	return func(n *newElsewhere) error {
		if i, asked := number[n]; asked && p.Lacks[i] != nil {
			return p.Lacks[i]
		}
		return nil
	}, err
}

// place is a machine on which the job may be.
func (n *newElsewhere) place(host string) (*peer, error) {
	if err := n.lacks[host]; err != nil {
		return nil, err
	}
	if err := n.fleet.lost[host]; err != nil {
		return nil, err
	}
	return n.fleet.has(host), nil
}
