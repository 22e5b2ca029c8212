package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/estimate"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// AliasesCmd manages links to gpusched. Called through such a link, gpusched acts as another tool.
type AliasesCmd struct {
	List    aliasesListCmd    `cmd:"" default:"1" usage:"" help:"List the names, what each leads to, and where it is installed."`
	Install aliasesInstallCmd `cmd:"" usage:"--user | --dir DIR [NAME...]" help:"Link names to this program; a name in .py becomes a file."`
	Remove  aliasesRemoveCmd  `cmd:"" usage:"--user | --dir DIR [NAME...]" help:"Remove names that were linked to this program."`
}

func (*AliasesCmd) About() cli.About {
	return cli.About{Host: cli.OnlyHere, Hosts: cli.OneAtATime, Slurm: cli.ForSlurm}
}

type aliasesListCmd struct{}

func (aliasesListCmd) Run(_ context.Context, a *cli.App) error {
	term.WriteTable(a.Out, []term.Column[[2]string]{
		{Title: "NAME", Cell: func(n [2]string) string { return n[0] }},
		{Title: "IS", Cell: func(n [2]string) string { return n[1] }},
		{Title: "INSTALLED", Cell: func(n [2]string) string { return installed(a, n[0]) }},
	}, alias.Names(), false)
	return nil
}

// installed returns the path of the link with this name to this program, or "-". It searches PATH
// and ~/.local/bin.
func installed(a *cli.App, name string) string {
	dirs := append(filepath.SplitList(a.Getenv("PATH")), filepath.Join(a.Getenv("HOME"), ".local/bin"))
	for _, dir := range dirs {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && isOurs(path) {
			return path
		}
	}
	return "-"
}

// isOurs reports whether a file is a link to gpusched, or a Python file that runs gpusched.
func isOurs(path string) bool {
	if to, err := os.Readlink(path); err == nil {
		return filepath.Base(to) == "gpusched"
	}
	text, err := jobenv.ReadAtMost(path, estimate.MaxTable)
	return err == nil && strings.HasPrefix(string(text), pythonHead)
}

// pythonHead is the start of a Python file. Calls such as 'python NAME.py' need such a file, since
// a link does not work for them.
const pythonHead = "#!/usr/bin/env python3\n# gpusched under another scheduler's name: 'gpusched aliases remove' takes it away\n"

// linksOptions select the links and the directory that contains them.
type linksOptions struct {
	User bool   `name:"user" xor:"where"`
	Dir  string `name:"dir" placeholder:"DIR" xor:"where"`

	Names []string `arg:"" optional:"" name:"name" help:"The names. Default: all."`
}

// selection returns the directory and the selected names.
func (o *linksOptions) selection(a *cli.App) (dir string, names []string, err error) {
	switch {
	case o.Dir != "":
		dir, err = filepath.Abs(o.Dir)
	case !o.User:
		err = cli.Refuse(api.CodeUsage, "such as: gpusched aliases install --user squeue", "say --user for ~/.local/bin, or --dir DIR")
	default:
		dir = filepath.Join(a.Getenv("HOME"), ".local/bin")
	}
	for _, n := range o.Names {
		if !alias.Known(n) {
			return "", nil, cli.Refuse(api.CodeUsage, "see 'gpusched aliases'", "%q is not one of the names", n)
		}
	}
	if names = o.Names; len(names) == 0 {
		names = job.Each(alias.Names(), func(n [2]string) string { return n[0] })
	}
	return dir, names, err
}

type aliasesInstallCmd struct{ linksOptions }

// Run makes the links. It does not replace other programs with these names.
func (c *aliasesInstallCmd) Run(_ context.Context, a *cli.App) error {
	dir, names, err := c.selection(a)
	if err != nil {
		return err
	}
	program, err := engines.Gpusched()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Usagef("%v", err)
	}
	var first error
	for _, name := range names {
		if other := otherProgram(a, name, dir); other != "" && len(c.Names) == 0 {
			a.Note("%s is left out, because %s is in PATH already: add the name to the command to link it anyway", name, other)
			continue
		}
		if err := link(program, filepath.Join(dir, name)); err != nil {
			a.Complain(err.Error())
			first = cli.ExitStatus(api.CodeUsage.ExitStatus())
			continue
		}
		a.Out.Printf("%s\n", term.Clean(filepath.Join(dir, name)))
	}
	if !slices.Contains(filepath.SplitList(a.Getenv("PATH")), dir) {
		a.Note("%s is not in your PATH", dir)
	}
	return first
}

// otherProgram returns the path of another program that has this name in PATH, or "".
func otherProgram(a *cli.App, name, dir string) string {
	for _, d := range filepath.SplitList(a.Getenv("PATH")) {
		path := filepath.Join(d, name)
		if filepath.IsAbs(d) && d != dir && jobenv.Runnable(path) && !isOurs(path) {
			return path
		}
	}
	return ""
}

// link makes a link, or a Python file if the name ends in .py. It replaces an older link or file.
func link(program, path string) error {
	make := os.Symlink
	if filepath.Ext(path) == ".py" {
		make = writePython
	}
	if isOurs(path) {
		if err := os.Remove(path); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	err := make(program, path)
	if errors.Is(err, fs.ErrExist) {
		return cli.Usagef("%s is there, and is not a link to gpusched: it is left alone", path)
	}
	if err != nil {
		return cli.Usagef("%v", err)
	}
	return nil
}

// writePython writes a Python file. It fails if the file exists.
func writePython(program, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = f.WriteString(pythonHead + fmt.Sprintf("import os, sys\nos.execv(%+q, [%+q] + sys.argv[1:])\n", program, filepath.Base(path)))
	return errors.Join(err, f.Close())
}

type aliasesRemoveCmd struct{ linksOptions }

// Run removes the links. It does not remove other files.
func (c *aliasesRemoveCmd) Run(_ context.Context, a *cli.App) error {
	dir, names, err := c.selection(a)
	if err != nil {
		return err
	}
	var gone []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		switch {
		case isOurs(path):
			if err := os.Remove(path); err != nil {
				return cli.Usagef("%v", err)
			}
			gone = append(gone, path)
		case len(c.Names) > 0:
			return cli.Usagef("%s is not a link to gpusched", path)
		}
	}
	if len(gone) == 0 {
		a.Note("there is no such link in %s", dir)
		return nil
	}
	a.Out.Printf("removed %s\n", term.Clean(strings.Join(gone, ", ")))
	return nil
}
