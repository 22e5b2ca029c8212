package oldconfig

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// bounds are the keys of a section of quotas, as TOML has their values.
type bounds map[string]string

// quotaKeys are those keys in their order.
var quotaKeys = []string{"gpus", "jobs", "mem", "cpus", "queued", "gpu_hours", "share"}

// unset is what a key means that is left out.
func unset(key string) string {
	if key == "share" {
		return "1"
	}
	return `"none"`
}

// value is that of a key, also where it is not there.
func (b bounds) value(key string) string {
	if v, ok := b[key]; ok {
		return v
	}
	return unset(key)
}

// tres reads a list such as cpu=4,mem=100G,gres/gpu=2.
func tres(text string) map[string]string {
	list := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		if name, amount, ok := strings.Cut(item, "="); ok {
			list[strings.ToLower(name)] = amount
		}
	}
	return list
}

// limit reads a number of Slurm's; what is less than 0, or none, is no bound.
func limit(text string) (n int64, bound bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n >= 0
}

// least is the smallest of some limits.
func (r record) least(keys ...string) (n int64, bound bool) {
	for _, key := range keys {
		if m, ok := limit(r[key]); ok && (!bound || m < n) {
			n, bound = m, true
		}
	}
	return n, bound
}

// translation makes bounds of limits, and notes what it can't say.
type translation struct {
	out   bounds
	whose string
	note  func(format string, args ...any)
}

// put has a bound that ours has room for, from 1 to most.
func (t *translation) put(key string, n, most int64) {
	switch {
	case n == 0:
		t.note("%s: a bound of none at all (%s); take the account out of the groups that may use the machine", t.whose, key)
	case n <= most:
		t.out[key] = strconv.FormatInt(n, 10)
	default:
		t.note("%s: %s of %d, which is more than there can be, and is no bound here", t.whose, key, n)
	}
}

// boundsOf translates the limits of an association.
func boundsOf(whose string, r record, note func(string, ...any)) bounds {
	t := &translation{bounds{}, whose, note}
	t.amounts(tres(r["grptres"]))
	if n, bound := r.least("grpjobs", "maxjobs"); bound {
		t.put("jobs", n, 100_000)
	}
	t.waiting(r)
	t.hours(tres(r["grptresmins"]))
	t.share(r["fairshare"])
	for _, key := range []string{"maxtres", "maxtrespernode", "maxtresmins", "maxwall", "grpwall", "grptresrunmins"} {
		if v := r[key]; v != "" && strings.Trim(v, "-1,=abcdefghijklmnopqrstuvwxyz/") != "" {
			t.note("%s: %s=%s%s", whose, spelling(key), v, hints[key])
		}
	}
	return t.out
}

// spelling is a limit as Slurm's manual writes it.
func spelling(key string) string {
	for part := range strings.FieldsSeq("TRES Grp Max Min Jobs Submit Wall Per Node Mins PU PA Run Grace Time Usage Thres") {
		key = strings.ReplaceAll(key, strings.ToLower(part), part)
	}
	return key
}

// hints say where a limit would be here.
var hints = map[string]string{
	"maxwall":     ": the time of a job is bounded by class (class.NAME.max_time) and for all (jobs.max_time)",
	"maxtres":     ": of one job only memory and time are bounded here (jobs.max_mem, jobs.max_time)",
	"grpwall":     ": GPU-hours (quota.….gpu_hours) are counted here",
	"maxtresmins": ": of one job only memory and time are bounded here (jobs.max_mem, jobs.max_time)",
}

func (t *translation) amounts(list map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		amount := list[name]
		n, bound := limit(amount)
		switch {
		case name == "mem":
			t.mem(amount)
		case !bound:
		case name == "gres/gpu":
			t.put("gpus", n, job.MaxGPUs)
		case name == "cpu":
			t.put("cpus", n, math.MaxInt32)
		default:
			t.note("%s: GrpTRES %s=%s", t.whose, name, amount)
		}
	}
}

// mem is in MiB without a unit.
func (t *translation) mem(amount string) {
	if strings.Trim(amount, "0123456789") == "" {
		amount += "M"
	}
	n, err := job.ParseSize(amount)
	if err != nil || n <= 0 {
		if amount != "-1" {
			t.note("%s: GrpTRES mem=%s", t.whose, amount)
		}
		return
	}
	t.out["mem"] = text(job.FormatSize(n))
}

// waiting is the bound on waiting jobs: Slurm's counts those that run as well.
func (t *translation) waiting(r record) {
	n, bound := r.least("grpsubmit", "maxsubmit")
	if !bound {
		return
	}
	if running, ok := r.least("grpjobs", "maxjobs"); ok && running < n {
		n -= running
	}
	t.put("queued", n, 1_000_000)
}

func (t *translation) hours(list map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		n, bound := limit(list[name])
		switch {
		case !bound:
		case name == "gres/gpu":
			t.put("gpu_hours", (n+59)/60, 10_000_000)
		default:
			t.note("%s: GrpTRESMins %s=%d", t.whose, name, n)
		}
	}
}

// asParent is how 'sacctmgr dump' of 22.05 writes Fairshare=parent.
const asParent = math.MaxInt32

func (t *translation) share(text string) {
	n, bound := limit(text)
	switch {
	case strings.EqualFold(text, "parent") || n == asParent:
		t.out["share"] = `"none"` // where it is a group's
	case !bound || n == 1:
	case n > 1000:
		t.out["share"] = "1000"
		t.note("%s: a fair share of %d; the largest here is 1000, so divide them all alike", t.whose, n)
	default:
		t.put("share", n, 1000)
	}
}

// keys are those that differ from others.
func (b bounds) keys(from bounds) (list []string) {
	for _, key := range quotaKeys {
		if b.value(key) != from.value(key) {
			list = append(list, key)
		}
	}
	return list
}

// spelled is the whole of it, to compare and to order by.
func (b bounds) spelled() string {
	var parts []string
	for _, key := range quotaKeys {
		parts = append(parts, fmt.Sprintf("%s=%s", key, b.value(key)))
	}
	return strings.Join(parts, " ")
}
