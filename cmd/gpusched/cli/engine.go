package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// chooseEngine puts in the engine that is meant, and refuses a command that is not for it. A job that is
// named as one of Slurm's is asked of Slurm, unless --on says another engine.
func (a *app) chooseEngine(k *kong.Context) error {
	for _, f := range k.Flags() {
		if value, ok := k.FlagValue(f).(string); ok && "--"+f.Name == onFlag && value != "" {
			a.on = value
		}
	}
	name, err := a.whichEngine()
	if err != nil {
		return err
	}
	if name == engineLocal && a.on == "" && !a.own {
		if name, err = engineOf(jobWords(k)); err != nil {
			return err
		}
		if name == engineSlurm {
			a.on = name
		}
	}
	switch {
	case name != engineSlurm:
		return nil
	case a.hostsGiven:
		return refuse(api.CodeUsage, "use 'gpusched "+onFlag+" "+engineLocal+" "+hostsFlag+" …'",
			"%s asks gpusched on each machine, and Slurm is the engine here", hostsFlag)
	}
	a.hosts = nil
	if a.slurm == nil {
		return a.becomeSlurm()
	}
	e := a.slurm.New(a.environ, a.uid, a.namesEngine(), a.noteOnce)
	a.client = e
	if gap := aboutNode(k.Selected()).refusal(); gap != nil {
		word := strings.Fields(manual.CommandPath(k.Selected()))[1]
		return refuse(api.CodeUsage, gap.Next, "'gpusched %s' is not for Slurm: %s", word, gap.Why)
	}
	return nil
}

// namesEngine is what numbers of jobs stand behind where the command line alone has chosen the engine: without it
// the next command would take them for those of jobs of another one. "" is nothing.
func (a *app) namesEngine() string {
	usual := *a
	usual.on = ""
	if name, err := usual.whichEngine(); a.on != engineSlurm || err == nil && name == engineSlurm {
		return ""
	}
	return engineSlurm
}

// engineOf is the engine that words for jobs name, that of this machine where they name none. Jobs of both are
// refused: which of them a plain number is would be a guess.
func engineOf(words []string) (name string, err error) {
	var slurms, others []string
	for _, word := range words {
		its, rest := dividedBySlurm(word)
		slurms, others = append(slurms, its...), append(others, rest...)
	}
	switch {
	case len(slurms) == 0:
		return engineLocal, nil
	case len(others) == 0:
		return engineSlurm, nil
	}
	if host, _, named := hostOf(others[0]); named {
		return "", refuse(api.CodeUsage, "use a command of its own for each",
			"%s is a job of Slurm's, and %s is one of %s", slurms[0], others[0], hostName(host))
	}
	return "", refuse(api.CodeUsage, fmt.Sprintf("write %s%s if that is a job of Slurm's, too; for a job of this machine use a command of its own",
		slurmPrefix, others[0]), "%s is a job of Slurm's, and %s is one of this machine", slurms[0], others[0])
}

// dividedBySlurm divides a list of jobs into those of Slurm's and others. What follows a part is of the same, as in
// slurm:12,14 and a:12,14, and the commas of a name are its own.
func dividedBySlurm(word string) (slurms, others []string) {
	its := false
	for part := range strings.SplitSeq(word, ",") {
		_, id, named := hostOf(part)
		if of, ok := strings.CutPrefix(part, slurmPrefix); ok {
			its, id = true, of
		} else if named {
			its = false
		}
		if its {
			slurms = append(slurms, part)
		} else {
			others = append(others, part)
		}
		if strings.HasPrefix(id, "name:") {
			break
		}
	}
	return slurms, others
}

// jobWords are the words of a command line that name jobs: ids, and those of --after and the like. No other
// word chooses an engine: the name of a job is anybody's text.
func jobWords(k *kong.Context) []string {
	list := slices.Clone(idsOf(k.Selected()).words())
	for _, f := range k.Flags() {
		if value, ok := k.FlagValue(f).([]string); ok && strings.HasPrefix(f.Name, "after") {
			list = append(list, value...)
		}
	}
	return list
}

// other is the engine where that is no scheduler of ours, else nil.
func (a *app) other() engines.Other {
	e, _ := a.client.(engines.Other)
	return e
}

// answers is what the one that answers is called.
func (a *app) answers() string {
	if a.other() != nil {
		return engineSlurm
	}
	return daemonName
}

// byEngine runs the command by another engine's own means, in this process: srun has the caller's terminal,
// input and signals, and ends as the job does.
func (c *runCmd) byEngine(ctx context.Context, a *app) (done bool, err error) {
	e := a.other()
	if e == nil {
		return false, nil
	}
	req, err := c.asked(ctx, a)
	if err != nil {
		return true, waitError(ctx, err)
	}
	p, err := e.Run(ctx, req)
	if err != nil {
		return true, waitError(ctx, err)
	}
	if c.Quiet {
		p.Argv = slices.Insert(p.Argv, 1, "--quiet")
	}
	return true, a.becomeProgram(p)
}

// enterElsewhere runs a command in a job of another engine, with a terminal where there is one; without a
// command the user's shell.
func (a *app) enterElsewhere(j api.Job, argv []string) (done bool, err error) {
	e := a.other()
	if e == nil {
		return false, nil
	}
	name := nameOfJob(j)
	switch {
	case j.State.Terminal():
		return true, refuse(api.CodeConflict, "see 'gpusched logs "+name+"'", "job %s has ended: %s", name, a.resultOf(j))
	case j.Array != nil:
		return true, refuse(api.CodeUsage, "name one, such as "+name+"_0", "%s is an array, and this is about a task of it", name)
	case j.State != job.Running:
		return true, refuse(api.CodeConflict, "see 'gpusched why "+name+"'", "job %s is %s%s", name, j.State, a.because(j))
	case len(argv) == 0 && !a.onTerminal():
		return true, errNoTerminal()
	case len(argv) == 0:
		a.note("this is a shell in job %s; it ends with the shell, and the job goes on", name)
		argv = []string{cmp.Or(a.getenv("SHELL"), "/bin/sh")}
	}
	p, err := e.Within(j, a.onTerminal(), argv...)
	if err != nil {
		return true, &failure{asAPI(err)}
	}
	return true, a.becomeProgram(p)
}

func asAPI(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return refuse(api.CodeInternal, "", "%v", err)
}

// becomeProgram goes on as a program of the engine's.
func (a *app) becomeProgram(p engines.Program) error {
	for _, text := range p.Notes {
		a.note("%s", text)
	}
	return &failure{refuse(api.CodeInternal, "", "%s can't be started: %v", p.Path, a.exec(p.Path, p.Argv, p.Environ))}
}
