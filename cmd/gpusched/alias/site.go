package alias

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Machine is the data that sinfo shows about the machine.
type Machine struct {
	CPUs, GPUs, Busy int
	BusyCPUs         int   // that jobs have asked for
	MemBytes         int64 // of the machine

	node string // its name
	none bool   // the filters match no node, so the partition is shown without one
}

// sinfoFormat is sinfo's default format.
const sinfoFormat = "%9P %.5a %.10l %.6D %.6t %N"

// A sinfoField is a column of sinfo.
type sinfoField struct {
	letter, title string
	of            func(Machine) string
}

func fixed(text string) func(Machine) string { return func(Machine) string { return text } }

// count returns the number of nodes that the filters match.
func (m Machine) count() string {
	if m.none {
		return "0"
	}
	return "1"
}

var sinfoFields = []sinfoField{
	{"P", "PARTITION", fixed(partition + "*")}, {"R", "PARTITION", fixed(partition)}, {"a", "AVAIL", fixed("up")},
	{"l", "TIMELIMIT", fixed("infinite")}, {"L", "DEFAULTTIME", fixed("n/a")}, {"D", "NODES", Machine.count},
	{"t", "STATE", Machine.state}, {"T", "STATE", Machine.longState}, {"N", "NODELIST", func(m Machine) string { return m.node }},
	{"n", "HOSTNAMES", func(m Machine) string { return m.node }}, {"o", "NODE_ADDR", func(m Machine) string { return m.node }},
	{"c", "CPUS", func(m Machine) string { return strconv.Itoa(m.CPUs) }},
	{"m", "MEMORY", func(m Machine) string { return strconv.FormatInt(m.MemBytes>>20, 10) }},
	{"C", "CPUS(A/I/O/T)", func(m Machine) string {
		busy := min(m.BusyCPUs, m.CPUs)
		return fmt.Sprintf("%d/%d/0/%d", busy, m.CPUs-busy, m.CPUs)
	}},
	{"G", "GRES", func(m Machine) string { return gres(m.GPUs) }}, {"E", "REASON", fixed("none")},
	{"f", "AVAIL_FEATURES", fixed("(null)")},
}

func gres(gpus int) string {
	if gpus == 0 {
		return "(null)"
	}
	return "gpu:" + strconv.Itoa(gpus)
}

func (m Machine) state() string {
	switch {
	case m.none:
		return "n/a"
	case m.Busy == 0:
		return "idle"
	case m.Busy == m.GPUs:
		return "alloc"
	}
	return "mix"
}

func (m Machine) longState() string {
	long := map[string]string{"alloc": "allocated", "mix": "mixed"}
	return cmp.Or(long[m.state()], m.state())
}

// nodeStates are the node states that sinfo accepts. This machine is idle, mixed or allocated.
var nodeStates = strings.Fields(`all alloc allocated blocked comp completing down drain drained draining fail failing future
	idle inval maint mix mixed no_respond npc perfctrs planned power_down powered_down powering_down power_up powering_up
	reboot_issued reboot_requested resv reserved unk unknown`)

func checkNodeStates(words []string) error {
	for _, w := range words {
		if !slices.Contains(nodeStates, strings.ToLower(w)) {
			return fmt.Errorf("there is no state %q: there are %s", w, strings.Join(nodeStates, ", "))
		}
	}
	return nil
}

// A sinfoView holds sinfo's options.
type sinfoView struct {
	format               string
	bare, byNode         bool
	otherPart, otherNode bool // the filters leave the partition or the node out
	states               []string
	node                 string
}

// options returns the options, which are stored in the view.
func (v *sinfoView) options() []option {
	without := func(is func(string) bool, other *bool) func(*Call, string) error {
		return func(_ *Call, value string) error { *other = !slices.ContainsFunc(list(value), is); return nil }
	}
	return []option{
		{"-h --noheader", false, set(&v.bare)}, {"-o --format", true, store(&v.format)},
		{"-p --partition", true, without(func(w string) bool { return w == partition }, &v.otherPart)},
		{"-n --nodes", true, without(func(w string) bool { return isNode(w, v.node) }, &v.otherNode)},
		{"-t --states", true, func(c *Call, value string) error {
			v.states = append(v.states, list(value)...)
			return checkNodeStates(v.states)
		}},
		{"-M --clusters", true, ignore}, {"-N --Node", false, set(&v.byNode)}, {"-l --long", false, ignore},
		{"-a --all", false, ignore}, {"-s --summarize", false, ignore}, {"-e --exact", false, ignore}, {"-r --responding", false, ignore},
		{"-v --verbose", false, ignore}, {"-R --list-reasons", false, refused("'gpusched gpus -w' says why a GPU takes no jobs")},
		{"-O --Format", true, refused("use -o, as in sinfo -o '%P %N %c %G %t'")},
		{"-i --iterate", true, refused("it is shown once here: watch -n 5 sinfo")},
		{"--json", false, refused(otherJSON("gpus"))}, {"--yaml", false, refused(otherJSON("gpus"))},
	}
}

func readSinfo(c *Call, t tool, args []string) error {
	v := &sinfoView{format: sinfoFormat, node: c.node}
	t.options = v.options()
	err := t.parseOnly(c, args, "one word too many: %s")
	ofPartition := false
	if err == nil {
		_, err = sinfoLine(v.format, func(f sinfoField) string { ofPartition = ofPartition || f.title == "PARTITION"; return "" })
	}
	if err != nil {
		return err
	}
	c.Site = func(m Machine) (lines []string) {
		m.node = v.node
		if !v.bare {
			line, _ := sinfoLine(v.format, func(f sinfoField) string { return f.title })
			lines = append(lines, line)
		}
		if is := (state{m.state(), m.longState()}); v.otherNode || len(v.states) > 0 && !is.in(v.states) {
			m = Machine{none: true}
		}
		if !v.otherPart && (!m.none || ofPartition && !v.byNode) { // Slurm also shows partitions without a node
			line, _ := sinfoLine(v.format, func(f sinfoField) string { return f.of(m) })
			lines = append(lines, line)
		}
		return lines
	}
	return nil
}

// sinfoLine fills in one line of a sinfo format.
func sinfoLine(format string, text func(sinfoField) string) (string, error) {
	var b strings.Builder
	for {
		q, letter, rest, err := cutField(format)
		if err != nil {
			return "", err
		}
		b.WriteString(q.before)
		if letter == "" {
			return strings.TrimRight(b.String(), " "), nil
		}
		i := slices.IndexFunc(sinfoFields, func(f sinfoField) bool { return f.letter == letter })
		if i < 0 {
			known := ""
			for _, f := range sinfoFields {
				known += " %" + f.letter
			}
			return "", fmt.Errorf("there is no %%%s here: there are%s", letter, known)
		}
		b.WriteString(pad(text(sinfoFields[i]), q.width, q.right))
		format = rest
	}
}

func sacctmgrOptions(sep, after *string) []option {
	return []option{
		{"-n --noheader", false, ignore}, {"-p --parsable", false, func(*Call, string) error { *sep, *after = "|", "|"; return nil }},
		{"-P --parsable2", false, func(*Call, string) error { *sep = "|"; return nil }},
		{"-s --associations", false, ignore}, {"-i --immediate", false, ignore}, {"-r --readonly", false, ignore},
	}
}

// readSacctmgr handles queries for a user's account. In gpusched, each user has one account.
func readSacctmgr(c *Call, t tool, args []string) error {
	sep, after := " ", ""
	t.options = sacctmgrOptions(&sep, &after)
	rest, err := t.parse(c, args, false)
	if err != nil {
		return err
	}
	if len(rest) < 2 || rest[0] != "list" && rest[0] != "show" {
		return fmt.Errorf("%q is not known here: there are list user, association and cluster", strings.Join(rest, " "))
	}
	var columns []string
	who := ""
	for _, word := range rest[2:] {
		name, value, given := strings.Cut(word, "=")
		switch strings.ToLower(name) {
		case "format":
			for _, column := range list(value) {
				name, _, _ := strings.Cut(column, "%")
				columns = append(columns, strings.ToLower(name))
			}
		case "where", "account", "accounts", "cluster", "clusters":
		case "user", "users", "name", "names":
			if who = word; given {
				who = value
			}
		default:
			who = word
		}
	}
	if len(columns) == 0 {
		columns = []string{"user", "account"}
	}
	c.Account = func(caller string) string {
		if who == "" {
			who = caller
		}
		var cells []string
		for _, column := range columns {
			cells = append(cells, map[string]string{
				"user": who, "account": who, "defaultaccount": who, "cluster": "localhost", "partition": partition,
				"qos":        "normal",
				"defaultqos": "normal", "adminlevel": "None", "share": "1", "fairshare": "1",
			}[column])
		}
		return strings.Join(cells, sep) + after
	}
	return nil
}
