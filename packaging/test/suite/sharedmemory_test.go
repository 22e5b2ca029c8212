//go:build machine

package suite

import (
	"strings"
	"testing"
)

// TestSharedMemoryOutlivesALogout: when a user's last login session ends, logind deletes the files
// in /dev/shm that the user's running job uses. Health says so and names a setting that prevents
// this. With that setting the files stay.
func TestSharedMemoryOutlivesALogout(t *testing.T) {
	begin(t)
	const dir = "/etc/systemd/logind.conf.d"
	restart := func(then string) { sh(t, "", then+"; systemctl restart systemd-logind") }
	restart("mkdir -p " + dir + "; printf '[Login]\nUserStopDelaySec=0\n' > " + dir + "/00-test.conf")
	t.Cleanup(func() { restart("rm -rf " + dir) })
	shared := "/dev/shm/gpusched-test"
	id, release := submitHold(t, "alice", "-g 0", "rm -f "+shared)
	there := func() bool {
		sh(t, "alice", "echo x > "+shared)
		sh(t, "", "systemd-run -q --wait -p PAMName=login -p User=alice true")
		poll(t, "logind has forgotten alice", func() bool { return try(t, "", "loginctl show-user alice").Code != 0 })
		return try(t, "", "test -e "+shared).Code == 0
	}
	says := func(what string) { // wait, because health caches its checks for a moment
		poll(t, "health says "+what, func() bool {
			return strings.Contains(sh(t, "alice", "gpusched health | grep 'shared memory'"), what)
		})
	}
	says("RemoveIPC=yes")
	if there() {
		t.Error("without the drop-in the file was not deleted")
	}
	restart("ln -s /usr/share/gpusched/logind/50-gpusched.conf " + dir)
	says("RemoveIPC=no")
	if !there() {
		t.Error("with the drop-in the file was deleted")
	}
	release()
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}
