package oldconfig

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// A page is the settings file while it is being written.
type page struct {
	a        *accounts
	body     strings.Builder
	comments []string
}

// ConvertAccounts converts Slurm's accounts, users and QOS into quotas, shares and classes. The
// text is output of sacctmgr (see IsAccounts). The result has comments about everything that
// gpusched does not support.
func ConvertAccounts(text string) (Result, error) {
	a, err := readAccounts(text)
	if err != nil {
		return Result{}, err
	}
	a.oneCluster()
	p := &page{a: a, comments: a.skipped}
	p.users()
	p.writeGroups()
	p.classes()
	for _, name := range a.admins {
		p.say("user %s is an administrator of Slurm: put them into the group of daemon.admin_group", name)
	}
	slices.Sort(p.comments)
	p.comments = slices.Compact(p.comments)
	r := Result{Kind: "Slurm", TOML: p.body.String()}
	if len(p.comments) > 0 {
		r.TOML += "\n# Without a counterpart here, or to be checked:\n#  - " + strings.Join(p.comments, "\n#  - ") + "\n"
		r.Report = append(r.Report, fmt.Sprintf("%d remarks on what has no counterpart here, or must be checked, are in comments at the end", len(p.comments)))
	}
	r.Report = append(r.Report, "nothing is in force yet: see 'gpusched config check FILE', and put the file into /etc/gpusched/conf.d")
	return r, nil
}

func (p *page) say(format string, args ...any) {
	p.comments = append(p.comments, fmt.Sprintf(format, args...))
}

// section writes a section and its lines.
func (p *page) section(name string, lines ...string) {
	if p.body.Len() > 0 {
		p.body.WriteString("\n")
	}
	fmt.Fprintf(&p.body, "[%s]\n%s\n", name, strings.Join(lines, "\n"))
}

func quotaLines(b bounds, keys []string) []string {
	return job.Each(keys, func(key string) string { return key + " = " + b.value(key) })
}

// users writes the default quota, which applies to most users, and the quotas of other users.
func (p *page) users() {
	list, base := p.userBounds(), p.perUser()
	common := base
	if len(list) > 0 {
		common = mostCommon(list)
	}
	if len(list) > 0 || len(base) > 0 {
		p.section("quota.default", quotaLines(common, quotaKeys)...)
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if keys := list[name].changedKeys(common); len(keys) > 0 && p.checkName("user", name) {
			p.section("quota.user."+tomlKey(name), quotaLines(list[name], keys)...)
		}
	}
}

// perUser returns the bounds that the default QOS sets for each user.
func (p *page) perUser() bounds {
	usual := p.a.defaultQOS()
	for _, q := range p.a.qos {
		if q["name"] != usual {
			continue
		}
		r := record{"grptres": q["maxtrespu"], "grpjobs": q["maxjobspu"], "grpsubmit": q["maxsubmitpu"]}
		return boundsOf("QOS "+usual+", for each user", r, p.say)
	}
	return bounds{}
}

// userBounds returns the bounds of each user. If a user is in several accounts, the bounds in the
// default account count.
func (p *page) userBounds() map[string]bounds {
	base, list, from := p.perUser(), map[string]bounds{}, map[string]string{}
	for _, x := range p.a.associations {
		if x.user == "" || x.user == "root" {
			continue
		}
		b := boundsOf("user "+x.user, x.limits, p.say)
		if b["share"] == `"none"` {
			delete(b, "share")
			p.say("user %s: Fairshare=parent", x.user)
		}
		for key, value := range base {
			if b[key] == "" {
				b[key] = value
			}
		}
		before, known := list[x.user]
		if known && before.text() != b.text() {
			p.say("user %s has other limits in account %s than in %s: a user has one quota here, that of the default account",
				x.user, x.account, from[x.user])
		}
		if def := p.a.defaults[x.user]; !known || x.account == def {
			list[x.user], from[x.user] = b, x.account
		}
	}
	return list
}

// mostCommon returns the bounds that most users have. It goes through the users by name, so that a
// tie always gives the same result.
func mostCommon(list map[string]bounds) (best bounds) {
	count, most := map[string]int{}, 0
	for _, name := range slices.Sorted(maps.Keys(list)) {
		count[list[name].text()]++
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		b := list[name]
		n := count[b.text()]
		if n > most || n == most && len(b) < len(best) {
			best, most = b, n
		}
	}
	return best
}

// ownAccount is the account that 'gpusched export slurm' makes for users who are in no group.
const ownAccount = "gpusched"

// writeGroups writes the accounts that have a share or bounds.
func (p *page) writeGroups() {
	parents, members := p.a.tree()
	for _, x := range p.a.associations {
		if x.user != "" || x.account == "" || x.account == "root" {
			continue
		}
		b := boundsOf("account "+x.account, x.limits, p.say)
		if len(b) == 0 && (x.account == ownAccount || parents[x.account]) || !p.checkName("account", x.account) {
			continue
		}
		if parent := x.parent; parent != "" && parent != "root" && parent != ownAccount {
			p.say("account %s is part of %s: groups are not nested here, so both limits hold for members of both", x.account, parent)
		}
		if b["share"] == "" {
			b["share"] = "1"
		}
		keys := slices.DeleteFunc(slices.Clone(quotaKeys), func(key string) bool { return b[key] == "" })
		p.section("quota.group."+tomlKey(x.account), quotaLines(b, keys)...)
		p.say("account %s is the quota of group %s: the machine must have a group of that name with the same members%s", x.account, x.account, nameList(members[x.account]))
	}
}

// tree returns the accounts that have other accounts below them, and the users of each account.
func (a *accounts) tree() (parents map[string]bool, members map[string][]string) {
	parents, members = map[string]bool{}, map[string][]string{}
	for _, x := range a.associations {
		switch {
		case x.user == "":
			parents[x.parent] = true
		case x.user != "root":
			members[x.account] = append(members[x.account], x.user)
		}
	}
	return parents, members
}

// maxNamed is the largest number of group members that are listed.
const maxNamed = 20

// nameList formats names for people.
func nameList(names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	more := ""
	if n := len(names) - maxNamed; n > 0 {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	return ": " + strings.Join(names, ", ") + more
}

// checkName reports whether an account of the machine can have this name. If not, it makes a note.
func (p *page) checkName(what, name string) bool {
	plain := job.Printable(name) && strings.TrimSpace(name) == name && !strings.ContainsAny(name, ":,/")
	if plain && name != "NAME" && len(name) <= 256 && name[0] != '-' {
		return true
	}
	p.say("%s %q: left out; the machine can't have an account of that name", what, name)
	return false
}

// tomlKey returns a name as a part of a section's name in TOML. It adds quotes if necessary.
func tomlKey(name string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
	}
	if strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		return cmp.Or(name, `""`)
	}
	return text(name)
}
