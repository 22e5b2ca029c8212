package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/directory"
	"github.com/gpusched/gpusched/daemon/directory/getent"
	"github.com/gpusched/gpusched/daemon/gres"
	"github.com/gpusched/gpusched/daemon/job"
)

// ConfigCmd checks and prints the settings.
type ConfigCmd struct {
	Check  configCheckCmd  `cmd:"" usage:"[FILE...]" help:"Look for mistakes."`
	Show   configShowCmd   `cmd:"" usage:"[--origin] [FILE...]" help:"Print the settings of the files, with all defaults."`
	Schema configSchemaCmd `cmd:"" help:"Print a JSON Schema of the file, for editors."`
	Sample configSampleCmd `cmd:"" help:"Print a file with every setting, its default and its purpose."`
}

func (*ConfigCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("these are the settings of the scheduler of this machine",
			"Slurm's are in slurm.conf: 'scontrol show config'"),
	}
}

// ConfigFiles are the files that a command reads.
type ConfigFiles struct {
	Files []string `arg:"" optional:"" name:"file" help:"The files, in the order in which they are read. Default: /etc/gpusched/gpusched.toml and /etc/gpusched/conf.d/*.toml; for your own scheduler, those in ~/.config/gpusched."`
}

// Read reads the named files. If none are named, it reads the machine's settings.
func (c ConfigFiles) Read(a *cli.App) (config.Config, config.Origins, []string, error) {
	for _, name := range c.Files {
		if strings.Contains(name, "/") || filepath.Ext(name) == ".toml" {
			continue
		}
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			key := name[strings.LastIndex(name, ".")+1:]
			return config.Config{}, nil, nil, cli.Refuse(api.CodeUsage, "see a setting with 'gpusched config show | grep "+cli.ShellWord(key)+"'",
				"there is no file %q", name)
		}
	}
	if len(c.Files) > 0 {
		cfg, origins, err := config.Read(c.Files, config.AnyOwner)
		return cfg, origins, c.Files, err
	}
	main, dropIns := places(a)
	owner := config.OwnerCheck(config.RootOnly)
	if a.Own {
		owner = config.OwnedBy(a.UID)
	}
	paths, err := config.Files(main, dropIns)
	if err != nil {
		return config.Config{}, nil, nil, err
	}
	cfg, origins, err := config.Read(paths, owner)
	return cfg, origins, paths, err
}

// places returns the main file of the settings, and the directory of the others.
func places(a *cli.App) (main, dropIns string) {
	if a.Own {
		return filepath.Join(a.OwnConfigDir(), "gpusched.toml"), filepath.Join(a.OwnConfigDir(), "conf.d")
	}
	return config.MainFile, config.DropInDir
}

// configCheckCmd checks settings for mistakes.
type configCheckCmd struct {
	InForce bool `name:"in-force" hidden:""` // used by ExecReload=
	ConfigFiles
}

func (c *configCheckCmd) Run(ctx context.Context, a *cli.App) error {
	named := len(c.Files) > 0
	checked, wrong := c.checkClient(a)
	if named && len(c.Files) == 0 {
		return wrong
	}
	cfg, _, paths, err := c.Read(a)
	if !named {
		_, dropIns := places(a)
		for _, path := range config.Misnamed(dropIns) {
			a.Note("warning: %s is not read: the names of settings files end in .toml", path)
		}
	}
	if err != nil {
		return errors.Join(err, wrong)
	}
	warnUnknown(ctx, a, &cfg)
	warnAbsent(ctx, a, cfg.GPUs.Only)
	warnSlurm(a, &cfg)
	for _, path := range paths {
		a.Out.Printf("%s: ok\n", term.Clean(path))
	}
	if len(paths) == 0 && checked == 0 {
		a.Out.Printf("there are no settings files: everything has its default\n")
	}
	if c.InForce {
		return awaitSettings(ctx, a)
	}
	return wrong
}

// inForceTime is the time limit for a reload. If the scheduler does not answer for silentTime, it
// has ended, and systemd will start it again after the reload.
const (
	inForceTime = 30 * time.Second
	silentTime  = 3 * time.Second
)

// awaitSettings waits until the scheduler uses the settings on disk. The signal that starts a
// reload gives no answer, so awaitSettings asks for the scheduler's health. Of the problems
// there, only unread settings matter here.
func awaitSettings(ctx context.Context, a *cli.App) error {
	ctx, cancel := context.WithTimeout(ctx, inForceTime)
	defer cancel()
	for {
		asked, stop := context.WithTimeout(ctx, silentTime)
		reply, err := api.Health(asked, a.Client)
		silent := asked.Err() != nil
		stop()
		wrong := slices.IndexFunc(reply.Checks, func(c job.Check) bool {
			return c.Unread
		})
		if err == nil && wrong < 0 || silent {
			return nil
		}
		if api.Pause(ctx, 50*time.Millisecond) == nil {
			continue
		}
		if wrong < 0 {
			return fmt.Errorf("the scheduler does not say whether it has read the settings: %w", err)
		}
		c := reply.Checks[wrong]
		return cli.Refuse(api.CodeUnavailable, c.Next, "the scheduler can't work with these settings: %s: %s", c.Name, c.Detail)
	}
}

// checkClient checks the named client settings files or, if none are named, all of them. It removes
// these files from c.Files. With --on or --own it checks only named files. The other files do not
// apply then, so a mistake in them must not make the scheduler's reload fail.
func (c *configCheckCmd) checkClient(a *cli.App) (checked int, err error) {
	paths, rest := []string(nil), []string(nil)
	for _, path := range c.Files {
		if filepath.Base(path) == cli.ClientSettings {
			paths = append(paths, path)
		} else {
			rest = append(rest, path)
		}
	}
	named := len(c.Files) > 0
	if c.Files = rest; !named && a.On == "" && !a.Own {
		paths = a.SettingsFiles()
	}
	for _, path := range paths {
		s, err := clientFile(a, path, named)
		if err == nil {
			err = afar.CheckHosts(s)
		}
		if err != nil {
			return checked, err
		}
		if s.Path != "" {
			a.Out.Printf("%s: ok\n", term.Clean(path))
			checked++
		}
	}
	return checked, nil
}

// clientFile reads a client settings file. The argument explicit says whether the user named the
// file. If not, clientFile reads it as other commands do: a missing file is not an error, and a
// file of another user is ignored with a message. In both cases the result has no path.
func clientFile(a *cli.App, path string, explicit bool) (cli.Chosen, error) {
	if !explicit {
		s, err := a.SettingsIn(path)
		if _, there := os.Lstat(path); err == nil && s.Path == "" && there == nil {
			a.Err.Printf("%s is ignored: it, or a directory on its path, belongs to another user\n", term.Clean(path))
		}
		return s, err
	}
	text, err := jobenv.ReadAtMost(path, cli.MostSettings)
	if err != nil {
		return cli.Chosen{}, cli.Usagef("%v", err)
	}
	return cli.SettingsOf(text, path)
}

// askTime is the time limit for the scheduler's answer to a check.
const askTime = 2 * time.Second

// warnAbsent prints a warning if gpus.only lists GPUs that a running scheduler does not see. Such
// GPUs may be installed later.
func warnAbsent(ctx context.Context, a *cli.App, only []int) {
	if len(only) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	reply, err := api.GPUs(ctx, a.Client)
	if err != nil {
		return
	}
	for _, index := range only {
		if !slices.ContainsFunc(reply.GPUs, func(g api.GPU) bool { return g.Index == index || g.Card() == index }) {
			a.Note("warning: gpus.only names GPU %d, which is not there (see 'gpusched gpus')", index)
		}
	}
}

// warnSlurm prints a warning about GPUs that a Slurm on this machine manages.
func warnSlurm(a *cli.App, cfg *config.Config) {
	host, err := os.Hostname()
	if err != nil {
		return
	}
	found := (&gres.Reader{Root: a.Root, Host: host}).Read()
	switch {
	case found.Assumed:
		a.Note("warning: %v; %s", found.Error, found.Describe(cfg.GPUs.Slurm == config.SlurmAllow))
	case found.Error != nil:
		a.Note("warning: the GPUs that slurmd manages here can't be read: %v", found.Error)
	case !found.None():
		a.Note("warning: %s", found.Describe(cfg.GPUs.Slurm == config.SlurmAllow))
	}
}

// warnUnknown prints warnings about accounts and groups that are unknown, and about accounts that
// have another name (otherName). These are not errors: an account may be created later, or a
// directory service may answer later. The time for each lookup is short.
func warnUnknown(ctx context.Context, a *cli.App, cfg *config.Config) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(cfg.Quotas.Users)) {
		said := missingMember(ctx, directory.Query{Kind: directory.UserByName, Key: name})
		if said != "" && strings.Trim(name, "0123456789") != "" {
			a.Note("warning: %s: a quota needs the account's name in /etc/passwd or the directory, or its number if it has no name", said)
		}
		if uid, called := otherName(ctx, getent.Resolver{Program: getent.Program}, name); called != "" {
			a.Note("warning: the quota of user %q applies to nobody: uid %d is called %q here, so write that name", name, uid, called)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Quotas.Groups)) {
		if said := missingMember(ctx, directory.Query{Kind: directory.GroupByName, Key: name}); said != "" {
			a.Note("warning: %s: its quota applies to nobody until it is known", said)
		}
	}
	if name := cfg.Daemon.AdminGroup; name != "" {
		if said := missingMember(ctx, directory.Query{Kind: directory.GroupByName, Key: name}); said != "" {
			a.Note("warning: %s (daemon.admin_group): only root is an administrator until it is known", said)
		}
	}
}

// missingMember returns a message if an account or group does not exist or can't be looked up.
// Otherwise it returns "".
func missingMember(ctx context.Context, q directory.Query) string {
	what, err := "user", error(nil)
	if q.Kind == directory.UserByName {
		_, err = user.Lookup(q.Key)
	} else {
		what = "group"
		_, err = user.LookupGroup(q.Key)
	}
	if err == nil {
		return ""
	}
	switch answer := (getent.Resolver{Program: getent.Program}).Answer(ctx, q); {
	case answer.Found:
		return ""
	case answer.Error != "" && q.Valid():
		return fmt.Sprintf("%s %q is not in the files of this machine, and the directory can't be asked for it (%s)",
			what, q.Key, answer.Error)
	}
	return fmt.Sprintf("there is no %s %q", what, q.Key)
}

// otherName looks up an account by name. It returns the account's uid, and the name that belongs to
// that uid, or "" if this is the given name. Jobs have the name that belongs to the uid. A
// directory may know an account by several names.
func otherName(ctx context.Context, r getent.Resolver, name string) (uid int, called string) {
	a := r.Answer(ctx, directory.Query{Kind: directory.UserByName, Key: name})
	if !a.Found {
		return 0, ""
	}
	b := r.Answer(ctx, directory.Query{Kind: directory.UserByID, Key: strconv.Itoa(a.ID)})
	if b.Name == name {
		return a.ID, ""
	}
	return a.ID, b.Name
}

// configShowCmd prints the settings.
type configShowCmd struct {
	Origin bool `name:"origin"`
	ConfigFiles
}

func (c *configShowCmd) Run(_ context.Context, a *cli.App) error {
	cfg, origins, _, err := c.Read(a)
	if err != nil {
		return err
	}
	if !c.Origin {
		origins = nil
	}
	a.Out.Printf("%s", config.Show(cfg, origins))
	return nil
}

// configSchemaCmd prints the JSON Schema.
type configSchemaCmd struct{}

func (configSchemaCmd) Run(_ context.Context, a *cli.App) error {
	_, err := a.Out.W.Write(config.Schema())
	return err
}

// configSampleCmd prints the sample file.
type configSampleCmd struct{}

func (configSampleCmd) Run(_ context.Context, a *cli.App) error {
	_, err := a.Out.W.WriteString(config.Sample())
	return err
}
