package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
	"github.com/gpusched/gpusched/daemon/api"
)

// chooseEngine puts in the engine that is meant, and refuses a command that is not for it. A job that is
// named as one of Slurm's is asked of Slurm, unless --on says another engine.
func chooseEngine(a *cli.App, k *kong.Context) error {
	for _, f := range k.Flags() {
		if value, ok := k.FlagValue(f).(string); ok && "--"+f.Name == cli.OnFlag && value != "" {
			a.On = value
		}
	}
	name, err := a.WhichEngine()
	if err != nil {
		return err
	}
	if name == cli.EngineLocal && a.On == "" && !a.Own {
		if name, err = engineOf(jobWords(k)); err != nil {
			return err
		}
		if name == cli.EngineSlurm {
			a.On = name
		}
	}
	switch {
	case name != cli.EngineSlurm:
		return nil
	case a.HostsGiven:
		return cli.Refuse(api.CodeUsage, "use 'gpusched "+cli.OnFlag+" "+cli.EngineLocal+" "+cli.HostsFlag+" …'",
			"%s asks gpusched on each machine, and Slurm is the engine here", cli.HostsFlag)
	}
	a.Hosts = nil
	if a.Slurm == nil {
		return site.BecomeSlurm(a)
	}
	e := a.Slurm.New(a.Environ, a.UID, a.NamesEngine(), a.NoteOnce)
	a.Client = e
	if gap := parse.AboutNode(k.Selected()).Refusal(); gap != nil {
		word := strings.Fields(manual.CommandPath(k.Selected()))[1]
		return cli.Refuse(api.CodeUsage, gap.Next, "'gpusched %s' is not for Slurm: %s", word, gap.Why)
	}
	return nil
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
		return cli.EngineLocal, nil
	case len(others) == 0:
		return cli.EngineSlurm, nil
	}
	if host, _, named := cli.HostOf(others[0]); named {
		return "", cli.Refuse(api.CodeUsage, "use a command of its own for each",
			"%s is a job of Slurm's, and %s is one of %s", slurms[0], others[0], cli.HostName(host))
	}
	return "", cli.Refuse(api.CodeUsage, fmt.Sprintf("write %s%s if that is a job of Slurm's, too; for a job of this machine use a command of its own",
		cli.SlurmPrefix, others[0]), "%s is a job of Slurm's, and %s is one of this machine", slurms[0], others[0])
}

// dividedBySlurm divides a list of jobs into those of Slurm's and others. What follows a part is of the same, as in
// slurm:12,14 and a:12,14, and the commas of a name are its own.
func dividedBySlurm(word string) (slurms, others []string) {
	its := false
	for part := range strings.SplitSeq(word, ",") {
		_, id, named := cli.HostOf(part)
		if of, ok := strings.CutPrefix(part, cli.SlurmPrefix); ok {
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
