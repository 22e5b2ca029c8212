package sbatch

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// A Gap is an option that Slurm does not have, or that has another meaning there.
type Gap struct {
	Option string // as users type it; several options are separated by commas
	Why    string // a sentence without its full stop
	Next   string // alternative; "" means that the option is not refused
}

// text returns the text of the refusal.
func (g Gap) text() string { return g.Why + ": " + g.Next + " (" + g.Option + ")" }

// refusals are the options of a new job that only a scheduler of one machine can carry out.
var refusals = []struct {
	Gap
	asked func(r *job.Request) bool
}{
	{Gap{"--gpu-ids, --gpus-from, --exclude-gpus", "Slurm chooses the GPUs itself", "give their type (--gpu-type) instead of numbers"},
		func(r *job.Request) bool { return len(r.GPUIDs)+len(r.GPUsFrom)+len(r.ExcludeGPUs) > 0 }},
	{Gap{"-g 1.5", "a job has whole GPUs or a part of one there", "ask for whole GPUs, or for less than one"},
		func(r *job.Request) bool { return r.Part() > 0 && r.Whole() > 0 }},
	{Gap{"--max-load, --max-used", "Slurm does not look at what others run on a GPU", "leave them out"},
		func(r *job.Request) bool { return r.MaxLoadPercent+r.MaxUsedPercent > 0 }},
	{Gap{"--mps, --mps-fair", "gpusched serves MPS only on this machine", "leave them out, or use --on local"},
		func(r *job.Request) bool { return r.MPS || r.MPSFair }},
	{Gap{"--gpu-mem auto", "it needs the earlier runs in this machine's own queue", "say a size, such as --gpu-mem 20G"},
		func(r *job.Request) bool { return r.GPUMemBytes == job.AutoGPUMem }},
	{Gap{"--dedup", "it works only on this machine's own queue", "leave it out, or use --on local"},
		func(r *job.Request) bool { return r.Dedup != "" }},
	{Gap{"--objective, --batch", "they work only on this machine's own queue", "leave them out, or use --on local"},
		func(r *job.Request) bool { return r.Objective != "" || r.Batch != "" }},
	{Gap{"--lane", "Slurm knows only a lane of one with the job's own name (--dependency=singleton)",
		"leave it out, or give both the same name: --lane NAME --name NAME"},
		func(r *job.Request) bool { return r.Lane != "" }},
	{Gap{"--max-failures", "Slurm does not stop an array after some failures", "leave it out, and cancel the array when that is enough"},
		func(r *job.Request) bool { return r.MaxFailures > 0 }},
	{Gap{"--on-timeout requeue", "a job that meets its time limit ends there",
		"let the command save its work at --signal and end with an error, with --retries"},
		func(r *job.Request) bool { return r.OnTimeout == job.TimeoutRequeue }},
	{Gap{"--signal-to main", "Slurm sends SIGTERM to all processes of a job",
		"leave it out, or use --signal main:USR1@60s, which is for the command alone there"},
		func(r *job.Request) bool { return r.SignalTo != "" }},
	{Gap{"--screen", "a session of GNU screen would be on another machine", "use 'gpusched run --tty'"},
		func(r *job.Request) bool { return r.Screen }},
	{Gap{"--notify webhook:end, --notify terminal:end", "Slurm sends mail only", "use --notify mail:end, or leave it out"},
		func(r *job.Request) bool { return slices.ContainsFunc(r.Notify, notByMail) }},
}

// notByMail reports whether a notification is not sent by mail.
func notByMail(n job.Notify) bool { return n.Way != "" && n.Way != job.NotifyMail }

// otherImage is refused. It is part of what the job runs.
var otherImage = Gap{"--image", "Slurm itself runs no images",
	"run the engine as the command, such as apptainer exec --nv IMAGE, or use the site's own option (pyxis: srun --container-image)"}

// otherSnapshot is refused, too.
var otherSnapshot = Gap{"--snapshot", "nothing on Slurm would remove the copy when the job is forgotten",
	"leave it out, or submit from a copy of your own, such as one that git worktree makes"}

// Options with another meaning on Slurm.
var (
	otherGrace       = Gap{Option: "--grace", Why: "it is the same for all jobs there (KillWait in slurm.conf)"}
	otherSpread      = Gap{Option: "--spread", Why: "it has no effect: the site decides where parts of GPUs go"}
	otherPreemptible = Gap{Option: "--preemptible",
		Why: "it asks for the QOS scavenger, and has no effect where there is none: partition and QOS decide which jobs are stopped for others"}
	otherTruncate = Gap{Option: "--log-truncate", Why: "it empties the file at each start of the job"}
)

// Gaps returns the options of a new job that are refused, followed by those that have another
// meaning. The caller owns the slice.
func Gaps() (list []Gap) {
	for _, r := range refusals {
		list = append(list, r.Gap)
	}
	return append(list, otherImage, otherSnapshot, otherGrace, otherSpread, otherPreemptible, otherTruncate)
}

// refuseForeign refuses options that only a scheduler of one machine can carry out.
func (m *mapping) refuseForeign() {
	for _, r := range refusals {
		if r.asked(&m.r) {
			m.refuse("%s", r.text())
		}
	}
	if m.r.Backoff > 0 && m.r.Retries <= 0 {
		m.refuse("--backoff needs --retries: give both, or neither")
	}
	if grace := m.r.GraceTime(); grace > 0 && job.Span(m.site.KillWait) != grace {
		m.noteGap(otherGrace)
		if m.site.KillWait > 0 {
			m.notes[len(m.notes)-1] += ", which is " + job.Span(m.site.KillWait).String()
		}
	}
	if m.r.Spread && m.r.Part() > 0 {
		m.noteGap(otherSpread)
	}
}

// noteGap notes that an option has another meaning.
func (m *mapping) noteGap(g Gap) { m.note("%s: %s", g.Option, g.Why) }
