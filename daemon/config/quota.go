package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// QuotaGroups returns the names of the groups that have a quota, sorted.
func (c Config) QuotaGroups() []string { return slices.Sorted(maps.Keys(c.Quotas.Groups)) }

// quotaField is one key of the quota sections.
type quotaField struct {
	name, doc string
	value     func(*job.Quota) value
	inherit   func(to, from *job.Quota)
}

func quotaFields() []quotaField {
	return []quotaField{
		{"gpus", "GPUs of all running jobs together, such as 4 or 1.5. A part of a GPU counts as a whole GPU if the job chooses which one (--gpu-ids, --gpus-from, --exclude-gpus, --spread, --max-load, --max-used). Otherwise it counts as the larger of the part and of --gpu-mem as a part of the GPU's memory, and while the job is over its memory budget, by the memory that it uses. None: no bound.",
			func(q *job.Quota) value { return gpusOrNone(&q.GPUMilli) }, func(to, from *job.Quota) { to.GPUMilli = from.GPUMilli }},
		{"jobs", "Jobs running at once, including those without a GPU. None: no bound.",
			func(q *job.Quota) value { return numberOrNone(&q.Running, 1, 100_000) }, func(to, from *job.Quota) { to.Running = from.Running }},
		{"mem", "Host memory of all running jobs together (--mem): a size, or a percentage of what all jobs may have. A job that requests no memory never gets more by default. None: no bound.",
			func(q *job.Quota) value { return memOrNone(&q.Mem) }, func(to, from *job.Quota) { to.Mem = from.Mem }},
		{"cpus", "CPUs of all running jobs together (--cpus): a number, or a percentage of those that all jobs may have (jobs.cpus). A job that requests none does not wait for them. None: no bound.",
			func(q *job.Quota) value { return cpusOrNone(&q.CPUs) }, func(to, from *job.Quota) { to.CPUs = from.CPUs }},
		{"queued", "Jobs waiting at once. Further submissions are refused. None: no bound.",
			func(q *job.Quota) value { return numberOrNone(&q.Queued, 1, 1_000_000) }, func(to, from *job.Quota) { to.Queued = from.Queued }},
		{"gpu_hours", "Recent GPU-hours: usage counts half after scheduling.half_life, a quarter after twice that, and so on. Above the quota no further job with a GPU starts until usage has decayed enough. None: no bound.",
			func(q *job.Quota) value { return numberOrNone(&q.GPUHours, 1, 10_000_000) }, func(to, from *job.Quota) { to.GPUHours = from.GPUHours }},
		{"share", "Weight in fair share: a user with share 2 may use twice as much as a user with share 1 before their jobs go behind the other's.",
			func(q *job.Quota) value { return numberBetween(&q.Share, 1, 1000) }, func(to, from *job.Quota) { to.Share = from.Share }},
	}
}

func defaultQuotaKeys(section string) []key {
	var list []key
	for _, f := range quotaFields() {
		bind := func(c *Config) value { return f.value(&c.Quotas.Default) }
		k := key{section: section, name: f.name, doc: f.doc, bind: bind}
		if k.full() == defaultJobs {
			k.fallback, k.part = "jobs.max_running", "a quarter of"
			k.doc += " If it is not set, it is a quarter of jobs.max_running, at least 8, and always leaves a place for others."
		}
		list = append(list, k)
	}
	return list
}

// defaultJobs is the key of a quota that is computed from jobs.max_running unless the key is set.
const defaultJobs = "quota.default.jobs"

// jobsOf computes quota.default.jobs from jobs.max_running. It leaves at least one place for other users, if
// there is more than one place.
func jobsOf(maxRunning int) int { return max(1, min(max((maxRunning+3)/4, 8), maxRunning-1)) }

// userQuotaKeys returns the keys of one user's section. If the section leaves out a key,
// quota.default applies.
func userQuotaKeys(section, name string) []key {
	list := accountKeys(section, name, quotaFields(), func(q *job.Quotas) map[string]job.Quota { return q.Users })
	for i := range list {
		list[i].fallback = title("quota", "default") + "." + list[i].name
	}
	return list
}

// groupQuotaKeys returns the keys of one group's section. In fair share, a group counts only if it
// has a share.
func groupQuotaKeys(section, name string) []key {
	fields := quotaFields()
	for i := range fields {
		if f := &fields[i]; f.name == "share" {
			f.doc = "Weight of all members together in fair share: groups with a share and users in no such group divide the GPUs " +
				"first, then the members of a group among each other. None: members count as users in no group."
			f.value = func(q *job.Quota) value { return numberOrNone(&q.Share, 1, 1000) }
		}
	}
	return accountKeys(section, name, fields, func(q *job.Quotas) map[string]job.Quota { return q.Groups })
}

// accountKeys returns the keys of one account's section. The argument quotaMap returns the map with
// the account's quota.
func accountKeys(section, name string, fields []quotaField, quotaMap func(*job.Quotas) map[string]job.Quota) []key {
	var list []key
	for _, f := range fields {
		list = append(list, key{section: section, name: f.name, doc: f.doc, bind: func(c *Config) value {
			accounts := quotaMap(&c.Quotas)
			q := accounts[name]
			return entryValue{f.value(&q), func() { accounts[name] = q }}
		}})
	}
	return list
}

// An entryValue is part of a copy of a map's entry. After the value is parsed, store puts the copy
// back into the map.
type entryValue struct {
	value
	store func()
}

func (v entryValue) parse(raw any) error {
	if err := v.value.parse(raw); err != nil {
		return err
	}
	v.store()
	return nil
}

// inherit gives each user the default of every limit that the user's section leaves out. It also
// computes the default number of running jobs from maxRunning, unless a file sets this default.
func inherit(q *job.Quotas, origins Origins, maxRunning int) {
	if _, set := origins[defaultJobs]; !set {
		q.Default.Running = jobsOf(maxRunning)
	}
	for name, own := range q.Users {
		for _, f := range quotaFields() {
			if _, set := origins[title("quota", "user", name)+"."+f.name]; !set {
				f.inherit(&own, &q.Default)
			}
		}
		q.Users[name] = own
	}
}

// addQuota makes an entry for an account that has none.
func addQuota(accounts *map[string]job.Quota, name string) {
	if *accounts == nil {
		*accounts = map[string]job.Quota{}
	}
	if _, known := (*accounts)[name]; !known {
		(*accounts)[name] = job.Quota{}
	}
}

// accountName checks the form of a user's or group's name. It does not check that the account
// exists, because the account may be created later or come from a directory.
func accountName(name string) error {
	switch {
	case name == "" || len(name) > 256 || !job.Printable(name),
		strings.ContainsAny(name, ":,/") || strings.TrimSpace(name) != name || name[0] == '-':
		return fmt.Errorf("%s is not the name of an account", strconv.QuoteToASCII(name[:min(len(name), 80)]))
	case name == "NAME":
		return errors.New("NAME stands for the name of an account: write that")
	}
	return nil
}
