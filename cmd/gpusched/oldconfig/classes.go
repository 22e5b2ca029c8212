package oldconfig

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// classOf maps each QOS to a class. If the QOS has the name of a class, it becomes that class. If
// other QOS may preempt it, it becomes scavenger. All others are compared with the default QOS by
// priority.
func (a *accounts) classOf() map[string]job.Class {
	of, preempted := map[string]job.Class{}, map[string]bool{}
	base := a.defaultQOS()
	for _, q := range a.qos {
		for name := range strings.SplitSeq(q["preempt"], ",") {
			preempted[name] = name != ""
		}
	}
	level := a.priority(base)
	for _, q := range a.qos {
		name := q["name"]
		p := numberOrZero(q["priority"])
		var c job.Class
		switch {
		case c.UnmarshalText([]byte(name)) == nil:
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

// defaultQOS returns the QOS of a job that names none: the default of most accounts, or "normal".
func (a *accounts) defaultQOS() string {
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
			return numberOrZero(q["priority"])
		}
	}
	return 0
}

func numberOrZero(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// mayRaise reports whether most accounts may ask for a class above normal.
func (a *accounts) mayRaise(of map[string]job.Class) bool {
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

// classes writes the sections for classes. It notes which class each QOS became.
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
		p.noteLimits(q, c)
	}
	for _, c := range slices.Backward(job.Classes()) {
		if times[c] != "" {
			p.section("class."+c.String(), "max_time = "+times[c])
		}
	}
	if p.a.mayRaise(of) {
		p.section("jobs", "allow_raised_priority = true")
	}
}

// noteLimits notes limits of a QOS that a class does not support.
func (p *page) noteLimits(q record, c job.Class) {
	const keys = "grptres grpjobs grpsubmit grpwall grptresmins grptresrunmins maxtres maxtrespernode maxtresmins " +
		"maxtrespa maxjobspa maxsubmitpa mintres usagethres gracetime"
	for key := range strings.FieldsSeq(keys) {
		if v := q[key]; v != "" && v != "00:00:00" {
			p.say("QOS %s: %s=%s: a class has no limit but a time", q["name"], spelling(key), v)
		}
	}
	if c == job.Normal {
		return // the default quota has the default QOS's bounds per user
	}
	for _, key := range []string{"maxtrespu", "maxjobspu", "maxsubmitpu"} {
		if v := q[key]; v != "" {
			p.say("QOS %s: %s=%s: quotas count the jobs of all classes together", q["name"], spelling(key), v)
		}
	}
}
