//go:build machine

package suite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestSiteHooks installs the drop-in from gpusched-admin(7). A prolog and an epilog run as root and
// know the job's GPUs. If the prolog fails, the job keeps waiting.
func TestSiteHooks(t *testing.T) {
	begin(t)
	const dir = "/etc/systemd/system/gpujob-.service.d"
	sh(t, "", `mkdir -p `+dir+`; rm -f /run/hooks /run/hooks-fail
printf '[Service]\nExecStartPre=+/usr/local/sbin/gpu-prolog\nExecStopPost=+/usr/local/sbin/gpu-epilog\n' > `+dir+`/60-hooks.conf
cat > /usr/local/sbin/gpu-prolog <<'END'
#!/bin/sh
echo "prolog $(id -u) $GPUSCHED_JOB_ID.$GPUSCHED_ATTEMPT GPU=$GPUSCHED_GPU_IDS $GPUSCHED_GPU_UUIDS" >> /run/hooks
! test -e /run/hooks-fail
END
cat > /usr/local/sbin/gpu-epilog <<'END'
#!/bin/sh
echo "epilog $(id -u) $GPUSCHED_JOB_ID.$GPUSCHED_ATTEMPT GPU=$GPUSCHED_GPU_IDS $EXIT_CODE $EXIT_STATUS" >> /run/hooks
END
chmod 755 /usr/local/sbin/gpu-prolog /usr/local/sbin/gpu-epilog; systemctl daemon-reload`)
	t.Cleanup(func() {
		sh(t, "", "rm -f "+dir+"/60-hooks.conf /usr/local/sbin/gpu-prolog /usr/local/sbin/gpu-epilog /run/hooks /run/hooks-fail; rmdir --ignore-fail-on-non-empty "+dir+"; systemctl daemon-reload")
	})
	hooks := func() string { return sh(t, "", "cat /run/hooks") }

	id := submit(t, "alice", "-g 2 -- sh -c 'echo $GPUSCHED_GPU_IDS $GPUSCHED_GPU_UUIDS; exit 3'")
	mustEnd(t, wait(t, id), "failed", "exit code 3")
	gpus := strings.Fields(sh(t, "alice", fmt.Sprintf("gpusched logs %d | tail -1", id)))
	if len(gpus) != 2 {
		t.Fatalf("the job has %q", gpus)
	}
	want := fmt.Sprintf("prolog 0 %d.1 GPU=%s %s\nepilog 0 %d.1 GPU=%s exited 3", id, gpus[0], gpus[1], id, gpus[0])
	if got := strings.TrimSpace(hooks()); got != want {
		t.Errorf("hooks: %s, want %s", got, want)
	}

	id = submit(t, "bob", "-g 0 -- true")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if got := hooks(); !regexp.MustCompile(fmt.Sprintf(`(?m)^prolog 0 %d.1 GPU= *$`, id)).MatchString(got) {
		t.Errorf("hooks of a job without a GPU: %s", got)
	}

	sh(t, "", "touch /run/hooks-fail")
	id = submit(t, "alice", "-g 1 -- true")
	poll(t, "health names the prolog", func() bool {
		text, _ := health(t)
		return strings.Contains(text, "a program that the site set to run before jobs in gpujob-.service.d failed")
	})
	sh(t, "", "rm /run/hooks-fail")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}
