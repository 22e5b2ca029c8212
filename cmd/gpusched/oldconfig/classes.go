package oldconfig

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// classOf maps the QOS to classes: by their names where these are ours, else by what they
// do. One that others may preempt is scavenger; the rest go by their priority against that
// of normal, or of the one that most accounts have by default.
func (a *accounts) classOf() map[string]job.Class {
	of, preempted := map[string]job.Class{}, map[string]bool{}
	base := a.usual()
	for _, q := range a.qos {
		for name := range strings.SplitSeq(q["preempt"], ",") {
			preempted[name] = name != ""
		}
	}
	level := a.priority(base)
	for _, q := range a.qos {
		name := q["name"]
		p := number0(q["priority"])
		c, ours := classNamed(name)
		switch {
		case ours:
			of[name] = c
		case preempted[name]:
			of[name] = job.Scavenger
		case name == base || p == level:
			of[name] = job.Normal
		case p > level:
			of[name] = job.High
		default:
			of[name] = job.Low
		}
	}
	return of
}

// classNamed is the class of a name.
func classNamed(name string) (job.Class, bool) {
	for _, c := range job.Classes() {
		if c.String() == name {
			return c, true
		}
	}
	return job.Normal, false
}

// usual is the QOS of jobs that name none.
func (a *accounts) usual() string {
	count := map[string]int{}
	for _, x := range a.associations {
		if def := x.limits["defqos"]; def != "" {
			count[def]++
		}
	}
	best := "normal"
	for _, q := range a.qos {
		if name := q["name"]; count[name] > count[best] {
			best = name
		}
	}
	return best
}

func (a *accounts) priority(name string) int64 {
	for _, q := range a.qos {
		if q["name"] == name {
			return number0(q["priority"])
		}
	}
	return 0
}

func number0(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// raised reports whether most accounts may ask for more than normal.
func (a *accounts) raised(of map[string]job.Class) bool {
	may, all := 0, 0
	for _, x := range a.associations {
		if x.account == "root" || x.user == "root" || x.limits["qos"] == "" {
			continue
		}
		all++
		for name := range strings.SplitSeq(x.limits["qos"], ",") {
			if c, known := of[name]; known && c > job.Normal {
				may++
				break
			}
		}
	}
	return 2*may > all
}

// classes writes the sections of classes, and says which QOS is which.
func (p *page) classes() {
	of := p.a.classOf()
	times := map[job.Class]string{}
	for _, q := range p.a.qos {
		name, c := q["name"], of[q["name"]]
		if name != c.String() {
			p.say("QOS %s is class %s here (--priority %s)", name, c, c)
		}
		if wall := q["maxwall"]; wall != "" {
			if d, err := slurmTime(wall); err == nil && d != "" && times[c] == "" {
				times[c] = d
			} else if err != nil || d != times[c] {
				p.say("QOS %s: MaxWall=%s", name, wall)
			}
		}
		p.unequal(q, c)
	}
	for _, c := range slices.Backward(job.Classes()) {
		if times[c] != "" {
			p.section("class."+c.String(), "max_time = "+times[c])
		}
	}
	if p.a.raised(of) {
		p.section("jobs", "allow_raised_priority = true")
	}
}

// unequal names what a QOS has besides.
func (p *page) unequal(q record, c job.Class) {
	const keys = "grptres grpjobs grpsubmit grpwall grptresmins grptresrunmins maxtres maxtrespernode maxtresmins " +
		"maxtrespa maxjobspa maxsubmitpa mintres usagethres gracetime"
	for key := range strings.FieldsSeq(keys) {
		if v := q[key]; v != "" && v != "00:00:00" {
			p.say("QOS %s: %s=%s: a class has no bounds but a time", q["name"], spelling(key), v)
		}
	}
	if c == job.Normal {
		return // its bounds per user are the default quota
	}
	for _, key := range []string{"maxtrespu", "maxjobspu", "maxsubmitpu"} {
		if v := q[key]; v != "" {
			p.say("QOS %s: %s=%s: quotas count the jobs of all classes together", q["name"], spelling(key), v)
		}
	}
}
