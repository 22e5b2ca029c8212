package editor

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
)

// ConfigCmd prints a section for the ssh_config of the user's own computer.
type ConfigCmd struct{ holder }

func (*ConfigCmd) About() cli.About {
	return cli.About{
		Host: cli.OnlyHere, Hosts: cli.OneAtATime, Slurm: notForSlurm, Habits: manual.OptionsOfNewJobs,
		Options: usedOptions, Examples: []string{"ssh gpubox gpusched ssh-config -g 1 -t 8h gpubox >>~/.ssh/config"},
	}
}

func (c *ConfigCmd) Run(_ context.Context, a *cli.App) error {
	machine, typed := slices.Clone(c.Command), a.Words[1:len(a.Words)-len(c.Command)]
	if len(machine) > 0 && machine[0] == "--" {
		machine = machine[1:]
	}
	if len(machine) > 1 {
		return cli.Refuse(api.CodeUsage, "options come before it", "one machine is enough, and these are %d words", len(machine))
	}
	named := c.Label.Name != ""
	if err := c.complete(a, usualName, "run 'gpusched ssh-config' on that machine", thenContainers); err != nil {
		return err
	}
	host, err := os.Hostname()
	if len(machine) == 1 {
		host, err = machine[0], nil
	}
	if err != nil {
		return err
	}
	for _, word := range []string{host, c.Label.Name} {
		if strings.HasPrefix(word, "-") || strings.Trim(word, nameLetters) != "" {
			return cli.Refuse(api.CodeUsage, "use letters, digits, and . _ -", "%q can't be part of a name in ~/.ssh/config", word)
		}
	}
	if !named {
		typed = append([]string{"--name", c.Label.Name}, typed...)
	}
	words := []string{"gpusched", "proxy"}
	if a.Own {
		words = []string{"gpusched", cli.OwnFlag, "proxy"}
	}
	a.Out.Printf("# For ~/.ssh/config on your own computer, above any \"Host *\". Then: ssh %[1]s-%[2]s\n"+
		"Host %[1]s-%[2]s\n    User %[3]s\n    HostKeyAlias %[1]s-jobs\n    StrictHostKeyChecking accept-new\n"+
		"    ConnectTimeout none\n    ProxyCommand ssh -T %[1]s %[4]s\n",
		host, c.Label.Name, cmp.Or(a.CallerName(), "NAME"), remoteLine(slices.Concat(words, typed)))
	return nil
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// remoteLine writes a command as the argument of an ssh in a ProxyCommand. There a shell of the
// user's computer reads it first, and then a shell of this machine. Plain words need no quoting, so
// they also work where the first shell is not like sh. ssh itself expands a %, so each is doubled.
func remoteLine(words []string) string {
	line := api.Quote(words...)
	if line != strings.Join(words, " ") {
		line = api.Quote(line)
	}
	return strings.ReplaceAll(line, "%", "%%")
}
