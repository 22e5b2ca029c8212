package oldconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An association is an entry in Slurm's database: an account, or a user in an account, with limits.
type association struct {
	cluster, account, parent, user string
	limits                         record
}

// A record is a row of one of sacctmgr's tables. It maps column names, in lower case and without
// blanks, to values. Empty values are left out.
type record map[string]string

// A place identifies an association.
type place struct{ cluster, account, user string }

// accounts is the part of a Slurm's database that was read.
type accounts struct {
	associations []association
	at           map[place]int // maps a place to its index in associations
	qos          []record
	defaults     map[string]string // maps each user to the user's default account
	admins       []string
	skipped      []string // notes about parts that were not read
}

// columns maps the names that a column has in other versions and commands to the name used here.
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

// IsAccounts reports whether a text is output of 'sacctmgr -P show assoc' (or qos, or user), or a
// file that 'sacctmgr dump' wrote.
func IsAccounts(text string) bool {
	for line := range strings.Lines(text) {
		if _, _, ok := splitDump(strings.TrimSpace(line)); ok || tableOf(heading(line)) != "" {
			return true
		}
	}
	return false
}

// heading returns the column names in a line, or nil if the line can't be a heading.
func heading(line string) (names []string) {
	if !strings.Contains(line, "|") {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimSpace(line), "|") {
		names = append(names, column(name))
	}
	return names
}

// tableOf returns the kind of table that has these columns: assoc, qos, user or "".
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

// readAccounts reads one or more tables, or a dump.
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
		if what, rest, ok := splitDump(strings.TrimSpace(line)); ok {
			name, limits := parseDump(rest)
			switch what {
			case "Cluster":
				cluster = name
			case "Parent":
				parent = name
			case "Account":
				a.add(association{cluster: cluster, account: name, parent: parent, limits: limits})
			case "User":
				a.add(association{cluster: cluster, account: parent, user: name, limits: limits})
				a.addUser(name, limits)
			}
			continue
		}
		if names != nil && strings.Contains(line, "|") {
			a.addRow(names, strings.Split(line, "|"))
		}
	}
	if len(a.associations)+len(a.qos) == 0 {
		return nil, errors.New("there is no account and no QOS in it: it has what 'sacctmgr -P show assoc' prints (and qos, and user), or 'sacctmgr dump' writes")
	}
	return a, nil
}

// addRow adds one row of a table.
func (a *accounts) addRow(names, values []string) {
	r := record{}
	for i, name := range names {
		if i < len(values) && values[i] != "" {
			r[name] = cleanComment(values[i])
		}
	}
	switch tableOf(names) {
	case "qos":
		a.qos = append(a.qos, r)
	case "user":
		a.addUser(r["user"], r)
	default:
		if r["partition"] != "" {
			a.skipped = append(a.skipped, fmt.Sprintf("the limits of user %s on partition %s: there are no partitions here", r["user"], r["partition"]))
			return
		}
		a.add(association{cluster: r["cluster"], account: r["account"], parent: r["parent"], user: r["user"], limits: r})
	}
}

// add adds an association. If another table has already added it, add only fills in missing values.
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

// addUser adds the facts about a user that do not depend on an account.
func (a *accounts) addUser(name string, r record) {
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

// splitDump splits a line of a dump, such as User - 'alice':Fairshare=2.
func splitDump(line string) (what, rest string, ok bool) {
	what, rest, ok = strings.Cut(line, " - ")
	return what, rest, ok && slices.Contains([]string{"Cluster", "Parent", "Account", "User"}, what) && strings.HasPrefix(rest, "'")
}

// parseDump parses 'NAME':KEY=VALUE:KEY='VALUE'…
func parseDump(text string) (name string, limits record) {
	limits = record{}
	for i, part := range unquotedSplit(text, ':') {
		part = cleanComment(strings.ReplaceAll(part, "'", ""))
		if key, value, ok := strings.Cut(part, "="); i == 0 {
			name = part
		} else if ok && value != "" {
			limits[column(key)] = value
		}
	}
	return name, limits
}

// unquotedSplit splits a text at every separator that is not in quotes.
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

// cleanComment removes characters that could end a comment.
func cleanComment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(s), "?"))
}

// oneCluster removes the associations of all clusters except the first.
func (a *accounts) oneCluster() {
	if len(a.associations) == 0 {
		return
	}
	first := a.associations[0].cluster
	var others []string
	a.at = nil // the indexes are no longer right
	a.associations = slices.DeleteFunc(a.associations, func(x association) bool {
		if x.cluster != first && !slices.Contains(others, x.cluster) {
			others = append(others, x.cluster)
		}
		return x.cluster != first
	})
	if len(others) > 0 {
		a.skipped = append(a.skipped, fmt.Sprintf("the associations of clusters other than %s: %s", first, strings.Join(others, ", ")))
	}
}
