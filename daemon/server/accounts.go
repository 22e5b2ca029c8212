package server

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/daemon/job"
)

// accounts identifies peers and their rights, and looks up the names of accounts (invariant 2).
type accounts struct{ opt *Options }

// actor returns the account of a peer, and whether the peer is an administrator (invariant 2).
func (a *accounts) actor(p peer) job.Actor {
	who := job.Actor{UID: p.uid, GID: p.gid, User: a.userName(p.uid), Admin: p.uid == 0 || a.owns(p) || a.administers(p)}
	who.Person = job.Account{UID: who.UID, User: who.User}
	if person := a.person(p.uid); person != p.uid {
		who.Person = job.Account{UID: person, User: a.userName(person)}
	}
	return who
}

// person returns the uid of the person whose limits apply to an account. It returns this uid even
// if the server is not certain about the person.
func (a *accounts) person(uid int) int {
	person, _ := a.opt.Person(uid)
	return person
}

// administers reports whether the peer is an administrator. The process must have the
// administrators' group, and its account must still be a member: a process keeps the groups that it
// got at login.
func (a *accounts) administers(p peer) bool {
	gid, ok := a.opt.GroupID(a.opt.Config().Daemon.AdminGroup)
	return ok && p.has(gid) && a.opt.Holds(p.uid, gid)
}

// member reports whether the host knows that the peer's person is in a group.
func (a *accounts) member(p peer, gid int) bool {
	in, known := a.opt.Member(a.person(p.uid), gid)
	return in && known
}

// quotaGroups returns the names, sorted, of the groups that have a quota and that the peer or its
// person is in. It checks both, because a process may lack groups that its user is in.
func (a *accounts) quotaGroups(p peer) []string {
	var in []string
	for _, name := range a.opt.Config().QuotaGroups() {
		if gid, ok := a.opt.GroupID(name); ok && (p.has(gid) || a.member(p, gid)) {
			in = append(in, name)
		}
	}
	slices.Sort(in)
	return slices.Compact(in)
}

// userName returns the account's name, or its uid as text if it has no name.
func (a *accounts) userName(uid int) string { return cmp.Or(a.opt.UserName(uid), strconv.Itoa(uid)) }

// nameOfProcess returns the owner of a process, such as "bob", or "bob (uid 165700)" for a process
// in one of bob's containers.
func (a *accounts) nameOfProcess(uid int) string {
	if person := a.person(uid); person != uid {
		return fmt.Sprintf("%s (uid %d)", a.knownName(person), uid)
	}
	return a.knownName(uid)
}

// knownName is like userName, but does not wait for a directory service.
func (a *accounts) knownName(uid int) string { return cmp.Or(a.opt.KnownName(uid), strconv.Itoa(uid)) }
