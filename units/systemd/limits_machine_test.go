//go:build machine

package systemd

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/cgroup/cpuset"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// run starts a unit whose main process is a shell with this script.
func run(t *testing.T, m *Manager, id int64, script string, change func(*units.Spec)) units.Status {
	t.Helper()
	file := filepath.Join(sharedDir(t), "script")
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := spec(id, file)
	s.Launcher = "/bin/bash"
	if change != nil {
		change(&s)
	}
	status, err := m.Start(t.Context(), units.Name(id), units.Properties(s))
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// sharedDir returns a directory that every account may enter.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "units")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// waitEnd waits for the end of a unit's main process.
func waitEnd(t *testing.T, m *Manager, id int64) contract.Exit {
	t.Helper()
	late := time.After(time.Minute)
	for {
		status, err := m.Status(t.Context(), units.Name(id))
		if err != nil {
			t.Fatal(err)
		}
		if phase, exit := units.Decode(status); phase == units.PhaseExited {
			return exit
		}
		select {
		case <-m.Changes():
		case <-late:
			t.Fatalf("unit %d never ended: %+v", id, status)
		}
	}
}

// A job runs as its user, with the user's groups and home, and with the requested group.
func TestMachineIdentity(t *testing.T) {
	m := connect(t)
	const script = `set -e; test "$USER" = alice; test "$HOME" = /home/alice; test "$(id -u)" = 1001; id -Gn | grep -qw lab; `
	run(t, m, 1, script+`test "$(id -g)" = 1001; test "$(ulimit -Sn)" = 1024; test "$(ulimit -Hn)" = 4096; test "$(ulimit -l)" = 4096`, func(s *units.Spec) {
		s.Rlimits[1] = contract.Limit{Name: "MEMLOCK", Soft: 4 << 20, Hard: 8 << 20} // a container can't raise its own limit
	})
	if e := waitEnd(t, m, 1); e != (contract.Exit{}) {
		t.Errorf("got %+v", e)
	}
	run(t, m, 2, script+`test "$(id -gn)" = lab`, func(s *units.Spec) { s.GID = 2001 })
	if e := waitEnd(t, m, 2); e != (contract.Exit{}) {
		t.Errorf("with a group of its own: got %+v", e)
	}
}

// A job can open its GPU and the control node, but no other GPU and not the probe, even after
// systemd has reloaded (invariant 4 of package units). Its own GPU can be closed and opened while it
// runs. If the filter allows a node without a driver, opening it fails with ENXIO.
func TestMachineDeviceFilter(t *testing.T) {
	m := connect(t)
	dir := sharedDir(t)
	opened := func(minor uint32) string { return filepath.Join(dir, fmt.Sprint("node", minor)) }
	for _, minor := range []uint32{0, 1, contract.CtlMinor, contract.ProbeMinor} {
		if err := unix.Mknod(opened(minor), unix.S_IFCHR|0o666, int(unix.Mkdev(contract.NvidiaMajor, minor))); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(opened(minor), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf(`try() { (: <"$1") 2>&1; }
all() { try %s | grep -q "$1" && try %s | grep -q "No such device" &&
	try %s | grep -q "not permitted" && try %s | grep -q "not permitted" && : </dev/null; }
step=10
for own in device device permitted permitted device; do
	all "$own" || exit $step
	read -r _ <%s/$step; step=$((step+1))
done`,
		opened(1), opened(contract.CtlMinor), opened(0), opened(contract.ProbeMinor), dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	pipe := func(step int) string { return filepath.Join(dir, fmt.Sprint(10+step)) }
	reload := func() { systemctl(t, "daemon-reload") }
	allow := func(open bool) func() {
		return func() {
			if err := m.AllowDevices(t.Context(), units.Name(1), []cgroup.Device{cgroup.GPU(1)}, open); err != nil {
				t.Error(err)
			}
		}
	}
	changes := []func(){reload, allow(false), reload, allow(true), func() {}}
	for i := range changes { // a pipe for each, because an earlier reader may still have its pipe open
		if err := unix.Mkfifo(pipe(i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, m, 1, script, func(s *units.Spec) { s.Devices = []cgroup.Device{{Major: 195, Minor: 250}, {Major: 195, Minor: 0}} })
	go func() { // ends when the unit's shell reads, or with the process
		for i, change := range changes {
			f, err := os.OpenFile(pipe(i), os.O_WRONLY, 0)
			if err != nil {
				return
			}
			change()
			fmt.Fprintln(f, "now")
			f.Close()
		}
	}()
	if e := waitEnd(t, m, 1); e != (contract.Exit{}) {
		t.Errorf("got %+v: 10 is before and 11 after a reload, 12 with the GPU closed, 13 after another reload, 14 with the GPU open", e)
	}
}

// A job runs only on the CPUs that it was given. CPUs that the machine does not have are not
// requested. If no CPUs remain, the job may use all.
func TestMachineCPUAffinity(t *testing.T) {
	m := connect(t)
	allowed := cgroup.AllowedCPUs(cgroup.Root, "/gpujobs.slice", cgroup.OnlineCPUs)
	last := allowed[strings.LastIndexAny(allowed, "-,")+1:]
	for i, c := range []struct{ near, want string }{
		{last, last},
		{last + ",60000-65535", last},
		{"60000-65535", allowed},
		{"", allowed},
	} {
		id := int64(i + 1)
		script := fmt.Sprintf(`list=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status); test "$list" = %q`, c.want)
		run(t, m, id, script, func(s *units.Spec) { s.CPUAffinity = cpuset.Intersect(c.near, allowed) })
		if e := waitEnd(t, m, id); e != (contract.Exit{}) {
			t.Errorf("near CPUs %q of %q: got %+v", c.near, allowed, e)
		}
	}
}

func systemctl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("systemctl", args...).CombinedOutput()
	if err != nil {
		t.Errorf("systemctl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// systemd has every property that we set, even after it has read its transient unit file again.
func TestMachinePropertiesStay(t *testing.T) {
	m := connect(t)
	s := spec(1, "infinity")
	s.Launcher = "/bin/sleep"
	s.GID = 2001
	s.Devices = []cgroup.Device{{Major: 10, Minor: 229}}
	s.CPUAffinity, s.CPUShare = "0", 16
	s.JobName = `50% of $HOME "and" 'more' \n ünï`
	props := units.Properties(s)
	if _, err := m.Start(t.Context(), units.Name(1), props); err != nil {
		t.Fatal(err)
	}
	whole, err := dbus.ConnectSystemBus() // a Manager's own connection can't read everything
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	for _, when := range []string{"before", "after"} {
		var have properties
		if err := whole.Object(destination, objectPath(units.Name(1))).Call(propertyIface+".GetAll", 0, "").Store(&have); err != nil {
			t.Fatal(err)
		}
		for _, p := range props {
			if _, shown := have[p.Name]; !shown && p.Name == "CPUAccounting" {
				continue // systemd 259 accepts this property but does not report it, since it accounts every unit
			}
			if got, want := normalize(p.Name, have[p.Name]), normalize(p.Name, dbus.MakeVariant(p.Value)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s the reload: %s is %v, want %v", when, p.Name, got, want)
			}
		}
		systemctl(t, "daemon-reload")
	}
}

// normalize makes sent and read values comparable. systemd shows commands with the times of their
// runs, devices in no order, and CPUs with trailing zeros.
func normalize(name string, v dbus.Variant) any {
	text := v.String()
	if name == "ExecStart" {
		return strings.Contains(text, `"/bin/sleep", ["/bin/sleep", "infinity"], false`)
	}
	if name == "ExecReload" {
		return strings.Contains(text, `"--tell"`) && strings.Contains(text, ", true")
	}
	if name == "DeviceAllow" {
		var list []units.DeviceAllow
		if err := v.Store(&list); err != nil {
			return err
		}
		set := map[units.DeviceAllow]bool{}
		for _, d := range list {
			set[d] = true
		}
		return set
	}
	if set, ok := v.Value().([]byte); ok {
		return string(bytes.TrimRight(set, "\x00"))
	}
	if n, ok := v.Value().(uint64); ok && n == math.MaxUint64 {
		return "infinity"
	}
	return text
}
