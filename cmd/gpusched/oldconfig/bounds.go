package oldconfig

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// bounds maps the keys of a quota section to their values in TOML.
type bounds map[string]string

// quotaKeys lists the keys of a quota section in order.
var quotaKeys = []string{"gpus", "jobs", "mem", "cpus", "queued", "gpu_hours", "share"}

// defaultOf returns the value that a missing key means.
func defaultOf(key string) string {
	if key == "share" {
		return "1"
	}
	return `"none"`
}

// value returns the value of a key, which may be missing.
func (b bounds) value(key string) string {
	if v, ok := b[key]; ok {
		return v
	}
	return defaultOf(key)
}

// tres parses a list such as cpu=4,mem=100G,gres/gpu=2.
func tres(text string) map[string]string {
	list := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		if name, amount, ok := strings.Cut(item, "="); ok {
			list[strings.ToLower(name)] = amount
		}
	}
	return list
}

// limit parses one of Slurm's limits. If the number is negative or missing, the second result is
// false.
func limit(text string) (n int64, bound bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n >= 0
}

// smallest returns the smallest of the limits that have these keys.
func (r record) smallest(keys ...string) (n int64, bound bool) {
	for _, key := range keys {
		if m, ok := limit(r[key]); ok && (!bound || m < n) {
			n, bound = m, true
		}
	}
	return n, bound
}

// A translation turns limits into bounds. It makes a note of limits that it can't translate.
type translation struct {
	out   bounds
	whose string
	note  func(format string, args ...any)
}

// setBound sets a bound if n is at least 1 and not larger than the limit.
func (t *translation) setBound(key string, n, limit int64) {
	switch {
	case n == 0:
		t.note("%s: a limit of zero (%s); remove the account from the groups that may use the machine", t.whose, key)
	case n <= limit:
		t.out[key] = strconv.FormatInt(n, 10)
	default:
		t.note("%s: %s of %d is above the highest limit that can be set here, so no limit is set", t.whose, key, n)
	}
}

// boundsOf translates the limits of an association.
func boundsOf(whose string, r record, note func(string, ...any)) bounds {
	t := &translation{bounds{}, whose, note}
	t.amounts(tres(r["grptres"]))
	if n, bound := r.smallest("grpjobs", "maxjobs"); bound {
		t.setBound("jobs", n, 100_000)
	}
	t.limitWaiting(r)
	t.hours(tres(r["grptresmins"]))
	t.share(r["fairshare"])
	for _, key := range []string{"maxtres", "maxtrespernode", "maxtresmins", "maxwall", "grpwall", "grptresrunmins"} {
		if v := r[key]; v != "" && strings.Trim(v, "-1,=abcdefghijklmnopqrstuvwxyz/") != "" {
			t.note("%s: %s=%s%s", whose, spelling(key), v, hints[key])
		}
	}
	return t.out
}

// spelling returns a limit's name as Slurm's manual writes it.
func spelling(key string) string {
	for part := range strings.FieldsSeq("TRES Grp Max Min Jobs Submit Wall Per Node Mins PU PA Run Grace Time Usage Thres") {
		key = strings.ReplaceAll(key, strings.ToLower(part), part)
	}
	return key
}

// hints say how to set a limit in gpusched instead.
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
			t.setBound("gpus", n, job.MaxGPUs)
		case name == "cpu":
			t.setBound("cpus", n, math.MaxInt32)
		default:
			t.note("%s: GrpTRES %s=%s", t.whose, name, amount)
		}
	}
}

// mem translates a limit on memory. A number without a unit is in MiB.
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

// limitWaiting translates the limit on waiting jobs. Slurm's limit also counts running jobs.
func (t *translation) limitWaiting(r record) {
	n, bound := r.smallest("grpsubmit", "maxsubmit")
	if !bound {
		return
	}
	if running, ok := r.smallest("grpjobs", "maxjobs"); ok && running < n {
		n -= running
	}
	t.setBound("queued", n, 1_000_000)
}

func (t *translation) hours(list map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		n, bound := limit(list[name])
		switch {
		case !bound:
		case name == "gres/gpu":
			t.setBound("gpu_hours", (n+59)/60, 10_000_000)
		default:
			t.note("%s: GrpTRESMins %s=%d", t.whose, name, n)
		}
	}
}

// asParent is the number that 'sacctmgr dump' of Slurm 22.05 writes for Fairshare=parent.
const asParent = math.MaxInt32

func (t *translation) share(text string) {
	n, bound := limit(text)
	switch {
	case strings.EqualFold(text, "parent") || n == asParent:
		t.out["share"] = `"none"` // only groups can use this value
	case !bound || n == 1:
	case n > 1000:
		t.out["share"] = "1000"
		t.note("%s: a fair share of %d; the largest here is 1000, so divide all shares by the same number", t.whose, n)
	default:
		t.setBound("share", n, 1000)
	}
}

// changedKeys returns the keys whose values differ from those in the other bounds.
func (b bounds) changedKeys(base bounds) (list []string) {
	for _, key := range quotaKeys {
		if b.value(key) != base.value(key) {
			list = append(list, key)
		}
	}
	return list
}

// text returns all bounds as one text, which can be compared and sorted.
func (b bounds) text() string {
	return strings.Join(job.Each(quotaKeys, func(key string) string { return key + "=" + b.value(key) }), " ")
}
