package main

import (
	"fmt"
	"html/template"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// jobPage is the content of the page about one job. It contains only what every user may see.
type jobPage struct {
	Host, Called, Name string
	Facts              []fact
	Reasons            []reasonView
	Attempts           []attemptView
}

type fact struct {
	Name  string
	Value template.HTML
}

type reasonView struct {
	Place    string
	Sentence template.HTML
}

type attemptView struct {
	Number         int
	GPUs           string
	Started, Ended time.Time
	How            template.HTML
}

func jobPageOf(host string, r api.JobReply) jobPage {
	j := &r.Job
	p := jobPage{Host: host, Called: j.Called(), Name: j.Name}
	add := func(name string, value template.HTML) {
		if value != "" {
			p.Facts = append(p.Facts, fact{name, value})
		}
	}
	v := jobViewOf(j)
	add("User", escape(j.User))
	add("State", escape(j.StateWord()))
	add("Requests", escape(v.Asks))
	add("Priority", escape(v.Priority))
	add("Time limit", escape(v.Limit))
	add("GPUs", escape(v.GPUs))
	add("Submitted", moment(j.SubmittedAt, "ago"))
	add("Started", moment(j.StartedAt, "ago"))
	add("Ended", moment(j.EndedAt, "ago"))
	add("Ran", escape(v.Ran))
	if j.State == job.Queued {
		add("Expected start", startOf(v))
	} else {
		add("Expected end", moment(j.ExpectedEnd, "clock"))
	}
	if j.Parked != nil {
		add("Parked", sentence(j.Cause))
	}
	if j.Result != nil {
		add("Result", sentence(j.Cause))
	}
	for _, w := range j.Warnings {
		add("Warning", escape("the job "+w.Sentence))
	}
	for _, reason := range j.Reasons {
		place := "machine"
		switch {
		case reason.GPU != job.NoGPU:
			place = fmt.Sprintf("GPU %d", reason.GPU)
		case words.OfJob(reason.Code):
			place = "job"
		}
		p.Reasons = append(p.Reasons, reasonView{place, sentence(reason.Text)})
	}
	p.Attempts = job.Each(r.Attempts, attemptViewOf)
	return p
}

// startOf says when a waiting job is expected to start.
func startOf(v jobView) template.HTML {
	if v.Unknown {
		return "unknown"
	}
	text := moment(v.Expected, "clock")
	switch {
	case v.From.IsZero() && !v.By.IsZero():
		return "by " + text + " at the latest"
	case v.From.IsZero() || v.From.Equal(v.By):
		return text
	case v.By.IsZero():
		return text + ", " + moment(v.From, "clock") + " at the earliest"
	}
	return text + ", probably between " + moment(v.From, "clock") + " and " + moment(v.By, "clock")
}

func attemptViewOf(a api.Attempt) attemptView {
	v := attemptView{Number: a.Number, GPUs: gpusOf(&api.Job{GPUs: a.GPUs}), Started: a.StartedAt, Ended: a.EndedAt}
	if a.Result != nil {
		v.How = sentence(func(r words.Reader) string { return r.Shown(a.Result) })
	}
	return v
}
