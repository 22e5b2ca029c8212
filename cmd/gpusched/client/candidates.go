package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// values are the candidates for the value of a flag.
func (a *app) values(ctx context.Context, n *kong.Node, f *kong.Flag, current string) (list []candidate) {
	if f == nil {
		return nil
	}
	if f.Enum != "" {
		return each(f.EnumSlice(), func(v string) candidate { return candidate{v, ""} })
	}
	recent := api.ListQuery{Ended: 100}
	if f.Tag.Type == "gpu-list" {
		return a.gpuWords(ctx, current)
	}
	switch f.Name {
	case "after", "after-ok", "after-fail", "after-any":
		return a.idWords(ctx, n, current)
	case "host":
		return append(a.hostWords(""), candidate{bestHost, "where the job starts first, of --hosts or GPUSCHED_HOSTS"})
	case "on":
		return []candidate{{engineLocal, "the scheduler of this machine"}, {engineSlurm, "a cluster that Slurm runs"}}
	case "on-timeout":
		return []candidate{{string(job.TimeoutKill), ""}, {string(job.TimeoutRequeue), "back to the end of the queue"}}
	case "objective":
		return []candidate{{string(job.Makespan), "all done soonest"}}
	case "output":
		return a.formWords(n, current)
	case "sort":
		return each(jobColumnNames(a), func(name string) candidate { return candidate{name, ""} })
	case "state":
		return each(manual.States(), func(s manual.Entry) candidate { return candidate{s.Word, s.Text} })
	case "gpu-type":
		return a.typeWords(ctx)
	case "conda":
		envs := surroundings{getenv: a.getenv}.condaEnvs()
		return each(envs, func(e condaEnv) candidate { return candidate{e.name, e.prefix} })
	case "priority":
		for c := job.Scavenger; c <= job.Interactive; c++ {
			list = append(list, candidate{c.String(), ""})
		}
	case "signal":
		end, to := "", ""
		if f.Tag.Type == "warning" {
			end = "@60s"
		}
		if main := job.SignalMain + ":"; strings.HasPrefix(current, main) {
			to = main
		}
		for sig := 1; job.SignalName(sig)[0] != 'R'; sig++ {
			list = append(list, candidate{to + job.SignalName(sig) + end, ""})
		}
	case "user":
		return a.jobWords(ctx, recent, func(j api.Job) candidate { return candidate{j.User, ""} })
	case "name":
		if aboutNode(n).Hosts != OnOne { // whose jobs have names of their own
			return a.jobWords(ctx, recent, func(j api.Job) candidate { return candidate{j.Name, ""} })
		}
	}
	return list
}

// arguments are the candidates for what is not an option.
func (a *app) arguments(ctx context.Context, n *kong.Node, current string) []candidate {
	if len(n.Positional) == 0 {
		return nil
	}
	switch n.Positional[0].Name {
	case "user":
		return a.jobWords(ctx, api.ListQuery{Ended: 100}, func(j api.Job) candidate { return candidate{j.User, ""} })
	case "index":
		return a.gpuWords(ctx, current)
	case "id":
		return a.idWords(ctx, n, current)
	case "reservation":
		reply, _ := api.Reservations(ctx, a.client)
		return each(reply.Reservations, reservationWord)
	}
	return nil
}

func isLive(j api.Job) bool { return !j.State.Terminal() }
func isOn(j api.Job) bool   { return j.State == job.Running }

// Of long queues so many jobs are offered.
const (
	offeredWaiting = 1000
	offeredEnded   = 50
)

// idWords are the jobs that a command can be about.
func (a *app) idWords(ctx context.Context, n *kong.Node, current string) []candidate {
	if strings.HasPrefix(current, "name:") {
		q := api.ListQuery{Ended: 100, UID: &a.uid}
		return a.jobWords(ctx, q, func(j api.Job) candidate { return candidate{"name:" + j.Name, ""} })
	}
	q := api.ListQuery{Waiting: offeredWaiting}
	of := aboutNode(n).Offers
	if of.Ended || of.Fits == nil {
		q.Ended = offeredEnded
	}
	if of.Own && a.uid != 0 {
		q.UID = &a.uid
	}
	reply, _ := api.List(ctx, a.client, q)
	var list []candidate
	for _, j := range reply.Jobs {
		if of.Fits == nil || of.Fits(j) {
			list = append(list, candidate{nameOfJob(j), j.Name + ", " + j.User + ", " + stateCell(j)})
		}
	}
	return withPrefix(listPrefix(current), list)
}

func (a *app) jobWords(ctx context.Context, q api.ListQuery, word func(api.Job) candidate) (list []candidate) {
	reply, _ := api.List(ctx, a.client, q)
	for _, j := range reply.Jobs {
		if c := word(j); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

func (a *app) gpuWords(ctx context.Context, current string) []candidate {
	reply, _ := api.GPUs(ctx, a.client)
	return withPrefix(listPrefix(current), each(reply.GPUs, func(g api.GPU) candidate {
		return candidate{strconv.Itoa(g.Index), g.Name + ", " + string(g.State)}
	}))
}

// typeWords are the models of the GPUs as --gpu-type has them.
func (a *app) typeWords(ctx context.Context) (list []candidate) {
	reply, _ := api.GPUs(ctx, a.client)
	for _, g := range reply.GPUs {
		word := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(g.Name, "NVIDIA ")), " ", "-")
		if c := (candidate{word, g.Name}); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// formWords are the forms of output, and behind cols= and csv= the columns.
func (a *app) formWords(n *kong.Node, current string) []candidate {
	form, names, named := strings.Cut(current, "=")
	columns := aboutNode(n).Columns
	if named && columns != nil {
		list := each(columns(a), func(name string) candidate { return candidate{name, ""} })
		return withPrefix(form+"="+listPrefix(names), list)
	}
	if named {
		return nil
	}
	list := each(forms, func(f string) candidate { return candidate{f, ""} })
	if columns != nil {
		list = append(list, candidate{formColumns + "=", "columns by name"}, candidate{"csv=", "csv of columns by name"})
	}
	return list
}

// listPrefix is the part of a list that is complete: "0," of "0,2".
func listPrefix(current string) string { return current[:strings.LastIndex(current, ",")+1] }

func withPrefix(prefix string, list []candidate) []candidate {
	for i := range list {
		list[i].word = prefix + list[i].word
	}
	return list
}

// reservationWord is a reservation for completion.
func reservationWord(r api.Reservation) candidate {
	gpus := job.FormatGPUList(each(r.GPUs, func(g api.Allocation) int { return g.Index }))
	return candidate{number(r.ID), fmt.Sprintf("GPUs %s for %s", gpus, reservedFor(r))}
}
