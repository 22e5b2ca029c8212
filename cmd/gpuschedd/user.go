package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/supervise"
)

// paths are the files and directories of one user's own scheduler.
type paths struct {
	uid                    int
	name                   string
	config, state, runtime string // directories
	systemd                string // the socket of the user's systemd
}

// lingerDir has a file for each user whose services systemd starts without a login.
const lingerDir = "/var/lib/systemd/linger"

// ownPaths returns the paths of a user's scheduler from the environment that systemd gives to the
// user's services. It does not use $STATE_DIRECTORY, which meant another directory before systemd
// 254. Each machine has its own state directory: several machines may share a home, but a queue
// belongs to one machine.
func ownPaths(getenv func(string) string, uid int) (paths, error) {
	home, runtime := getenv("HOME"), getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(home) || !filepath.IsAbs(runtime) {
		return paths{}, errors.New("--user needs $HOME and $XDG_RUNTIME_DIR, as 'systemctl --user start gpusched' sets them")
	}
	if info, err := os.Stat(runtime); err != nil || !belongsTo(info, uid) {
		return paths{}, fmt.Errorf("--user needs a $XDG_RUNTIME_DIR that belongs to uid %d, but %s does not", uid, runtime)
	}
	machine := machineName()
	return paths{
		uid: uid, name: cmp.Or(host.UserName(uid), getenv("USER"), strconv.Itoa(uid)),
		config:  filepath.Join(cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "gpusched"),
		state:   filepath.Join(cmp.Or(getenv("XDG_STATE_HOME"), filepath.Join(home, ".local/state")), "gpusched/machines", machine),
		runtime: filepath.Join(runtime, "gpusched"), systemd: filepath.Join(runtime, "systemd/private"),
	}, nil
}

func belongsTo(info fs.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}

// machineName distinguishes the machines that share a home.
// It prefers the machine id, because a hostname can change.
func machineName() string {
	if id, err := os.ReadFile("/etc/machine-id"); err == nil {
		if name := strings.TrimSpace(string(id)); name != "" && filepath.Base(name) == name {
			return name
		}
	}
	if name, err := os.Hostname(); err == nil && name != "" && filepath.Base(name) == name {
		return name
	}
	return "localhost"
}

// apply sets the paths of the user's own scheduler and makes the directories. It keeps paths that a
// flag has set.
func (p paths) apply(o *supervise.Options, socket string, given map[string]bool) error {
	o.Config, o.DropIns = filepath.Join(p.config, "gpusched.toml"), filepath.Join(p.config, "conf.d")
	o.Own = &supervise.Own{
		UID: p.uid, Name: p.name, Bus: "unix:path=" + p.systemd, Socket: cmp.Or(socket, filepath.Join(p.runtime, "gpusched.sock")),
		Linger: filepath.Join(lingerDir, p.name),
	}
	if !given["accounts"] {
		o.Accounts = "" // only the machine's scheduler uses it
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the programs beside this one: %w", err)
	}
	beside := filepath.Dir(self)
	for name, to := range map[string]struct {
		path *string
		own  string
	}{
		"state": {&o.State, p.state}, "specs": {&o.Specs, filepath.Join(p.runtime, "specs")},
		"launcher": {&o.Launcher, filepath.Join(beside, "gpusched-job")}, "nvml": {&o.NVML, filepath.Join(beside, "gpusched-nvml")},
	} {
		if !given[name] {
			*to.path = to.own
		}
	}
	if o.Cache != "" {
		o.Cache = filepath.Join(o.Cache, "machines", filepath.Base(p.state))
		_ = os.MkdirAll(o.Cache, 0o700)
	}
	for _, dir := range []string{o.State, o.Specs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}
