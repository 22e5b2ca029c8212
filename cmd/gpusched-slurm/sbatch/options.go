package sbatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/job"
)

// add adds an option.
func (m *mapping) add(name, value string) { m.args = append(m.args, slurm.Word(name, value)) }

// addOptions adds the options that exist for both sbatch and srun.
func (m *mapping) addOptions() {
	m.refuseForeign()
	m.add("job-name", m.label.Name)
	m.add("chdir", m.p.Dir)
	m.add("export", "ALL")
	if text := m.commentData().String(); text != "" {
		m.add("comment", text)
	}
	m.addGPUs()
	if m.r.MemBytes > 0 {
		m.add("mem", slurm.Megabytes(m.r.MemBytes)+"M")
	}
	if m.r.CPUs > 0 {
		m.add("cpus-per-task", strconv.Itoa(m.r.CPUs))
	}
	if m.r.TimeLimit > 0 {
		m.add("time", slurm.Span(m.r.TimeLimit.Duration()))
	}
	m.addOrder()
	m.addMail()
	if !m.r.Begin.IsZero() {
		m.add("begin", slurm.Moment(m.r.Begin))
	}
	if m.r.Hold {
		m.add("hold", "")
	}
	if after := slices.DeleteFunc([]string{slurm.Dependencies(m.r.After), m.singleton}, isEmpty); len(after) > 0 {
		m.add("dependency", strings.Join(after, ","))
		m.add("kill-on-invalid-dep", "yes")
	}
	m.addWarning()
}

func isEmpty(s string) bool { return s == "" }

// addBatchOptions adds the options that only sbatch has.
func (m *mapping) addBatchOptions() {
	m.addOutput()
	if m.r.Array != nil {
		if last := m.r.Array.At(m.r.Array.Size() - 1); m.site.MaxArraySize > 0 && last >= m.site.MaxArraySize {
			m.refuse("a task has the number %d, but MaxArraySize in slurm.conf allows at most %d", last, m.site.MaxArraySize-1)
		}
		m.add("array", m.r.Array.Spec())
	}
	switch {
	case m.r.Retries > 0:
		m.add("requeue", "")
		if m.r.Requeue != nil && !*m.r.Requeue {
			m.note("a job that may be tried again (--retries) is queued again when its node fails, too")
		}
	case m.r.MayRequeue():
		m.add("requeue", "")
	case m.r.Requeue != nil:
		m.add("no-requeue", "")
	}
}

// mostWarning is the earliest warning that Slurm's
// --signal accepts, in seconds before the time limit.
const mostWarning = 65535

// addWarning adds the signal that warns of the time limit. "B:" sends the signal to the batch
// script, which becomes the command. Without "B:", Slurm would send it to all processes except the
// command.
func (m *mapping) addWarning() {
	if m.r.WarnSignal == 0 {
		return
	}
	before := wholeSeconds(m.r.WarnBefore)
	if before > mostWarning {
		m.refuse("--signal can be sent at most %d s before the limit", mostWarning)
	}
	if m.r.TimeLimit == 0 {
		m.note("--signal is sent before the partition's limit, since the job has none of its own (--time)")
	}
	m.add("signal", fmt.Sprintf("B:%d@%d", m.r.WarnSignal, before))
}

// addMail adds the part of --notify that Slurm can carry out.
func (m *mapping) addMail() {
	var on []string
	to := ""
	for _, n := range m.r.Notify {
		switch {
		case notByMail(n): // refuseForeign refuses this notification
			continue
		case len(on) > 0 && n.To != to:
			m.refuse("it sends mail about a job to one address only (--notify-to)")
			continue
		}
		to = n.To
		on = append(on, job.Each(n.On, slurm.MailEvent)...)
	}
	if len(on) == 0 {
		return
	}
	m.add("mail-type", strings.Join(on, ","))
	if to != "" {
		m.add("mail-user", to)
	}
}
