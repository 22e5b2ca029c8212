package sbatch

import (
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Current is what an update must know about the job.
type Current struct {
	Comment    CommentData
	GPUType    string // gres type that the job requested; "" means any type
	QOS        string
	DefaultQOS string // default QOS of the user; "" leaves the choice to Slurm
}

// Update returns scontrol's arguments for a change of a waiting job. Slurm's own rules also apply;
// for instance, users cannot raise a time limit.
func Update(id string, c job.Change, now Current, s Site) ([]string, error) {
	if err := c.Err(); err != nil {
		return nil, usage(words.Error(err))
	}
	u := change{asked: c, words: []string{"update", "JobId=" + id}, now: now.Comment, before: now, site: s}
	for _, r := range fixed {
		if r.asked(&u) {
			u.refused = append(u.refused, r.Why+" ("+r.Option+")")
		}
	}
	u.needs(&c)
	u.life(&c)
	u.setLabel(&c)
	if len(u.refused) > 0 {
		return nil, &api.Error{Code: api.CodeNever, Message: "on Slurm: " + strings.Join(u.refused, "; "),
			Hint: submitAgain}
	}
	return u.words, nil
}

// submitAgain is the hint for a change that is not possible.
const submitAgain = "cancel the job and submit it again"

// These are the options of a job that cannot be changed after its submission.
var fixed = []struct {
	Gap
	asked func(u *change) bool
}{
	{Gap{"--gpus 0.5", "the part of a GPU that a job has can't be changed", submitAgain}, (*change).ofPart},
	{Gap{"--gpu-mem", "the GPU memory of a job can't be changed", submitAgain},
		func(u *change) bool { return u.asked.GPUMemBytes != nil }},
	{Gap{"--preemptible", "the partition and the QOS decide which jobs are stopped for others", submitAgain},
		func(u *change) bool { return u.asked.Preemptible != nil }},
	{Gap{"--retries", "a job's script does its retries and can't be changed", submitAgain},
		func(u *change) bool { return u.asked.Retries != nil }},
	{Gap{"--lane", "the lane of a job can't be changed", submitAgain},
		func(u *change) bool { return u.asked.Lane != nil }},
	{Gap{"--max-failures", "Slurm does not stop an array after some failures", "cancel the array when that is enough"},
		func(u *change) bool { return u.asked.MaxFailures != nil }},
}

// UpdateGaps returns the options that update cannot change on Slurm. The caller owns the slice.
func UpdateGaps() (list []Gap) {
	for _, f := range fixed {
		list = append(list, f.Gap)
	}
	return list
}

// A change translates one update.
type change struct {
	asked   job.Change
	words   []string
	now     CommentData
	before  Current
	site    Site
	refused []string
}

func (u *change) set(key, value string) { u.words = append(u.words, key+"="+value) }

func (u *change) needs(c *job.Change) {
	if c.GPUMilli != nil {
		u.setGPUs(*c.GPUMilli)
	}
	if c.MemBytes != nil {
		u.set("MinMemoryNode", slurm.Megabytes(*c.MemBytes))
	}
	if c.CPUs != nil {
		u.set("NumCPUs", strconv.Itoa(max(*c.CPUs, 1)))
		u.set("CPUsPerTask", strconv.Itoa(max(*c.CPUs, 1)))
	}
	switch {
	case c.TimeLimit == nil:
	case *c.TimeLimit == 0:
		u.set("TimeLimit", "UNLIMITED")
	default:
		u.set("TimeLimit", slurm.Span(c.TimeLimit.Duration()))
	}
}

// ofPart reports whether the job has a part of a GPU, or would have one after the update.
func (u *change) ofPart() bool {
	return u.asked.GPUMilli != nil && (*u.asked.GPUMilli%job.WholeGPU != 0 || u.now.GPUMilli > 0)
}

// setGPUs changes the number of whole GPUs. Since 23.11 Slurm writes "gres/" with a slash.
func (u *change) setGPUs(milli int) {
	form := "gres:gpu:"
	if u.site.Version.Since(23, 11) {
		form = "gres/gpu:"
	}
	u.set("TresPerNode", form+typed(u.before.GPUType)+strconv.Itoa(milli/job.WholeGPU))
}

func (u *change) life(c *job.Change) {
	if c.Priority != nil {
		u.priority(*c.Priority)
	}
	switch {
	case c.Begin == nil:
	case c.Begin.IsZero():
		u.set("StartTime", "now")
	default:
		u.set("StartTime", slurm.Moment(*c.Begin))
	}
	if c.After != nil {
		u.set("Dependency", slurm.Dependencies(*c.After))
	}
	if c.ArrayLimit != nil {
		u.set("ArrayTaskThrottle", strconv.Itoa(*c.ArrayLimit))
	}
}

func (u *change) priority(p job.Priority) {
	if p.Class != job.Normal && u.site.allowsClass(p.Class) {
		u.set("QOS", p.Class.String())
		u.set("Nice", "0")
		u.now.Priority = job.Priority{}
		return
	}
	nice, refusal := Nice(p, u.site)
	if refusal != "" {
		u.refused = append(u.refused, refusal)
		return
	}
	if p, err := job.ParsePriority(u.before.QOS); err == nil && p.Class != job.Normal {
		u.set("QOS", u.before.DefaultQOS) // replaces the QOS of the old class; 24.11 ignores an empty QOS
	}
	u.set("Nice", strconv.Itoa(nice))
	u.now.Priority = p
}

// setLabel changes the name and the comment. The comment also contains the rest of CommentData.
func (u *change) setLabel(c *job.Change) {
	if c.Name != nil {
		u.set("JobName", *c.Name)
	}
	before := u.now
	if c.Comment != nil {
		before.Comment = *c.Comment
	}
	if c.Comment != nil || c.Priority != nil {
		u.set("Comment", before.String())
	}
}
