package sbatch

import (
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Now is what a change of a job builds on.
type Now struct {
	Said    Said   // what its comment says (ParseSaid)
	GPUType string // of the gres that it asks; "" is any
	QOS     string // its quality of service
	Usual   string // that of its user's jobs that ask none; "" is whatever Slurm takes then
}

// Update is the words that follow "scontrol" for a change of a job that waits, which is as
// now says. Slurm's own rules hold for it, such as that a user may not raise a time limit.
func Update(id string, c job.Change, now Now, s Site) ([]string, error) {
	if err := c.Err(); err != nil {
		return nil, usage(words.Error(err))
	}
	u := change{words: []string{"update", "JobId=" + id}, now: now.Said, before: now, site: s}
	u.needs(&c)
	u.life(&c)
	u.label(&c)
	if len(u.refused) > 0 {
		return nil, &api.Error{Code: api.CodeNever, Message: "on Slurm: " + strings.Join(u.refused, "; "),
			Hint: "cancel the job and submit it again"}
	}
	return u.words, nil
}

// change is an update on its way into words for scontrol.
type change struct {
	words   []string
	now     Said
	before  Now
	site    Site
	refused []string
}

func (u *change) set(key, value string) { u.words = append(u.words, key+"="+value) }

func (u *change) needs(c *job.Change) {
	if c.GPUMilli != nil {
		u.gpus(*c.GPUMilli)
	}
	if c.GPUMemBytes != nil {
		u.refused = append(u.refused, "the GPU memory of a job can't be changed (--gpu-mem)")
	}
	if c.MemBytes != nil {
		u.set("MinMemoryNode", strconv.FormatInt(mebibytes(*c.MemBytes), 10))
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
		u.set("TimeLimit", Time(c.TimeLimit.Duration()))
	}
}

// gpus changes a number of whole GPUs. Releases since 23.11 write them with a slash.
func (u *change) gpus(milli int) {
	if milli%job.WholeGPU != 0 || u.now.GPUMilli > 0 {
		u.refused = append(u.refused, "a part of a GPU can't be changed (--gpus)")
		return
	}
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
	if c.Preemptible != nil {
		u.refused = append(u.refused, "the partition and the quality of service decide which jobs are stopped for others (--preemptible)")
	}
	if c.Retries != nil {
		u.refused = append(u.refused, "the script of a job does its retries and can't be changed (--retries)")
	}
	if c.MaxFailures != nil {
		u.refused = append(u.refused, "it does not stop an array after some failures (--max-failures)")
	}
	switch {
	case c.Begin == nil:
	case c.Begin.IsZero():
		u.set("StartTime", "now")
	default:
		u.set("StartTime", Moment(*c.Begin))
	}
	if c.After != nil {
		u.set("Dependency", Dependencies(*c.After))
	}
	if c.ArrayLimit != nil {
		u.set("ArrayTaskThrottle", strconv.Itoa(*c.ArrayLimit))
	}
}

func (u *change) priority(p job.Priority) {
	if p.Class != job.Normal && u.site.has(p.Class) {
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
		u.set("QOS", u.before.Usual) // that of a class before; 24.11 takes no empty one
	}
	u.set("Nice", strconv.Itoa(nice))
	u.now.Priority = p
}

// label changes what is for people. The comment has the rest of what was said as well.
func (u *change) label(c *job.Change) {
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
