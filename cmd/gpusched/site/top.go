package client

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// topCmd becomes gpusched-top, which has the whole screen.
type topCmd struct {
	Mine bool `name:"mine"`
}

func (*topCmd) About() About {
	return About{
		Host: RunThere, Hosts: Together, Usual: true,
		Slurm: NotForSlurm("it asks the scheduler of this machine",
			"'gpusched status --watch', and 'gpusched exec ID -- nvidia-smi' for what a job's GPUs do"),
	}
}

func (c *topCmd) Run(_ context.Context, a *app) error {
	if !a.out.TTY || !a.interactive {
		return refuse(api.CodeUsage, "'gpusched status' and 'gpusched list' print the same once", "top needs a terminal")
	}
	args, err := a.oursArgs()
	if err != nil {
		return err
	}
	if c.Mine {
		args = append(args, "--mine")
	}
	return a.becomeOurs("gpusched-top", args)
}

// oursArgs tells a program of the package which gpusched has started it, and whose scheduler it asks.
func (a *app) oursArgs() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"--gpusched", self}
	if a.own {
		args = append(args, "--own")
	}
	return args, nil
}

// becomeOurs runs a program of the package instead of this one. It asks the same scheduler.
func (a *app) becomeOurs(name string, args []string) error {
	environ := a.environ
	if a.daemon().Socket != "" {
		environ = append(environ[:len(environ):len(environ)], contract.SocketVariable+"="+a.daemon().Socket)
	}
	return a.become(name, append([]string{name}, args...), environ)
}

// becomeSlurm goes on as the same command line with a Slurm behind it.
func (a *app) becomeSlurm() error { return a.become(engines.SlurmProgram, os.Args, a.environ) }

func (a *app) become(name string, argv, environ []string) error {
	path := a.besides(name)
	if path == "" {
		return refuse(api.CodeInternal, "it comes with gpusched, in /usr/libexec/gpusched, and is found beside gpusched, too, where only you or root can write", "%s is not installed", name)
	}
	return a.exec(path, argv, environ)
}

// exec goes on as another program. It returns where that can't be started.
func (a *app) exec(path string, argv, environ []string) error {
	a.out.W.Flush()
	a.err.W.Flush()
	a.restoreLimits()
	return syscall.Exec(path, argv, environ)
}

// besides finds a program of the package by where this one is: in the same directory where a
// user has installed it or built it, or else in the package's. "" is none.
func (a *app) besides(name string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return ""
	}
	dir := filepath.Dir(self)
	for _, place := range []string{dir, filepath.Join(filepath.Dir(dir), "libexec", "gpusched")} {
		if path := filepath.Join(place, name); runnable(path) && a.comesWith(self, path, filepath.Dir(dir)) {
			return path
		}
	}
	return ""
}

// comesWith reports whether nobody could have put a program where it is, below a directory that both have above
// them, but root, the caller and the owner of this program, who could have changed it, too.
func (a *app) comesWith(self, path, below string) bool {
	info, err := os.Stat(self)
	if err != nil {
		return false
	}
	owner, _ := info.Sys().(*syscall.Stat_t)
	for at := path; at != below; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return false
		}
		st, _ := info.Sys().(*syscall.Stat_t)
		alone := info.Mode()&fs.ModeSymlink != 0 || info.IsDir() && info.Mode()&fs.ModeSticky != 0
		if !a.trusts(info) && st.Uid != owner.Uid || !alone && a.othersWrite(at, info) {
			return false
		}
	}
	return true
}
