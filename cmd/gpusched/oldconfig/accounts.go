package oldconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// association is what Slurm's database says of an account, or of a user in one.
type association struct {
	cluster, account, parent, user string
	limits                         record
}

// record is a line of a table of sacctmgr's: values by the names of columns, in lower case
// and without blanks. What is empty is left out.
type record map[string]string

// place is what an association is of.
type place struct{ cluster, account, user string }

// accounts are what is known of a Slurm's database.
type accounts struct {
	associations []association
	at           map[place]int // in these
	qos          []record
	defaults     map[string]string // the default account of a user
	admins       []string
	left         []string // what was not read, for people
}

// columns have more than one name, by version and command.
var columns = map[string]string{
	"share": "fairshare", "rawshares": "fairshare", "parname": "parent", "parentname": "parent", "grpsubmitjobs": "grpsubmit", "maxsubmitjobs": "maxsubmit",
	"maxtresperjob": "maxtres", "maxwalldurationperjob": "maxwall", "maxwallduration": "maxwall", "maxwallperjob": "maxwall",
	"maxtresperuser": "maxtrespu", "maxjobsperuser": "maxjobspu", "maxsubmitjobsperuser": "maxsubmitpu", "maxsubmitjobspu": "maxsubmitpu",
	"grptresmin": "grptresmins", "maxtresminsperjob": "maxtresmins", "maxtresminspj": "maxtresmins", "defaultaccount": "defacct", "adminlevel": "admin",
	"defaultqos": "defqos", "maxtrespj": "maxtres",
}

func column(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), " ", "")
	if same, ok := columns[name]; ok {
		return same
	}
	return name
}

// IsAccounts reports whether a text is what 'sacctmgr -P show assoc' (or qos, or user) prints, or
// what 'sacctmgr dump' writes.
func IsAccounts(text string) bool {
	for line := range strings.Lines(text) {
		if _, _, ok := dumped(strings.TrimSpace(line)); ok || tableOf(heading(line)) != "" {
			return true
		}
	}
	return false
}

// heading are the columns of a line, if it is one of names.
func heading(line string) (names []string) {
	if !strings.Contains(line, "|") {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimSpace(line), "|") {
		names = append(names, column(name))
	}
	return names
}

// tableOf is which table has some columns: assoc, qos, user or "".
func tableOf(names []string) string {
	has := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(name string) bool { return !slices.Contains(names, name) })
	}
	switch {
	case has("account", "user"):
		return "assoc"
	case has("name", "priority"):
		return "qos"
	case has("user", "defacct"), has("user", "admin"):
		return "user"
	}
	return ""
}

// readAccounts reads tables, one after the other, or a dump.
func readAccounts(text string) (*accounts, error) {
	a := &accounts{at: map[place]int{}, defaults: map[string]string{}}
	var names []string
	cluster, parent := "", ""
	for raw := range strings.Lines(text) {
		line := strings.TrimRight(raw, "\r\n")
		if heads := heading(line); tableOf(heads) != "" {
			names = heads
			continue
		}
		if what, rest, ok := dumped(strings.TrimSpace(line)); ok {
			name, limits := dumpedLine(rest)
			switch what {
			case "Cluster":
				cluster = name
			case "Parent":
				parent = name
			case "Account":
				a.add(association{cluster: cluster, account: name, parent: parent, limits: limits})
			case "User":
				a.add(association{cluster: cluster, account: parent, user: name, limits: limits})
				a.person(name, limits)
			}
			continue
		}
		if names != nil && strings.Contains(line, "|") {
			a.row(names, strings.Split(line, "|"))
		}
	}
	if len(a.associations)+len(a.qos) == 0 {
		return nil, errors.New("there is no account and no QOS in it: it has what 'sacctmgr -P show assoc' prints (and qos, and user), or 'sacctmgr dump' writes")
	}
	return a, nil
}

// row takes in a line of a table.
func (a *accounts) row(names, values []string) {
	r := record{}
	for i, name := range names {
		if i < len(values) && values[i] != "" {
			r[name] = clean(values[i])
		}
	}
	switch tableOf(names) {
	case "qos":
		a.qos = append(a.qos, r)
	case "user":
		a.person(r["user"], r)
	default:
		if r["partition"] != "" {
			a.left = append(a.left, fmt.Sprintf("what user %s may on partition %s alone: there are no partitions here", r["user"], r["partition"]))
			return
		}
		a.add(association{cluster: r["cluster"], account: r["account"], parent: r["parent"], user: r["user"], limits: r})
	}
}

// add takes in an association; of one that another table has as well, what that leaves out.
func (a *accounts) add(x association) {
	of := place{x.cluster, x.account, x.user}
	i, known := a.at[of]
	if !known {
		a.at[of] = len(a.associations)
		a.associations = append(a.associations, x)
		return
	}
	was := &a.associations[i]
	was.parent = cmp.Or(was.parent, x.parent)
	for key, value := range x.limits {
		if was.limits[key] == "" {
			was.limits[key] = value
		}
	}
}

// person takes in what is said of a user as such.
func (a *accounts) person(name string, r record) {
	if name == "" {
		return
	}
	if def := r["defacct"]; def != "" {
		a.defaults[name] = def
	}
	admin := strings.HasPrefix(strings.ToLower(r["admin"]), "admin")
	if admin && name != "root" && !slices.Contains(a.admins, name) {
		a.admins = append(a.admins, name)
	}
}

// dumped cuts a line such as User - 'alice':Fairshare=2.
func dumped(line string) (what, rest string, ok bool) {
	what, rest, ok = strings.Cut(line, " - ")
	return what, rest, ok && slices.Contains([]string{"Cluster", "Parent", "Account", "User"}, what) && strings.HasPrefix(rest, "'")
}

// dumpedLine reads 'NAME':KEY=VALUE:KEY='VALUE'…
func dumpedLine(text string) (name string, limits record) {
	limits = record{}
	for i, part := range unquotedSplit(text, ':') {
		part = clean(strings.ReplaceAll(part, "'", ""))
		if key, value, ok := strings.Cut(part, "="); i == 0 {
			name = part
		} else if ok && value != "" {
			limits[column(key)] = value
		}
	}
	return name, limits
}

// unquotedSplit cuts a text at each sep that is in no quotes.
func unquotedSplit(text string, sep rune) (parts []string) {
	quoted, from := false, 0
	for i, r := range text {
		if r == '\'' {
			quoted = !quoted
		} else if r == sep && !quoted {
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// clean is a text without what could be more than text in a comment.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(s), "?"))
}

// oneCluster keeps the associations of the first cluster.
func (a *accounts) oneCluster() {
	if len(a.associations) == 0 {
		return
	}
	first := a.associations[0].cluster
	var others []string
	a.at = nil // they move
	a.associations = slices.DeleteFunc(a.associations, func(x association) bool {
		if x.cluster != first && !slices.Contains(others, x.cluster) {
			others = append(others, x.cluster)
		}
		return x.cluster != first
	})
	if len(others) > 0 {
		a.left = append(a.left, fmt.Sprintf("what other clusters than %s have: %s", first, strings.Join(others, ", ")))
	}
}
