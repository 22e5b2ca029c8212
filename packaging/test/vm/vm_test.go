//go:build machine

package vm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// If the variable ownerVariable names a kind, this test program starts a machine of that kind and
// waits until it is killed (TestKilledOwner).
const ownerVariable = "GPUSCHED_VM_TEST_OWNER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(ownerVariable); kind != "" {
		ownAMachine(Kind(kind))
	}
	os.Exit(m.Run())
}

func options(t testing.TB, kind Kind) Options {
	return Options{Log: t.Output(), Packages: packages(kind)}
}

// packages returns the packages that the suite needs in a kind of machine. The tests of this
// package request them too, so that they share one image with the suite.
func packages(kind Kind) []string {
	if kind == Emulated {
		return AllPackages(Bookworm)
	}
	return nil
}

// bootMachine boots a machine and closes it when the test ends.
func bootMachine(t testing.TB, kind Kind) *Machine {
	t.Helper()
	if err := EnsureHostPackages(t.Context(), kind, t.Output()); err != nil {
		t.Fatal(err)
	}
	m, err := Start(t.Context(), kind, options(t, kind))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// sh runs a script, which must exit with 0, and returns its trimmed output.
func sh(t testing.TB, m *Machine, user, script string) string {
	t.Helper()
	r, err := m.Sh(t.Context(), user, script)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return strings.TrimSpace(r.Stdout)
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestBox(t *testing.T) {
	m := bootMachine(t, Box)
	t.Run("common", func(t *testing.T) { testCommon(t, m) })
	t.Run("network", func(t *testing.T) {
		want(t, "network devices", sh(t, m, "", "ls /sys/class/net"), "lo")
	})
	t.Run("power cut", func(t *testing.T) {
		sh(t, m, "", "echo kept >/var/lib/kept; systemd-run -q --unit=endless sleep infinity")
		if err := m.PowerCut(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, "after the cut", sh(t, m, "", "cat /var/lib/kept; systemctl is-active endless || true"), "kept\ninactive")
	})
}

func TestEmulated(t *testing.T) {
	m := bootMachine(t, Emulated)
	if !m.HasControllers() {
		t.Error("HasControllers is false")
	}
	t.Run("common", func(t *testing.T) { testCommon(t, m) })
	t.Run("memory limit", func(t *testing.T) {
		script := `systemd-run --wait -q --unit=greedy -p MemoryMax=50M -p MemorySwapMax=0 python3 -c 'x = bytearray(200 << 20)' || true
			systemctl show -P Result greedy; systemctl reset-failed greedy`
		want(t, "result", sh(t, m, "", script), "oom-kill")
	})
	t.Run("power cut", func(t *testing.T) {
		before := m.emulated().disk.Flushes()
		sh(t, m, "", "mkdir -p /var/lib/copied; echo synced | tee /var/lib/synced >/var/lib/copied/file; sync")
		if m.emulated().disk.Flushes() == before {
			t.Error("the guest's sync does not reach the disk as a flush")
		}
		testCutCopy(t, m)
		sh(t, m, "", "echo unsynced >/var/lib/unsynced")
		if err := m.PowerCut(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, "after the cut", sh(t, m, "", "cat /var/lib/synced /var/lib/unsynced 2>/dev/null || true"), "synced")
	})
}

// testCutCopy copies the disk in the state that a power cut would leave. The copy has everything
// that was flushed, and the machine continues.
func testCutCopy(t *testing.T, m *Machine) {
	t.Helper()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	busy := m.Command(ctx, "", "bash", "-c", "while :; do echo busy >/var/lib/busy; sync; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	_, err := m.CutCopy(t.Context(), filepath.Join(dir, "disk"), func() {})
	stop()
	busy.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := ReadDisk(t.Context(), filepath.Join(dir, "disk"), "/var/lib/copied", dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "copied/file"))
	if err != nil || string(got) != "synced\n" {
		t.Errorf("the copy has %q, %v", got, err)
	}
	if ReadDisk(t.Context(), filepath.Join(dir, "disk"), "/no/such", dir) == nil {
		t.Error("reading a directory that is not there has no error")
	}
}

// testCommon tests what both kinds of machine promise.
func testCommon(t *testing.T, m *Machine) {
	t.Run("booted", func(t *testing.T) {
		want(t, "state", sh(t, m, "", "systemctl is-system-running --wait || systemctl --failed"), "running")
	})
	t.Run("users", func(t *testing.T) { testUsers(t, m) })
	t.Run("exit codes", func(t *testing.T) { testExitCodes(t, m) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, m) })
	t.Run("background", func(t *testing.T) { testBackground(t, m) })
	t.Run("device filter", func(t *testing.T) { testDeviceFilter(t, m) })
	t.Run("journal", func(t *testing.T) { testJournal(t, m) })
	t.Run("copy", func(t *testing.T) { testCopy(t, m) })
	t.Run("install", func(t *testing.T) { testInstall(t, m) })
	t.Run("reboot", func(t *testing.T) { testReboot(t, m) })
}

// Invariant 6: the users and their groups.
func testUsers(t *testing.T, m *Machine) {
	for user, id := range map[string]string{
		"":      "uid=0(root) gid=0(root) groups=0(root)\n/root\n",
		"alice": "uid=1001(alice) gid=1001(alice) groups=1001(alice),2001(lab)\n/home/alice\n",
		"bob":   "uid=1002(bob) gid=1002(bob) groups=1002(bob)\n/home/bob\n",
	} {
		want(t, "id and directory", sh(t, m, user, "id; pwd; touch ~/mine")+"\n", id)
	}
	environment := "HOME=/home/alice\nLANG=C.UTF-8\nLOGNAME=alice\nPATH=/usr/local/bin:/usr/bin:/bin\nSHELL=/bin/bash\nUSER=alice"
	r, err := m.Run(t.Context(), "alice", nil, "sh", "-c", "env | grep -v ^PWD= | sort; umask")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "environment", r.Stdout, environment+"\n0022\n")
	if r, err = m.Run(t.Context(), "", nil, "no-such-program"); err != nil || r.Code != 127 {
		t.Errorf("a program that is not there: %+v, %v", r, err)
	}
	r, err = m.Run(t.Context(), "mallory", nil, "true")
	if err != nil || r.Code != 217 || !strings.Contains(r.Stderr, `no user "mallory"`) {
		t.Errorf("an unknown user: %+v, %v", r, err)
	}
}

// Invariant 5: the exit codes of Run.
func testExitCodes(t *testing.T, m *Machine) {
	for script, code := range map[string]int{"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -KILL $$": 137, "kill -TERM $$": 143} {
		r, err := m.Sh(t.Context(), "bob", script)
		if err != nil || r.Code != code {
			t.Errorf("%s: code %d, %v, want %d", script, r.Code, err, code)
		}
	}
	r, err := m.Run(t.Context(), "alice", strings.NewReader("a b\x00c"), "bash", "-c", "od -An -c; echo \"$1\" >&2", "it's", "$HOME \\ 'x'")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "standard input", r.Stdout, "   a       b  \\0   c\n")
	want(t, "an argument", r.Stderr, "$HOME \\ 'x'\n")
}

func testCancel(t *testing.T, m *Machine) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := m.Command(ctx, "alice", "bash", "-c", "echo up; sleep 4321 & sleep 4321")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if cmd.Wait() == nil {
		t.Error("the cancelled command ended well")
	}
	want(t, "left running", sh(t, m, "", "pgrep -f 'sleep [4]321' || true"), "")
}

func testBackground(t *testing.T, m *Machine) {
	want(t, "output", sh(t, m, "alice", "sleep 5432 & echo out"), "out")
	want(t, "left running", sh(t, m, "", "pgrep -u alice -cf 'sleep [5]432'; pkill -f 'sleep [5]432'"), "1")
}

// Invariant 7: the nodes exist, and the device filter works.
func testDeviceFilter(t *testing.T, m *Machine) {
	want(t, "nodes", sh(t, m, "", "cd /dev; stat -c '%n %a %Hr:%Lr %F' nvidia*"), `nvidia0 666 195:0 character special file
nvidia1 666 195:1 character special file
nvidia2 666 195:2 character special file
nvidia3 666 195:3 character special file
nvidiactl 666 195:255 character special file`)
	script := `systemd-run --wait --pipe -q -p User=alice -p DevicePolicy=closed -p 'DeviceAllow=/dev/char/195:1 rw' \
		bash -c 'for n in 0 1 2 ctl; do (: <>/dev/nvidia$n) 2>&1 | sed "s/.*: //"; done'`
	want(t, "opening 0, 1, 2 and ctl with 1 allowed", sh(t, m, "", script),
		"Operation not permitted\nNo such device or address\nOperation not permitted\nOperation not permitted")
}

func testJournal(t *testing.T, m *Machine) {
	sh(t, m, "", "systemd-run --wait -q --unit=talk -p User=alice echo a word of alice; journalctl --sync")
	want(t, "alice reads", sh(t, m, "alice", "journalctl -q -o cat -u talk"), "a word of alice")
	want(t, "bob reads", sh(t, m, "bob", "journalctl -q -o cat -u talk 2>/dev/null || true"), "")
	want(t, "root reads", sh(t, m, "", "journalctl -q -o cat -u talk | grep -x 'a word of alice'"), "a word of alice")
}

func testCopy(t *testing.T, m *Machine) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	content := strings.Repeat("some\x00bytes\n", 100_000)
	if err := os.WriteFile(in, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.CopyIn(t.Context(), in, "/opt/a/b/file", 0o751); err != nil {
		t.Fatal(err)
	}
	want(t, "the copy", sh(t, m, "bob", "stat -c '%a %U %s' /opt/a/b/file"), "751 root 1100000")
	if r, err := m.Run(t.Context(), "", nil, "cat", "/opt/a/b/file"); err != nil || r.Stdout != content {
		t.Errorf("what came back has %d bytes, %v", len(r.Stdout), err)
	}
	if m.CopyIn(t.Context(), in, "relative", 0o644) == nil {
		t.Error("copying to a relative path has no error")
	}
}

// A package's service runs after the installation and after a reboot. The directory of the fake
// library exists at both times too.
func testInstall(t *testing.T, m *Machine) {
	dir := t.TempDir()
	lib, program := filepath.Join(dir, "lib"), filepath.Join(dir, "program")
	for _, file := range []string{lib, program} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\necho simulated\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parts := ProvisionOptions{Deb: buildDeb(t, m, dir), FakeLib: lib, SimCUDA: program, GPUs: []string{"", "", "", "numa=1"}}
	if err := Provision(t.Context(), m, parts); err != nil {
		t.Fatal(err)
	}
	testInstalled(t, m)
	broken := filepath.Join(dir, "broken.deb")
	if err := os.WriteFile(broken, []byte("no package"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.InstallPackage(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "dpkg") {
		t.Errorf("a broken package: %v", err)
	}
}

func testInstalled(t *testing.T, m *Machine) {
	t.Helper()
	want(t, "the service", sh(t, m, "", "systemctl is-active hello"), "active")
	want(t, "the fake library's directory", sh(t, m, "bob", "stat -c '%a %n' "+FakeNVMLDir+"/ "+FakeNVMLDir+"/claims "+FakeLibPath),
		"755 /run/fakenvml/\n1777 /run/fakenvml/claims\n644 "+FakeLibPath)
	want(t, "the fourth GPU", sh(t, m, "bob", "tail -n 1 "+FakeNVMLGPUs), "minor=3 numa=1")
	want(t, "the simulated program", sh(t, m, "bob", "simcuda"), "simulated")
}

// buildDeb builds a package that contains one service. It uses the dpkg-deb of the machine.
func buildDeb(t *testing.T, m *Machine, dir string) string {
	sh(t, m, "", `mkdir -p p/DEBIAN p/lib/systemd/system
		printf 'Package: hello\nVersion: 1\nArchitecture: all\nMaintainer: T <t@example.com>\nDescription: x\n' >p/DEBIAN/control
		printf '[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n' >p/lib/systemd/system/hello.service
		printf '#!/bin/sh -e\nsystemctl daemon-reload\ndeb-systemd-helper enable hello.service\ndeb-systemd-invoke start hello.service\n' >p/DEBIAN/postinst
		chmod 755 p/DEBIAN/postinst; dpkg-deb --root-owner-group -b p hello.deb`)
	deb := filepath.Join(dir, "hello.deb")
	r, err := m.Run(t.Context(), "", nil, "cat", "/root/hello.deb")
	if err = errors.Join(err, r.Err(), os.WriteFile(deb, []byte(r.Stdout), 0o644)); err != nil {
		t.Fatal(err)
	}
	return deb
}

func testReboot(t *testing.T, m *Machine) {
	sh(t, m, "", "echo kept >/var/lib/kept; touch /run/gone; systemd-run -q --unit=endless sleep infinity; journalctl --sync")
	const bootID = "cat /proc/sys/kernel/random/boot_id"
	before := sh(t, m, "", bootID)
	began := time.Now()
	if err := m.Reboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("rebooted in %v", time.Since(began))
	want(t, "state", sh(t, m, "", "systemctl is-system-running --wait || systemctl --failed"), "running")
	want(t, "after the reboot", sh(t, m, "", "cat /var/lib/kept; ls /run/gone 2>/dev/null; systemctl is-active endless"+
		" || journalctl -q -u endless -o cat | grep -c Started"), "kept\ninactive\n1")
	if sh(t, m, "", bootID) == before {
		t.Errorf("the boot id is still %s", before)
	}
	testDeviceFilter(t, m)
	testInstalled(t, m)
}
