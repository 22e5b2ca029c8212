package sbatch

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// options are those that sbatch and srun share.
func (m *mapping) options() []string {
	m.refuseForeign()
	list := []string{"--job-name=" + m.label.Name, "--chdir=" + m.p.Dir, "--export=ALL"}
	if text := m.said().String(); text != "" {
		list = append(list, "--comment="+text)
	}
	list = append(list, m.gpuOptions()...)
	if m.r.MemBytes > 0 {
		list = append(list, "--mem="+strconv.FormatInt(mebibytes(m.r.MemBytes), 10)+"M")
	}
	if m.r.CPUs > 0 {
		list = append(list, "--cpus-per-task="+strconv.Itoa(m.r.CPUs))
	}
	if m.r.TimeLimit > 0 {
		list = append(list, "--time="+Time(m.r.TimeLimit.Duration()))
	}
	list = append(list, m.order()...)
	list = append(list, m.mail()...)
	if !m.r.Begin.IsZero() {
		list = append(list, "--begin="+Moment(m.r.Begin))
	}
	if m.r.Hold {
		list = append(list, "--hold")
	}
	if deps := Dependencies(m.r.After); deps != "" {
		list = append(list, "--dependency="+deps, "--kill-on-invalid-dep=yes")
	}
	return append(list, m.warning()...)
}

// batchOptions are those that sbatch alone has.
func (m *mapping) batchOptions() []string {
	list := m.output()
	if m.array != nil {
		if last := m.array.At(m.array.Size() - 1); m.site.MaxArraySize > 0 && last >= m.site.MaxArraySize {
			m.refuse("a task has the number %d, and MaxArraySize in slurm.conf lets %d be the highest", last, m.site.MaxArraySize-1)
		}
		list = append(list, "--array="+arrayText(m.array))
	}
	switch {
	case m.r.Retries > 0:
		list = append(list, "--requeue")
		if m.may != nil && !*m.may {
			m.note("a job that may be tried again (--retries) is queued again when its node fails, too")
		}
	case m.may != nil && *m.may:
		list = append(list, "--requeue")
	case m.may != nil:
		list = append(list, "--no-requeue")
	}
	return list
}

// arrayText is the whole of an array's numbers, of which Array.Spec shows the first.
func arrayText(a *job.Array) string {
	var b strings.Builder
	for i, r := range a.Ranges {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.First))
		if r.Last > r.First {
			fmt.Fprintf(&b, "-%d:%d", r.Last, r.Step)
		}
	}
	if a.Limit > 0 {
		fmt.Fprintf(&b, "%%%d", a.Limit)
	}
	return b.String()
}

// mebibytes rounds up, as Slurm counts memory in them.
func mebibytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// Time writes a length of time as Slurm reads it, days-hours:minutes:seconds, rounded up
// to seconds. Slurm itself goes on to minutes.
func Time(d time.Duration) string {
	d = (d + time.Second - 1).Truncate(time.Second)
	days := d / (24 * time.Hour)
	d -= days * 24 * time.Hour
	return fmt.Sprintf("%d-%02d:%02d:%02d", days, d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// Moment writes a point in time as Slurm reads it in every time zone.
func Moment(at time.Time) string { return "uts" + strconv.FormatInt(at.Unix(), 10) }

// dependencyWords are Slurm's for ours.
var dependencyWords = map[job.DependencyKind]string{
	job.AfterStart: "after", job.AfterOK: "afterok", job.AfterFail: "afternotok", job.AfterAny: "afterany",
}

// Dependencies writes what a job waits for, all of it, as "afterok:7:8,afterany:9"; "" is
// nothing.
func Dependencies(list []job.Dependency) string {
	var b strings.Builder
	last := job.DependencyKind("")
	for _, d := range list {
		switch {
		case d.Kind == last:
		case b.Len() > 0:
			b.WriteByte(',')
			fallthrough
		default:
			b.WriteString(dependencyWords[d.Kind])
		}
		last = d.Kind
		fmt.Fprintf(&b, ":%d", d.Job)
	}
	return b.String()
}

// mostWarning is the longest time before the limit that Slurm's --signal takes, in seconds.
const mostWarning = 65535

// warning is the signal before the time limit. It is for the command alone, which is what
// the script becomes: without "B:" that is what Slurm leaves out.
func (m *mapping) warning() []string {
	if m.r.WarnSignal == 0 {
		return nil
	}
	before := wholeSeconds(m.r.WarnBefore)
	if before > mostWarning {
		m.refuse("--signal can be sent at most %d s before the limit", mostWarning)
	}
	if m.r.TimeLimit == 0 {
		m.note("--signal is sent before the limit that the partition has, as the job has none of its own (--time)")
	}
	return []string{fmt.Sprintf("--signal=B:%d@%d", m.r.WarnSignal, before)}
}

// mail is what of --notify Slurm can do.
func (m *mapping) mail() []string {
	var on []string
	to := ""
	for _, n := range m.r.Notify {
		switch {
		case noMail(n): // refuseForeign says so
			continue
		case len(on) > 0 && n.To != to:
			m.refuse("it sends mail about a job to one address only (--notify-to)")
			continue
		}
		to = n.To
		for _, e := range n.On {
			on = append(on, map[job.NotifyEvent]string{job.NotifyStart: "BEGIN", job.NotifyEnd: "END", job.NotifyFail: "FAIL"}[e])
		}
	}
	if len(on) == 0 {
		return nil
	}
	list := []string{"--mail-type=" + strings.Join(on, ",")}
	if to != "" {
		list = append(list, "--mail-user="+to)
	}
	return list
}
