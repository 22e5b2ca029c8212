package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// values returns the candidates for the value of a flag.
func values(ctx context.Context, a *cli.App, n *kong.Node, f *kong.Flag, current string) (list []candidate) {
	if f == nil {
		return nil
	}
	if f.Enum != "" {
		return job.Each(f.EnumSlice(), func(v string) candidate { return candidate{v, ""} })
	}
	recent := api.ListQuery{Ended: 100}
	if f.Tag.Type == "gpu-list" {
		return gpuWords(ctx, a, current)
	}
	switch f.Name {
	case "after", "after-ok", "after-fail", "after-any":
		return completeIDs(ctx, a, n, current)
	case "host":
		return append(hostWords(a, ""), candidate{submit.BestHost, "the machine of --hosts or GPUSCHED_HOSTS where the job starts first"})
	case "on":
		return []candidate{{cli.EngineLocal, "the scheduler of this machine"}, {cli.EngineSlurm, "a cluster that Slurm runs"}}
	case "on-timeout":
		return []candidate{{string(job.TimeoutKill), ""}, {string(job.TimeoutRequeue), "back to the end of the queue"}}
	case "objective":
		return []candidate{{string(job.Makespan), "all done soonest"}}
	case "output":
		return formWords(a, n, current)
	case "sort":
		return job.Each(cli.JobColumnNames(a), func(name string) candidate { return candidate{name, ""} })
	case "state":
		return job.Each(manual.States(), func(s manual.Entry) candidate { return candidate{s.Word, s.Text} })
	case "gpu-type":
		return typeWords(ctx, a)
	case "conda":
		envs := jobenv.Surroundings{Getenv: a.Getenv}.CondaEnvs()
		return job.Each(envs, func(e jobenv.CondaEnv) candidate { return candidate{e.Name, e.Prefix} })
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
		return completeJobs(ctx, a, recent, func(j api.Job) candidate { return candidate{j.User, ""} })
	case "name":
		if parse.AboutNode(n).Hosts != cli.OnOne { // a new job may have any name
			return completeJobs(ctx, a, recent, func(j api.Job) candidate { return candidate{j.Name, ""} })
		}
	}
	return list
}

// arguments returns the candidates for an argument.
func arguments(ctx context.Context, a *cli.App, n *kong.Node, current string) []candidate {
	if len(n.Positional) == 0 {
		return nil
	}
	switch n.Positional[0].Name {
	case "user":
		return completeJobs(ctx, a, api.ListQuery{Ended: 100}, func(j api.Job) candidate { return candidate{j.User, ""} })
	case "index":
		return gpuWords(ctx, a, current)
	case "id":
		return completeIDs(ctx, a, n, current)
	case "reservation":
		reply, _ := api.Reservations(ctx, a.Client)
		return job.Each(reply.Reservations, reservationWord)
	}
	return nil
}

// These are the largest numbers of jobs that completion offers.
const (
	offeredWaiting = 1000
	offeredEnded   = 50
)

// completeIDs returns the ids of jobs that a command can act on.
func completeIDs(ctx context.Context, a *cli.App, n *kong.Node, current string) []candidate {
	if strings.HasPrefix(current, "name:") {
		q := api.ListQuery{Ended: 100, UID: &a.UID}
		return completeJobs(ctx, a, q, func(j api.Job) candidate { return candidate{"name:" + j.Name, ""} })
	}
	q := api.ListQuery{Waiting: offeredWaiting}
	of := parse.AboutNode(n).Offers
	if of.Ended || of.Fits == nil {
		q.Ended = offeredEnded
	}
	if of.Own && a.UID != 0 {
		q.UID = &a.UID
	}
	reply, _ := api.List(ctx, a.Client, q)
	var list []candidate
	for _, j := range reply.Jobs {
		if of.Fits == nil || of.Fits(j) {
			list = append(list, candidate{cli.NameOfJob(j), j.Name + ", " + j.User + ", " + cli.StateCell(j)})
		}
	}
	return withPrefix(listPrefix(current), list)
}

func completeJobs(ctx context.Context, a *cli.App, q api.ListQuery, word func(api.Job) candidate) (list []candidate) {
	reply, _ := api.List(ctx, a.Client, q)
	for _, j := range reply.Jobs {
		if c := word(j); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

func gpuWords(ctx context.Context, a *cli.App, current string) []candidate {
	reply, _ := api.GPUs(ctx, a.Client)
	return withPrefix(listPrefix(current), job.Each(reply.GPUs, func(g api.GPU) candidate {
		return candidate{strconv.Itoa(g.Index), g.Name + ", " + string(g.State)}
	}))
}

// typeWords returns the GPU models as they are written for --gpu-type.
func typeWords(ctx context.Context, a *cli.App) (list []candidate) {
	reply, _ := api.GPUs(ctx, a.Client)
	for _, g := range reply.GPUs {
		word := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(g.Name, "NVIDIA ")), " ", "-")
		if c := (candidate{word, g.Name}); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// formWords returns the output formats. After cols= and csv= it returns the columns.
func formWords(a *cli.App, n *kong.Node, current string) []candidate {
	form, names, named := strings.Cut(current, "=")
	columns := parse.AboutNode(n).Columns
	if named && columns != nil {
		list := job.Each(columns(a), func(name string) candidate { return candidate{name, ""} })
		return withPrefix(form+"="+listPrefix(names), list)
	}
	if named {
		return nil
	}
	list := job.Each(cli.Forms, func(f string) candidate { return candidate{f, ""} })
	if columns != nil {
		list = append(list, candidate{cli.FormColumns + "=", "columns by name"}, candidate{"csv=", "csv of columns by name"})
	}
	return list
}

// listPrefix returns the finished part of a list: "0," for "0,2".
func listPrefix(current string) string { return current[:strings.LastIndex(current, ",")+1] }

func withPrefix(prefix string, list []candidate) []candidate {
	for i := range list {
		list[i].word = prefix + list[i].word
	}
	return list
}

// reservationWord returns a reservation as a candidate.
func reservationWord(r api.Reservation) candidate {
	gpus := job.FormatGPUList(job.Each(r.GPUs, func(g api.Allocation) int { return g.Index }))
	return candidate{cli.Number(r.ID), fmt.Sprintf("GPUs %s for %s", gpus, look.ReservedFor(r))}
}
