//go:build machine

package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// TestLifeOfThePackage installs, upgrades, removes and purges the deb on a real machine. A job runs
// undisturbed meanwhile. An upgrade keeps the queue and the history.
func TestLifeOfThePackage(t *testing.T) {
	l := newLife(t, 5*time.Minute)

	// Debian's dbus, if apt installs it together with gpusched, is not started.
	l.sh(`systemctl stop dbus.socket dbus.service`)
	l.install(built(t, "*.deb"))
	l.checkUnits("active", "enabled")
	l.sh(`test "$(stat -c '%a %U %t:%T' /dev/gpusched-probe)" = '666 root c3:fa'`)
	l.sh(`test "$(stat -c '%a %U' /run/gpusched/specs)" = '711 root'`)
	l.sh(`test "$(stat -c '%a %U' /var/lib/gpusched)" = '700 root'`)
	l.sh(`getent group gpusched-admin`)
	l.sh(`printf '[jobs]\nmax_running = 7\n' >/etc/gpusched/gpusched.toml`)
	l.submit()
	const bob = `setpriv --reuid bob --regid bob --clear-groups gpusched submit -q -g 0 -C / `
	ended := l.sh(bob + `--wait -- sh -c 'exit 3' || test $? = 3`)
	waits := l.sh(bob + `--hold -- sh -c 'exit 5'`)

	daemon, socket := l.show("gpusched.service", "MainPID"), l.show("gpusched.socket", "InvocationID")
	l.sh(`systemctl reload gpusched.service`)
	if l.show("gpusched.service", "MainPID") != daemon {
		t.Error("a reload restarted the daemon")
	}
	l.install(l.version("0.1.1~test1"))
	l.checkUnits("active", "enabled")
	if l.show("gpusched.service", "MainPID") == daemon {
		t.Error("the upgrade did not restart the daemon")
	}
	if l.show("gpusched.socket", "InvocationID") != socket {
		t.Error("the upgrade restarted the socket: connections were refused meanwhile")
	}
	l.jobGoesOn()
	l.sh(`gpusched show ` + ended + ` | grep -qi 'exit code 3'`)
	l.sh(`gpusched release ` + waits + `; gpusched wait --timeout 30s ` + waits + `; test $? = 5`)

	l.sh(`systemctl disable --now -q gpusched.socket gpusched.service`)
	l.install(l.version("0.1.1~test2"))
	l.checkUnits("inactive", "disabled")
	l.jobGoesOn()

	l.sh(`systemctl enable --now -q gpusched.socket gpusched.service`)
	for _, removal := range []string{"dpkg -r gpusched", eraseScript(t, "postun.sh")} {
		said := l.sh("{ " + removal + "\n} 2>&1")
		if !strings.Contains(said, "jobs run on with their GPUs, and nobody watches over them: gpujob-"+l.id+".service") {
			t.Errorf("%s\nwith a running job says\n%s\nand does not name the job", removal, said)
		}
	}
	l.checkUnits("inactive", "masked")
	l.sh(`test -e /var/lib/gpusched/state.db && test -e /etc/gpusched/gpusched.toml && ! test -L /usr/sbin/gpuschedd && ! test -e /usr/libexec/gpusched/gpuschedd`)
	l.jobGoesOn()

	l.install(built(t, "*.deb"))
	l.checkUnits("active", "enabled")
	l.jobGoesOn()
	l.sh(`grep -q '^max_running = 7$' /etc/gpusched/gpusched.toml`)
	l.sh(`gpusched show ` + l.id + ` | grep -qi running`)

	l.sh(`systemctl start gpusched-textfile.service && exit 1 || systemctl is-failed gpusched-textfile.service`)
	l.sh(`systemctl enable -q gpusched-web.socket gpusched-job-mapping.service; systemctl --global enable -q gpusched.service
cp -rs /usr/share/gpusched/fence/. /etc/systemd/system/; mkdir -p /etc/systemd/logind.conf.d; ln -s /usr/share/gpusched/logind/50-gpusched.conf /etc/systemd/logind.conf.d/
mkdir /usr/share/gpusched/python/__pycache__`)
	if said := l.sh(`dpkg -P gpusched 2>&1`); !strings.Contains(said, "removing the queue and the records") {
		t.Errorf("purging says\n%s\nand not that the queue is removed", said)
	}
	l.jobGoesOn()
	left := l.sh(`find / -xdev -name '*gpusched*' -not -path '/proc/*' -not -path '/var/log/journal/*' -not -path '/var/cache/vm/*' | sort; ls -d /run/gpusched 2>/dev/null; systemctl list-units --failed --plain --no-legend 'gpusched*'`)
	if left != "" {
		t.Errorf("purging left:\n%s", left)
	}
}

// TestInstallationWithFaults: the package says so if the scheduler does not start, or if systemd does
// not run, and can be removed if the queue is on a separate disk.
func TestInstallationWithFaults(t *testing.T) {
	l := newLife(t, 3*time.Minute)
	l.install(built(t, "*.deb"))
	l.sh(`dpkg -P gpusched`)
	install := `dpkg -i --force-confold /var/cache/vm/` + filepath.Base(built(t, "*.deb")) + ` 2>&1`
	for fault, c := range map[string]struct{ before, says, after string }{
		"wrong settings":  {`mkdir /etc/gpusched; echo wrong >/etc/gpusched/gpusched.toml`, "'gpusched doctor' says what is wrong", `gpusched doctor | grep 'gpusched.toml:1'`},
		"no systemd":      {`mount -t tmpfs tmpfs /run/systemd`, "systemd does not run here", `umount /run/systemd`},
		"a separate disk": {`mkdir /var/lib/gpusched; mount -t tmpfs tmpfs /var/lib/gpusched`, "", `test -e /var/lib/gpusched/state.db`},
	} {
		l.sh(c.before)
		if said := l.sh(install); !strings.Contains(said, c.says) {
			t.Errorf("%s: the installation says\n%s\nand not %q", fault, said, c.says)
		}
		l.sh(c.after)
		l.sh(`dpkg -P gpusched; umount -q /var/lib/gpusched || true; rm -rf /var/lib/gpusched`)
	}
}

// TestRemoval: the removal scripts of both packages stop everything, even units that are off by
// default, and remove node_exporter's file. A new installation starts the daemon again, which
// 'systemctl try-restart' would not do.
func TestRemoval(t *testing.T) {
	l := newLife(t, 3*time.Minute)
	l.install(built(t, "*.deb"))
	for _, removal := range []string{eraseScript(t, "preun.sh"), "dpkg -r gpusched"} {
		l.sh(`d=/etc/systemd/system/gpusched-textfile.service.d; mkdir -p $d /srv/figures
printf '[Service]\nEnvironment=TEXTFILE_DIR=/srv/figures\nReadWritePaths=/srv/figures\n' >$d/site.conf; systemctl daemon-reload
systemctl enable --now -q gpusched.socket gpusched.service gpusched-web.socket gpusched-metrics.socket gpusched-job-mapping.service gpusched-textfile.timer
timeout 60 sh -c 'until test -e /srv/figures/gpusched.prom; do sleep 0.1; done'
systemctl start gpusched-web.service gpusched-metrics.service`)
		l.sh(removal)
		if left := l.sh(`systemctl list-units --plain --no-legend 'gpusched*' | awk '$3 == "active" && $1 !~ /scope$/'; ls /srv/figures`); left != "" {
			t.Errorf("%s\nleaves\n%s", removal, left)
		}
	}
	l.install(l.version("0.1.1~test1"))
	l.checkUnits("active", "enabled")
}

// eraseScript returns a command that runs a script of the rpm as 'rpm -e' does.
func eraseScript(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../rpm/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return "sh -s 0 <<'EOF'\n" + string(text) + "EOF\n"
}

// A machineWithJob is a machine with the package and a running job.
type machineWithJob struct {
	t          *testing.T
	ctx        context.Context
	m          *vm.Machine
	id         string
	invocation string // invocation id of the job's unit
}

// newLife boots a box. The limit is the time that all commands in the box together may take.
func newLife(t *testing.T, limit time.Duration) *machineWithJob {
	t.Helper()
	ctx, cancel := await.For(t.Context(), "the life of the package", limit)
	t.Cleanup(cancel)
	m, err := vm.Start(ctx, vm.Box, vm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return &machineWithJob{t: t, ctx: ctx, m: m}
}

func (l *machineWithJob) sh(script string) string {
	l.t.Helper()
	r, err := l.m.Sh(l.ctx, "", script)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		journal, _ := l.m.Run(l.ctx, "", nil, "journalctl", "-n", "40", "--no-pager")
		l.t.Fatalf("%s: %v\n%s%s\njournal:\n%s", script, err, r.Stdout, r.Stderr, journal.Stdout)
	}
	return strings.TrimSpace(string(r.Stdout))
}

func (l *machineWithJob) install(deb string) {
	l.t.Helper()
	if err := l.m.InstallPackage(l.ctx, deb); err != nil {
		l.t.Fatal(err)
	}
}

// checkUnits checks what 'systemctl is-active' and 'systemctl is-enabled' print about the daemon's
// socket and service.
func (l *machineWithJob) checkUnits(active, enabled string) {
	l.t.Helper()
	for _, unit := range []string{"gpusched.socket", "gpusched.service"} {
		got := l.sh(`systemctl is-active ` + unit + `; systemctl is-enabled ` + unit + ` || true`)
		if got != active+"\n"+enabled {
			l.t.Errorf("%s is %q, want %s and %s", unit, got, active, enabled)
		}
	}
}

func (l *machineWithJob) show(unit, property string) string {
	l.t.Helper()
	return l.sh(`systemctl show -P ` + property + ` ` + unit)
}

// submit submits a long job as alice and waits until it runs.
func (l *machineWithJob) submit() {
	l.t.Helper()
	r, err := l.m.Run(l.ctx, "alice", nil, "gpusched", "submit", "-q", "--gpus", "0", "--", "sleep", "3600")
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		l.t.Fatalf("submit: %v\n%s%s", err, r.Stdout, r.Stderr)
	}
	l.id = strings.TrimSpace(string(r.Stdout))
	l.sh(`timeout 60 sh -c 'until systemctl is-active -q gpujob-` + l.id + `; do sleep 0.1; done'`)
	l.invocation = l.show("gpujob-"+l.id, "InvocationID")
}

// jobGoesOn checks that the job still runs in the same invocation.
func (l *machineWithJob) jobGoesOn() {
	l.t.Helper()
	unit := "gpujob-" + l.id
	if got := l.show(unit, "SubState"); got != "running" {
		l.t.Fatalf("the job is %q", got)
	}
	if got := l.show(unit, "InvocationID"); got != l.invocation {
		l.t.Fatalf("the job was started again: invocation %s, was %s", got, l.invocation)
	}
}

// version builds a package that has the same files and the version v.
func (l *machineWithJob) version(v string) string {
	l.t.Helper()
	dir := l.t.TempDir()
	output(l.t, "dpkg-deb", "-R", built(l.t, "*.deb"), filepath.Join(dir, "tree"))
	control := filepath.Join(dir, "tree/DEBIAN/control")
	data, err := os.ReadFile(control)
	if err != nil {
		l.t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(data), "\nVersion: ")
	_, after, _ = strings.Cut(after, "\n")
	if err := os.WriteFile(control, []byte(before+"\nVersion: "+v+"\n"+after), 0o644); err != nil {
		l.t.Fatal(err)
	}
	deb := filepath.Join(dir, "gpusched_"+v+".deb")
	output(l.t, "dpkg-deb", "-Znone", "--root-owner-group", "-b", filepath.Join(dir, "tree"), deb)
	return deb
}
