package api

import (
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Programs that show a reply to a person use these methods to make sentences for that reader.
// The sentences in the JSON are meant for scripts.

// Text returns a sentence that says why a job waits. The sentence does not name the GPU.
func (x *Reason) Text(r words.Reader) string {
	if !x.Said.IsZero() {
		return r.Say(x.Said)
	}
	return r.Reason(x.toJob())
}

// toJob converts the reason to a job.Reason, with its detail as a job.Message.
func (x *Reason) toJob() job.Reason {
	out := x.Reason
	if out.Detail = x.Why; x.Why.IsZero() { // an older gpusched on another machine sent the reason without a code
		out.Detail = job.Text(x.Detail)
	}
	return out
}

// Because returns in one line why the job waits, or why it does not end.
func (j *Job) Because(r words.Reader) string {
	r.Host = j.Host
	switch {
	case len(j.Reasons) == 0:
		return j.Why
	case !j.Reasons[0].Said.IsZero():
		return r.Say(j.Reasons[0].Said)
	}
	list := make([]job.Reason, len(j.Reasons))
	for i := range j.Reasons {
		list[i] = j.Reasons[i].toJob()
	}
	return r.Why(list)
}

// Cause returns why the job waits, how it ended, or what is wrong with it while it runs.
func (j *Job) Cause(r words.Reader) string {
	r.Host = j.Host
	switch {
	case j.Result != nil:
		return r.Shown(j.Result)
	case j.Alike > 1 && len(j.Reasons) == 0 && j.Why != "": // this row has several tasks with different causes
		return j.Why
	case j.Suspended():
		if why := j.Because(r); j.Parked != nil && why != "" {
			return j.Halted(r) + "; " + why
		}
		return j.Halted(r)
	case len(j.Warnings) > 0:
		return j.Warnings[0].Sentence
	}
	return j.Because(r)
}

// Note is like Cause, but leaves out what the job's state already says.
func (j *Job) Note(r words.Reader) string {
	r.Host = j.Host
	if j.Result == nil || !j.Result.Said.IsZero() {
		return j.Cause(r)
	}
	return r.How(&j.Result.Result)
}

// Text returns why no job may start, or which jobs may not start.
func (d *Drain) Text(r words.Reader) string {
	if d.Ends != nil {
		return r.Say(job.Say("detail/ends-soon", d.Ends.Say()))
	}
	c := job.GPUControl{UUID: job.EveryGPU, By: d.By, Reason: d.Reason, Until: d.Until, Reboot: d.Reboot}
	return r.Reason(job.Reason{Code: job.ReasonDrained, GPU: job.NoGPU, Detail: c.Say()})
}

// Detail returns why the GPU is in its state.
func (g *GPU) Detail(r words.Reader) string {
	if g.StateWhy.IsZero() { // the GPU belongs to another scheduler, which sends only a text
		return g.StateDetail
	}
	return r.Say(g.StateWhy)
}
