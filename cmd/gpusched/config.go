package main

import (
	"context"
	"maps"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// configCmd is about the settings.
type configCmd struct {
	Check  configCheckCmd  `cmd:"" usage:"[FILE...]" help:"Look for mistakes."`
	Show   configShowCmd   `cmd:"" usage:"[--origin] [FILE...]" help:"Print the settings in force."`
	Schema configSchemaCmd `cmd:"" help:"Print a JSON Schema of the file, for editors."`
	Sample configSampleCmd `cmd:"" help:"Print a file with every setting, its default and what it is for."`
}

// configFiles are the files a command reads.
type configFiles struct {
	Files []string `arg:"" optional:"" name:"file" help:"Files in the order in which they are read. Default: /etc/gpusched/gpusched.toml and /etc/gpusched/conf.d/*.toml."`
}

// read reads the files named, or those of the machine.
func (c configFiles) read() (config.Config, config.Origins, []string, error) {
	if len(c.Files) > 0 {
		cfg, origins, err := config.Read(c.Files, config.AnyOwner)
		return cfg, origins, c.Files, err
	}
	paths, err := config.Files(config.MainFile, config.DropInDir)
	if err != nil {
		return config.Config{}, nil, nil, err
	}
	cfg, origins, err := config.Load(paths)
	return cfg, origins, paths, err
}

// configCheckCmd looks for mistakes.
type configCheckCmd struct {
	configFiles
}

func (c *configCheckCmd) Run(ctx context.Context, a *app) error {
	cfg, _, paths, err := c.read()
	if err != nil {
		return err
	}
	a.warnUnknown(cfg.Quotas)
	if name := cfg.Daemon.AdminGroup; name != "" {
		if _, err := user.LookupGroup(name); err != nil {
			a.note("warning: there is no group %q in /etc/group (daemon.admin_group): "+
				"root alone is an administrator", name)
		}
	}
	a.warnAbsent(ctx, cfg.GPUs.Only)
	for _, path := range paths {
		a.out.Printf("%s: ok\n", term.Clean(path))
	}
	if len(paths) == 0 {
		a.out.Printf("there are no settings files: everything has its default\n")
	}
	return nil
}

// askTime is how long a check of settings waits for the scheduler.
const askTime = 2 * time.Second

// warnAbsent names GPUs of gpus.only that the scheduler, where it runs, does not
// see. They are no mistake: they may come later.
func (a *app) warnAbsent(ctx context.Context, only []int) {
	if len(only) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	reply, err := a.client.GPUs(ctx)
	if err != nil {
		return
	}
	for _, index := range only {
		if !slices.ContainsFunc(reply.GPUs, func(g api.GPU) bool { return g.Index == index }) {
			a.note("warning: gpus.only names GPU %d, which is not there (see 'gpusched gpus')", index)
		}
	}
}

// warnUnknown names the quotas of accounts that this host does not have. They
// are no mistake: the account may be made later. Like the scheduler, it looks
// into the host's own files only.
func (a *app) warnUnknown(q job.Quotas) {
	for _, name := range slices.Sorted(maps.Keys(q.Users)) {
		if _, err := user.Lookup(name); err != nil && strings.Trim(name, "0123456789") != "" {
			a.note("warning: there is no user %q in /etc/passwd: "+
				"a quota counts for the name there, or else for the number", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q.Groups)) {
		if _, err := user.LookupGroup(name); err != nil {
			a.note("warning: there is no group %q in /etc/group: its quota applies to nobody", name)
		}
	}
}

// configShowCmd prints settings.
type configShowCmd struct {
	Origin bool `name:"origin" help:"Say which file and line each setting comes from."`
	configFiles
}

func (c *configShowCmd) Run(a *app) error {
	cfg, origins, _, err := c.read()
	if err != nil {
		return err
	}
	if !c.Origin {
		origins = nil
	}
	a.out.Printf("%s", config.Show(cfg, origins))
	return nil
}

// configSchemaCmd prints the schema.
type configSchemaCmd struct{}

func (configSchemaCmd) Run(a *app) error {
	_, err := a.out.W.Write(config.Schema())
	return err
}

// configSampleCmd prints the sample.
type configSampleCmd struct{}

func (configSampleCmd) Run(a *app) error {
	_, err := a.out.W.WriteString(config.Sample())
	return err
}
