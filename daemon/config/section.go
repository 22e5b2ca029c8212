package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// section is a table of the file. If it has a placeholder, it is any number of tables whose paths
// differ only in the last name.
type section struct {
	path        []string // path of the table; for named tables, the path of the table above them
	placeholder string   // shown in place of the name; "" for a single table
	doc         string
	wrongName   func(string) error     // checks a name; nil: accountName
	allowed     []string               // the only possible names; nil: names of accounts
	example     string                 // a named table that the sample shows
	used        func(*Config) []string // the names in use, in the order of Show
	add         func(*Config, string)  // makes the table with a name if it does not exist
	keys        func(title, name string) []key
}

// sections returns the sections in the order of the file.
func sections() []section {
	return []section{
		{path: []string{"jobs"}, keys: jobKeys,
			doc: "Defaults and bounds of what jobs request."},
		classSection(),
		{path: []string{"scheduling"}, keys: schedulingKeys,
			doc: "The order in which jobs start. A higher class always goes before a lower one, and within a class a higher number."},
		{path: []string{"quota", "default"}, keys: func(title, _ string) []key { return defaultQuotaKeys(title) },
			doc: "What each user without a section of their own may have at one time. Jobs above the quota wait, and do not hold up those of others."},
		userSection(),
		groupSection(),
		laneSection(),
		{path: []string{"gpus"}, keys: gpuKeys,
			doc: "How GPUs are sampled, shared and checked."},
		{path: []string{"gpu_memory"}, keys: gpuMemoryKeys,
			doc: "What to do with a job that uses more memory of a shared GPU than its budget. The budget is what it requested with --gpu-mem, or else the part of the memory that belongs to its part of the GPU. A whole GPU comes with all of its memory."},
		{path: []string{"idle"}, keys: idleKeys,
			doc: "What to do with a job that has a GPU and does not use it."},
		{path: []string{"park"}, keys: parkKeys,
			doc: "Parking: the driver copies a job's GPU memory to the host's memory, and other jobs get its GPUs. The job keeps its processes, and goes on where it was when it has its GPUs again. See 'gpusched park --help-all'."},
		{path: []string{"notify"}, keys: notifyKeys,
			doc: "How messages about the start and end of jobs may be sent (--notify)."},
		webhookSection(),
		{path: []string{"containers"}, keys: containerKeys,
			doc: "Jobs whose command runs in a container (--image), see CONTAINERS in gpusched-admin(7)."},
		{path: []string{"xid"}, keys: xidKeys,
			doc: "What a GPU needs after each of the driver's error reports (Xids). An Xid that is in no list is recorded with the job that it hit, and changes nothing."},
		{path: []string{"limits"}, keys: limitKeys,
			doc: "What one user's clients may cost the daemon, so that a flood of requests does not affect other users."},
		{path: []string{"metrics"}, keys: metricsKeys,
			doc: "What monitoring systems see, see gpusched-metrics(1)."},
		{path: []string{"daemon"}, keys: daemonKeys,
			doc: "The daemon itself."},
	}
}

func classSection() section {
	return section{path: []string{"class"}, placeholder: "CLASS", allowed: classNames(),
		doc:     "Bounds for the jobs of one class, in addition to [jobs]: scavenger, low, normal, high or interactive.",
		example: "[class.interactive]\n  max_time = \"8h\"\n",
		used: func(c *Config) []string {
			return slices.DeleteFunc(classNames(), func(name string) bool {
				_, used := c.Classes[classOf(name)]
				return !used
			})
		},
		add: func(c *Config, name string) {
			if c.Classes == nil {
				c.Classes = map[job.Class]Class{}
			}
			c.Classes[classOf(name)] = c.Classes[classOf(name)]
		},
		keys: classKeys,
	}
}

func userSection() section {
	return section{path: []string{"quota", "user"}, placeholder: "NAME",
		doc:     "What one user may have, with the keys of [quota.default]. Keys that are left out have the value there.",
		example: "[quota.user.alice]\n  gpus = 4\n  jobs = \"none\"\n  mem = \"64G\"\n  cpus = \"none\"\n  queued = 1000\n  gpu_hours = 500\n  share = 2\n",
		used:    func(c *Config) []string { return slices.Sorted(maps.Keys(c.Quotas.Users)) },
		add:     func(c *Config, name string) { addQuota(&c.Quotas.Users, name) },
		keys:    userQuotaKeys,
	}
}

func groupSection() section {
	return section{path: []string{"quota", "group"}, placeholder: "NAME",
		doc:     "What all members of a group may have together, in addition to each one's own quota, with the keys of [quota.default]. Keys that are left out set no bound, and without a share the group does not count in fair share. Members are looked up at each submission, at a reload and before a job starts.",
		example: "[quota.group.students]\n  gpus = 1.5\n  jobs = 20\n  mem = \"50%\"\n  cpus = 24\n  queued = 5000\n  gpu_hours = 300\n  share = 3\n",
		used:    func(c *Config) []string { return slices.Sorted(maps.Keys(c.Quotas.Groups)) },
		add:     func(c *Config, name string) { addQuota(&c.Quotas.Groups, name) },
		keys:    groupQuotaKeys,
	}
}

// classNames returns the names of the classes, lowest class first.
func classNames() []string {
	var list []string
	for c := job.Scavenger; c <= job.Interactive; c++ {
		list = append(list, c.String())
	}
	return list
}

// classOf returns the class with a name from classNames.
func classOf(name string) job.Class {
	return job.Scavenger + job.Class(slices.Index(classNames(), name))
}

// name returns the section's name as people write it, with the placeholder.
func (s section) name() string {
	if s.placeholder == "" {
		return title(s.path...)
	}
	return title(append(slices.Clone(s.path), s.placeholder)...)
}

// keysOf returns the keys of the table with a name. For a section without placeholder, the name is
// "".
func (s section) keysOf(name string) []key {
	if s.placeholder == "" {
		return s.keys(title(s.path...), "")
	}
	return s.keys(title(append(slices.Clone(s.path), name)...), name)
}

// inUse returns the names of the section's tables in a Config. For a section without placeholder
// this is "".
func (s section) inUse(c *Config) []string {
	if s.placeholder == "" {
		return []string{""}
	}
	return s.used(c)
}

// checkName checks the name of a table.
func (s section) checkName(name string) error {
	switch {
	case s.placeholder == "" || s.allowed != nil:
		return nil
	case s.wrongName != nil:
		return s.wrongName(name)
	}
	return accountName(name)
}

// title returns the path of a table as TOML spells it.
func title(path ...string) string {
	parts := make([]string, len(path))
	for i, part := range path {
		parts[i] = part
		if strings.Trim(part, bareChars) != "" || part == "" {
			parts[i] = strconv.Quote(part)
		}
	}
	return strings.Join(parts, ".")
}

// bareChars has all characters of names that need no quotes.
const bareChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// find returns the section at a path, and the table's name if the section has a placeholder.
func find(path []string) (s section, name string, ok bool) {
	for _, s := range sections() {
		switch {
		case s.placeholder == "":
			if slices.Equal(path, s.path) {
				return s, "", true
			}
		case len(path) == len(s.path)+1 && hasPrefix(path, s.path):
			if name := path[len(s.path)]; s.allowed == nil || slices.Contains(s.allowed, name) {
				return s, name, true
			}
		}
	}
	return section{}, "", false
}

// leadsToSection reports whether there is a section at a path or below it.
func leadsToSection(path []string) bool {
	_, _, here := find(path)
	known, free := nextNames(path)
	return here || (path != nil && (len(known) > 0 || free))
}

// nextNames returns the names that may follow a path. If anyName is true, any other name may
// follow, too.
func nextNames(path []string) (known []string, anyName bool) {
	for _, s := range sections() {
		switch {
		case len(path) < len(s.path) && hasPrefix(s.path, path):
			known = append(known, s.path[len(path)])
		case s.placeholder != "" && slices.Equal(path, s.path):
			known, anyName = append(known, s.allowed...), anyName || s.allowed == nil
		}
	}
	return known, anyName
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// correctPath returns the path that was most likely meant, or nil if no known path is similar.
func correctPath(path []string) []string {
	var right []string
	for _, part := range path {
		known, free := nextNames(right)
		near := job.Nearest(part, known)
		if near == "" && free {
			near = part
		}
		if near == "" {
			return nil
		}
		right = append(right, near)
	}
	return right
}

// sectionNames returns the list of sections for messages.
func sectionNames() string {
	return strings.Join(job.Each(sections(), func(s section) string { return "[" + s.name() + "]" }), ", ")
}
