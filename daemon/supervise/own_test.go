package supervise

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/units"
)

// All methods of Own work on nil, which means the machine's scheduler.
func TestNobodysOwn(t *testing.T) {
	var o *Own
	list := []daemon.Check{{Name: "x"}}
	if o.account() != nil || o.socket() != "" || o.missingControllers() != nil || o.systemd("").User || len(o.addChecks(list)) != 1 {
		t.Error("something of a user's is in it")
	}
	if cfg := o.adjust(config.Default()); cfg.Daemon.AdminGroup == "" || cfg.GPUs.DeviceFilter != config.FilterRequire {
		t.Errorf("%+v", cfg.Daemon)
	}
}

// If a user's own scheduler can't enforce something, health shows it as limited, not as healthy or
// failing, and explains why.
func TestOwnHealth(t *testing.T) {
	dir := t.TempDir()
	o := &Own{UID: 7, Name: "carol", Socket: "/run/user/7/gpusched/gpusched.sock", Linger: dir}
	kernel := daemon.Check{Name: "kernel log", Look: func(context.Context) job.Check {
		return job.Check{Name: "kernel log", Health: job.Degraded, Detail: "not noticed"}
	}}
	got := map[string]job.Check{}
	for _, c := range o.addChecks([]daemon.Check{kernel}) {
		got[c.Name] = c.Look(t.Context())
	}
	for name, text := range map[string]string{
		"kernel log": "not noticed", "device filter": "not enforced", "other users": "not enforced", "output": "user@7.service", "logout": "lingering is on",
	} {
		want := job.Limited
		if name == "logout" {
			want = job.Healthy
		}
		if c := got[name]; c.Name != name || c.Health != want || !strings.Contains(c.Detail, text) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if o.Linger = dir + "/none"; o.checkLinger().Health != job.Degraded || o.checkLinger().Next != "loginctl enable-linger" {
		t.Errorf("%+v", o.checkLinger())
	}
	absent := "/there/is/no/such/group"
	if o.root.Store(&absent); o.checkLimits().Health != job.Degraded || len(o.missingControllers()) != 3 {
		t.Errorf("%+v without %v", o.checkLimits(), o.missingControllers())
	}
	own, machine := &Supervisor{opt: Options{Own: o}}, &Supervisor{}
	for want, got := range map[string]string{
		"report it, with crash.last in /run/user/7/gpusched; 'systemctl --user reload gpusched' makes it begin at once":         own.remedy(errCrashing, ""),
		"report it, with crash.last in /run/gpusched (which root can read); 'systemctl reload gpusched' makes it begin at once": machine.remedy(errCrashing, ""),
		"correct the settings ('gpusched --user config check' shows every mistake), then 'systemctl --user reload gpusched'":    own.remedy(settingsError{errCrashing}, ""),
		"correct the settings ('gpusched config check' shows every mistake), then 'systemctl reload gpusched'":                  machine.remedy(settingsError{errCrashing}, ""),
		"end the other gpuschedd, see 'systemctl --user status gpusched' and 'pgrep -a gpuschedd'":                              own.remedy(store.ErrLocked, ""),
		"systemctl --user status": own.remedy(units.ErrBus, ""), "systemctl status dbus": machine.remedy(units.ErrBus, ""),
		"see 'journalctl --user -u gpusched' and that d can be written": own.remedy(errors.New("?"), "d"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	names := o.files()
	if uid, ok := names.UserID("carol"); names.UserName(7) != "carol" || uid != 7 || !ok {
		t.Errorf("%q is %d", names.UserName(7), uid)
	}
	if cfg := o.adjust(config.Default()); cfg.Daemon.AdminGroup != "" || cfg.GPUs.DeviceFilter != config.FilterPrefer {
		t.Errorf("%+v", cfg.Daemon)
	}
}
