package alias

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A Machine is the data that sinfo shows about the machine.
type Machine struct {
	CPUs, GPUs, Busy int

	none bool // the filters match no node, so the partition is shown without one
}

// sinfoFormat is sinfo's default format.
const sinfoFormat = "%9P %.5a %.10l %.6D %.6t %N"

// A sinfoField is a column of sinfo.
type sinfoField struct {
	letter, title string
	of            func(Machine) string
}

func fixed(text string) func(Machine) string { return func(Machine) string { return text } }

// ofNode returns the function of a field. That function returns the given text if the filters match
// the node, and otherwise the fallback.
func ofNode(text, fallback string) func(Machine) string {
	return func(m Machine) string {
		if m.none {
			return fallback
		}
		return text
	}
}

var sinfoFields = []sinfoField{
	{"P", "PARTITION", fixed(partition + "*")}, {"R", "PARTITION", fixed(partition)}, {"a", "AVAIL", fixed("up")},
	{"l", "TIMELIMIT", fixed("infinite")}, {"L", "DEFAULTTIME", fixed("n/a")}, {"D", "NODES", ofNode("1", "0")},
	{"t", "STATE", Machine.state}, {"T", "STATE", Machine.longState}, {"N", "NODELIST", ofNode("localhost", "")},
	{"n", "HOSTNAMES", ofNode("localhost", "")}, {"o", "NODE_ADDR", ofNode("localhost", "")},
	{"c", "CPUS", func(m Machine) string { return strconv.Itoa(m.CPUs) }},
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
}

// options returns the options, which are stored in the view.
func (v *sinfoView) options() []option {
	without := func(word string, other *bool) func(*Call, string) error {
		return func(_ *Call, value string) error { *other = !slices.Contains(list(value), word); return nil }
	}
	return []option{
		{"-h --noheader", false, set(&v.bare)}, {"-o --format", true, store(&v.format)},
		{"-p --partition", true, without(partition, &v.otherPart)}, {"-n --nodes", true, without("localhost", &v.otherNode)},
		{"-t --states", true, func(c *Call, value string) error {
			v.states = append(v.states, list(value)...)
			return checkNodeStates(v.states)
		}},
		{"-M --clusters", true, ignore}, {"-N --Node", false, set(&v.byNode)}, {"-l --long", false, ignore},
		{"-a --all", false, ignore}, {"-s --summarize", false, ignore}, {"-e --exact", false, ignore}, {"-r --responding", false, ignore},
	}
}

func readSinfo(c *Call, t tool, args []string) error {
	v := &sinfoView{format: sinfoFormat}
	t.options = v.options()
	rest, err := t.parse(c, args, false)
	if err == nil && len(rest) > 0 {
		err = errors.New("one word too many: " + rest[0])
	}
	ofPartition := false
	if err == nil {
		_, err = sinfoLine(v.format, func(f sinfoField) string { ofPartition = ofPartition || f.title == "PARTITION"; return "" })
	}
	if err != nil {
		return err
	}
	c.Site = func(m Machine) (lines []string) {
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
			return "", fmt.Errorf("there is no %%%s here", letter)
		}
		b.WriteString(pad(text(sinfoFields[i]), q.width, q.right))
		format = rest
	}
}

// readScontrol handles the scontrol commands that scripts run inside a job or about a job.
func readScontrol(c *Call, t tool, args []string) error {
	oneLine := slices.Contains(args, "-o") || slices.Contains(args, "--oneliner")
	words := slices.DeleteFunc(slices.Clone(args), func(w string) bool {
		return slices.Contains([]string{"-o", "--oneliner", "-d", "-dd", "--details"}, w)
	})
	verb := strings.Join(words[:min(2, len(words))], " ")
	switch rest := words[min(2, len(words)):]; {
	case (verb == "show hostnames" || verb == "show hostname") && len(rest) <= 1:
		text := strings.Join(rest, "")
		if text == "" {
			text = c.nodes
		}
		names, err := slurm.Hostnames(text)
		c.Help = strings.Join(append(names, ""), "\n")
		return err
	case len(words) == 2 && slices.Contains([]string{"hold", "release", "suspend", "resume", "requeue"}, words[0]):
		c.add(words[0])
		c.add(list(jobName(words[1]))...)
		return nil
	case (verb == "show job" || verb == "show jobid") && len(rest) == 1:
		c.add("list", "--ended=10000", jobName(rest[0]))
		c.Table = func(jobs []api.Job, now time.Time) (lines []string) {
			for _, j := range jobs {
				lines = append(lines, jobDetails(j, now, oneLine)...)
			}
			return lines
		}
		return nil
	case verb == "show config" && len(rest) == 0:
		c.Help = fmt.Sprintf("MaxArraySize            = %d\nMinJobAge               = %d sec\nSLURM_VERSION           = %s\n",
			job.MaxTasks, int(minJobAge.Seconds()), strings.TrimPrefix(slurmVersion, "slurm "))
		return nil
	}
	return fmt.Errorf("%q is not known here: there are show hostnames LIST, show job ID, show config, "+
		"and hold, release, requeue, suspend and resume ID",
		strings.Join(args, " "))
}

// jobDetails formats the parts of 'scontrol show job' that programs read.
func jobDetails(j api.Job, now time.Time, oneLine bool) (lines []string) {
	of := func(name string) string {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name || f.title == name })
		return fields[i].of(j, now)
	}
	first := "JobId=" + j.ID.String()
	if j.Task != nil {
		first += fmt.Sprintf(" ArrayJobId=%d ArrayTaskId=%d", j.Task.Array, j.Task.Index)
	} else if j.Array != nil {
		first += " ArrayJobId=" + j.ID.String() + " ArrayTaskId=" + waitingTasks(j)
	}
	lines = []string{
		first + " JobName=" + of("JobName"),
		"UserId=" + of("User") + "(" + of("UID") + ") Account=" + of("Account") + " QOS=normal",
		"JobState=" + of("State") + " Reason=" + of("Reason") + " Dependency=(null)",
		"ExitCode=" + of("ExitCode"),
		"RunTime=" + of("Elapsed") + " TimeLimit=" + of("Timelimit"),
		"SubmitTime=" + of("Submit") + " StartTime=" + of("Start") + " EndTime=" + of("End"),
		"Partition=" + of("Partition") + " NodeList=" + of("NodeList") + " BatchHost=" + of("EXEC_HOST"),
		"NumNodes=1 NumCPUs=" + of("NCPUS") + " MinMemoryNode=" + of("ReqMem") + " TresPerNode=" + of("AllocGRES"),
		"Comment=" + of("Comment"),
	}
	if oneLine {
		return []string{strings.Join(lines, " ")}
	}
	for i := range lines[1:] {
		lines[i+1] = "   " + lines[i+1]
	}
	return append(lines, "")
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
