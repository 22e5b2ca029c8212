//go:build machine

package suite

import (
	"strings"
	"testing"
)

// modprobe is the path at which drivers install the program that creates device nodes.
const modprobe = "/usr/bin/nvidia-modprobe"

// fakeModprobe replaces nvidia-modprobe until the test ends.
func fakeModprobe(t *testing.T, body string) {
	t.Helper()
	sh(t, "", "! test -e "+modprobe+" && printf '#!/bin/bash\\n%s\\n' '"+body+"' > "+modprobe+" && chmod 755 "+modprobe)
	t.Cleanup(func() { sh(t, "", "rm -f "+modprobe) })
}

// TestDeviceFiles: if nvidia-modprobe is installed, each start of the daemon first loads the
// modules and creates the device nodes. One command creates the GPUs' nodes, and another creates
// CUDA's nodes. If nvidia-modprobe is missing, no log reports a failure.
func TestDeviceFiles(t *testing.T) {
	begin(t)
	const complaints = "journalctl -q -o cat _PID=1 --since '1 minute ago' | grep -i 'modprobe.*\\(fail\\|unable\\|missing\\)'; systemctl status gpusched | grep -i modprobe"
	sh(t, "", "systemctl restart gpusched")
	if r := try(t, "", "! systemctl is-failed -q gpusched-devices && ! { "+complaints+"; }"); r.Code != 0 {
		t.Errorf("without %s: %s%s", modprobe, r.Stdout, r.Stderr)
	}
	if out := try(t, "", "rm -f /dev/nvidia-uvm; gpusched doctor").Stdout; !strings.Contains(out, "install "+modprobe) {
		t.Errorf("doctor: %s", out)
	}

	// Like the real program, the fake creates nodes of another device if the option -u is given.
	fakeModprobe(t, `echo "$*" >> /run/modprobe.calls; case "$*" in *-u*) mknod -m 666 /dev/nvidia-uvm c 237 0;; *) [ -e /dev/nvidiactl ] || mknod -m 666 /dev/nvidiactl c 195 255;; esac`)
	t.Cleanup(func() { sh(t, "", "rm -f /run/modprobe.calls /dev/nvidia-uvm") })
	if out := try(t, "", "gpusched doctor").Stdout; !strings.Contains(out, "systemctl start gpusched-devices") {
		t.Errorf("doctor: %s", out)
	}
	sh(t, "", "rm /dev/nvidiactl; systemctl restart gpusched")
	if calls := sh(t, "", "cat /run/modprobe.calls; test -c /dev/nvidiactl && test -c /dev/nvidia-uvm"); calls != "-c 255 -c 0\n-u -c 0" {
		t.Errorf("nvidia-modprobe was called with\n%s", calls)
	}
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 -- test -w /dev/nvidia-uvm")), "completed", "exit code 0")
}

// TestDriverHangsAtBoot: the driver fails to load, or its
// loading never ends. The daemon starts nevertheless.
func TestDriverHangsAtBoot(t *testing.T) {
	begin(t)
	fakeModprobe(t, "trap : TERM; while :; do sleep 1000; done")
	const dropIn = "/run/systemd/system/gpusched-devices.service.d"
	sh(t, "", "mkdir -p "+dropIn+"; printf '[Service]\\nTimeoutStartSec=1s\\nTimeoutStopSec=1s\\n' > "+dropIn+"/soon.conf; systemctl daemon-reload")
	t.Cleanup(func() {
		sh(t, "", "rm -r "+dropIn+"; systemctl daemon-reload; systemctl reset-failed gpusched-devices")
	})
	sh(t, "", "timeout 60 systemctl restart gpusched")
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 -- true")), "completed", "exit code 0")
	if out := sh(t, "", "systemctl show -P Result gpusched-devices"); out != "timeout" {
		t.Errorf("the unit's result is %s", out)
	}
}

// TestReloadNeedsNoOtherPackage: a reload works without /bin/kill. On Debian, /bin/kill belongs to
// procps, which systemd does not need.
func TestReloadNeedsNoOtherPackage(t *testing.T) {
	begin(t)
	sh(t, "", "mv /usr/bin/kill /usr/bin/kill.away")
	t.Cleanup(func() { sh(t, "", "mv /usr/bin/kill.away /usr/bin/kill") })
	const file = "/etc/gpusched/conf.d/90-suite.toml"
	sh(t, "", "mkdir -p /etc/gpusched/conf.d; printf '[jobs]\\nmax_mem = \"300M\"\\n' >"+file+"; systemctl reload gpusched")
	t.Cleanup(func() { sh(t, "", "rm "+file+"; systemctl reload gpusched") })
	mustFail(t, "alice", "gpusched submit -g 0 -m 400M -- true", 8, "300M")
}
