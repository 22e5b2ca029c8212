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

// chooseEngine sets the engine that runs a command. It refuses a command that does not work on the
// engine. A job named slurm:ID selects Slurm unless --on selects another engine.
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
			"%s needs gpusched as the engine, and the engine here is Slurm", cli.HostsFlag)
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

// engineOf returns the engine of the named jobs. The default is the engine of this machine. If the
// names belong to both engines it returns an error, since a plain number could then mean either.
func engineOf(words []string) (name string, err error) {
	var slurms, others []string
	for _, word := range words {
		its, rest := splitSlurm(word)
		slurms, others = append(slurms, its...), append(others, rest...)
	}
	switch {
	case len(slurms) == 0:
		return cli.EngineLocal, nil
	case len(others) == 0:
		return cli.EngineSlurm, nil
	}
	if host, _, named := cli.HostOf(others[0]); named {
		return "", cli.Refuse(api.CodeUsage, "use a separate command for each",
			"%s is a Slurm job, and %s is a job of %s", slurms[0], others[0], cli.HostName(host))
	}
	return "", cli.Refuse(api.CodeUsage, fmt.Sprintf("write %s%s if that is a Slurm job too, or name jobs of this machine in a separate command",
		cli.SlurmPrefix, others[0]), "%s is a Slurm job, and %s is a job of this machine", slurms[0], others[0])
}

// splitSlurm splits a list of jobs into Slurm's jobs and other jobs. A part without a prefix
// belongs to the same engine or machine as the part before it, as in slurm:12,14 and a:12,14. A
// job's name may contain commas.
func splitSlurm(word string) (slurms, others []string) {
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

// jobWords returns the words that name jobs: ids, and the values of --after and similar options.
// Other words can't select an engine, since a job's name can be any text.
func jobWords(k *kong.Context) []string {
	list := slices.Clone(idsOf(k.Selected()).words())
	for _, f := range k.Flags() {
		if value, ok := k.FlagValue(f).([]string); ok && strings.HasPrefix(f.Name, "after") {
			list = append(list, value...)
		}
	}
	return list
}
