package slurmsite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

const accountsHead = `#!/bin/sh
# Made by 'gpusched export slurm': classes as QOS, and the shares and quotas of users and groups.
# Run it as root once slurmdbd and slurmctld are up; it can be run again. Users who are not in it
# may submit nothing: add them with 'sacctmgr add user NAME account=gpusched'.
set -e
exec </dev/null # sacctmgr may ask
`

// rootAccount is the account of users who are in no group that has an account.
const rootAccount = "gpusched"

// A script collects calls of sacctmgr.
type script struct {
	strings.Builder
	notes []string
}

// put adds a call of sacctmgr to the script. If the call would create something that exists
// already, sacctmgr returns status 1, and the script ignores that.
func (w *script) put(format string, args ...any) {
	fmt.Fprintf(w, "sacctmgr -i add "+format+" || true\n", args...)
}

func (w *script) change(format string, args ...any) {
	fmt.Fprintf(w, "sacctmgr -i modify "+format+"\n", args...)
}

func (w *script) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// accounts returns the script that fills Slurm's database,
// and notes about rules that the database cannot contain.
func (s Site) accounts() (text string, notes []string) {
	w := &script{}
	w.WriteString(accountsHead)
	s.addClasses(w)
	w.put("account %s Description=gpusched Organization=gpusched", rootAccount)
	w.change("account %s set QOS=%s DefaultQOS=normal", rootAccount, strings.Join(s.openClasses(), ","))
	accounts := map[string][]string{} // accounts of each user
	made := map[string]bool{rootAccount: true}
	for _, group := range slices.Sorted(maps.Keys(s.Settings.Quotas.Groups)) {
		if account := strings.ToLower(group); !plainName().MatchString(group) || made[account] {
			w.note("group %q: its quota is left out; Slurm can't have an account of that name, or has it already", group)
		} else {
			made[account] = true
			s.addGroup(w, group, account, accounts)
		}
	}
	for _, user := range s.EveryUser() {
		s.user(w, user, accounts[user])
	}
	return w.String(), w.notes
}

// addClasses adds a QOS for each class. Slurm scales the priorities of all QOS by the highest.
func (s Site) addClasses(w *script) {
	w.put("qos scavenger")
	for i, c := range job.Classes() {
		if c != job.Normal && c != job.Scavenger {
			w.put("qos %s", c)
		}
		set := fmt.Sprintf("Priority=%d", i*250)
		if c != job.Scavenger {
			set += " Preempt=scavenger"
		}
		if most := s.Settings.Classes[c].MaxTime; most > 0 {
			set += " MaxWall=" + span(most)
		}
		w.change("qos %s set %s", c, set)
	}
}

// openClasses returns the classes that every user may request.
func (s Site) openClasses() (names []string) {
	for _, c := range job.Classes() {
		if c <= job.Normal || s.Settings.Jobs.AllowRaisedPriority {
			names = append(names, c.String())
		}
	}
	return names
}

// addGroup adds an account for a group with a quota, and puts the group's members into it.
func (s Site) addGroup(w *script, name, account string, accounts map[string][]string) {
	q := s.Settings.Quotas.Groups[name]
	w.put("account %s Description=gpusched Organization=gpusched Parent=%s", account, rootAccount)
	limits := s.limits(w, "group "+name, q)
	if q.Share == 0 { // only the shares of its members count
		limits[0] = "Fairshare=parent"
	}
	w.change("account %s set %s", account, strings.Join(limits, " "))
	for _, user := range s.Members[name] {
		accounts[user] = append(accounts[user], account)
	}
	if len(s.Members[name]) == 0 {
		w.note("group %s: its members are unknown here; add each with 'sacctmgr add user NAME account=%s'", name, account)
	}
}

// EveryUser returns all users who get an association in Slurm.
func (s Site) EveryUser() []string {
	all := slices.Concat(s.Users, slices.Collect(maps.Keys(s.Settings.Quotas.Users)))
	slices.Sort(all)
	// root already has an account in Slurm.
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "root" })
}

func (s Site) user(w *script, name string, accounts []string) {
	if !plainName().MatchString(name) {
		w.note("user %q: left out; Slurm can't have such a name", name)
		return
	}
	if len(accounts) == 0 {
		accounts = []string{rootAccount}
	}
	if len(accounts) > 1 {
		w.note("user %s is in the groups %s, each with a quota: in Slurm a job counts for one account, by default %s",
			name, strings.Join(accounts, ", "), accounts[0])
	}
	q, own := s.Settings.Quotas.Users[name]
	if !own {
		q = s.Settings.Quotas.Default
	}
	limits := strings.Join(s.limits(w, "user "+name, q), " ")
	for _, account := range accounts {
		w.put("user %s Account=%s DefaultAccount=%s", name, account, accounts[0])
		w.change("user %s set %s where Account=%s", name, limits, account)
	}
}

// limits returns a quota in Slurm's terms. It sets every limit. If the script runs again, it
// therefore removes the limits that a quota no longer has.
func (s Site) limits(w *script, whose string, q job.Quota) []string {
	cpus, mem := int64(0), int64(0)
	for _, n := range s.Nodes {
		cpus += s.Settings.Jobs.CPUs.Of(int64(n.Layout.CPUs))
		bytes := n.MemMiB << 20
		mem += (bytes - s.Settings.Daemon.HostMemReserve.Of(bytes)) >> 20
	}
	gpus := int64(-1)
	if q.GPUMilli > 0 {
		gpus = int64(q.GPUMilli / job.WholeGPU)
	}
	if q.GPUMilli%job.WholeGPU != 0 {
		w.note("%s: a quota of %s GPUs becomes %d in Slurm, which counts parts of GPUs separately, as shards", whose,
			job.FormatGPUs(q.GPUMilli), gpus)
	}
	submit := int64(-1)
	switch {
	case q.Queued > 0 && q.Running > 0:
		submit = int64(q.Queued + q.Running)
	case q.Queued > 0:
		w.note("%s: the limit on waiting jobs is left out; Slurm counts them with running jobs, which have no limit", whose)
	}
	memMiB := q.Mem.Of(mem<<20) >> 20
	return []string{
		fmt.Sprintf("Fairshare=%d", max(1, q.Share)),
		fmt.Sprintf("GrpTRES=cpu=%d,mem=%d,gres/gpu=%d", orUnlimited(q.CPUs.Of(cpus)), orUnlimited(memMiB), gpus),
		fmt.Sprintf("GrpJobs=%d", orUnlimited(int64(q.Running))),
		fmt.Sprintf("GrpSubmitJobs=%d", submit),
		fmt.Sprintf("GrpTRESMins=gres/gpu=%d", orUnlimited(int64(q.GPUHours)*60)),
	}
}

// orUnlimited returns n. If there is no limit, it returns -1, as Slurm expects.
func orUnlimited(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}
