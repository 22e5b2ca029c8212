package site

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// TopCmd replaces this process with gpusched-top, the full-screen view.
type TopCmd struct {
	Mine bool `name:"mine"`
}

func (*TopCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.Together, Usual: true,
		Slurm: cli.NotForSlurm("it asks the scheduler of this machine",
			"'gpusched status --watch', and 'gpusched exec ID -- nvidia-smi' for what a job's GPUs do"),
	}
}

func (c *TopCmd) Run(_ context.Context, a *cli.App) error {
	if !a.Out.TTY || !a.Interactive {
		return cli.Refuse(api.CodeUsage, "'gpusched status' and 'gpusched list' print the same once", "top needs a terminal")
	}
	args, err := oursArgs(a)
	if err != nil {
		return err
	}
	if c.Mine {
		args = append(args, "--mine")
	}
	return becomeOurs(a, "gpusched-top", args)
}

// oursArgs returns arguments for another program of gpusched. They name the gpusched that started
// that program, and the scheduler to ask.
func oursArgs(a *cli.App) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--gpusched", self}
	if a.Own {
		args = append(args, "--own")
	}
	return args, nil
}

// becomeOurs replaces this process with another program of gpusched, which asks the same scheduler.
func becomeOurs(a *cli.App, name string, args []string) error {
	environ := a.Environ
	if a.Daemon().Socket != "" {
		environ = append(environ[:len(environ):len(environ)], contract.SocketVariable+"="+a.Daemon().Socket)
	}
	return become(a, name, append([]string{name}, args...), environ)
}

// BecomeSlurm replaces this process with gpusched-slurm. The command line stays the same.
func BecomeSlurm(a *cli.App) error { return become(a, engines.SlurmProgram, os.Args, a.Environ) }

func become(a *cli.App, name string, argv, environ []string) error {
	path := ProgramPath(a, name)
	if path == "" {
		return cli.Refuse(api.CodeInternal, "install it with gpusched in /usr/libexec/gpusched, or beside gpusched where only you or root can write", "%s is not installed", name)
	}
	return a.Exec(path, argv, environ)
}

// ProgramPath returns the path of another program of gpusched, or "" if it is not found. It looks
// in this program's own directory, where users install or build programs, and in gpusched's libexec
// directory.
func ProgramPath(a *cli.App, name string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return ""
	}
	dir := filepath.Dir(self)
	for _, place := range []string{dir, filepath.Join(filepath.Dir(dir), "libexec", "gpusched")} {
		if path := filepath.Join(place, name); jobenv.Runnable(path) && comesWith(a, self, path, filepath.Dir(dir)) {
			return path
		}
	}
	return ""
}

// comesWith reports whether only root, the caller or the owner of this program can have put another
// program at its path. It checks the path, and those of its parent directories that are inside the
// last argument, a directory that contains both programs.
func comesWith(a *cli.App, self, path, parent string) bool {
	info, err := os.Stat(self)
	if err != nil {
		return false
	}
	owner, _ := info.Sys().(*syscall.Stat_t)
	for at := path; at != parent; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return false
		}
		st, _ := info.Sys().(*syscall.Stat_t)
		alone := info.Mode()&fs.ModeSymlink != 0 || info.IsDir() && info.Mode()&fs.ModeSticky != 0
		if !a.Trusts(info) && st.Uid != owner.Uid || !alone && jobenv.OthersWrite(a, at, info) {
			return false
		}
	}
	return true
}
