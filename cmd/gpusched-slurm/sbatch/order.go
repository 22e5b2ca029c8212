package sbatch

import (
	"strconv"

	"github.com/gpusched/gpusched/daemon/job"
)

// niceOf is the nice value of a class for which there is no QOS of the same name. The values are
// far above usual nice values, because each site decides how much the parts of a priority weigh.
var niceOf = map[job.Class]int{job.Low: 10_000, job.Scavenger: 1_000_000}

// addOrder adds the job's priority, and whether other jobs may preempt it.
func (m *mapping) addOrder() {
	p := m.r.Priority
	class := p.Class
	if m.r.Preemptible && class == job.Normal && m.site.allowsClass(job.Scavenger) {
		class = job.Scavenger
	}
	if m.r.Preemptible && class != job.Scavenger {
		m.noteGap(otherPreemptible)
	}
	if class != job.Normal && m.site.allowsClass(class) {
		m.add("qos", class.String())
		return
	}
	nice, err := Nice(job.Priority{Class: class, Number: p.Number}, m.site)
	switch {
	case err != "":
		m.refuse("%s", err)
	case nice != 0:
		m.add("nice", strconv.Itoa(nice))
	}
}

// Nice converts a priority to Slurm's nice value, which lowers a job's rank. If the priority is
// refused, it returns the reason.
func Nice(p job.Priority, s Site) (nice int, refusal string) {
	switch {
	case p.Class > job.Normal:
		return 0, "the class " + p.Class.String() + " needs a quality of service (QOS) of that name, and you have none: see 'sacctmgr show qos'"
	case p.Number > 0 && !s.Admin:
		return 0, "only Slurm's administrators may raise a priority above normal (a negative --nice)"
	}
	return niceOf[p.Class] - p.Number, ""
}
