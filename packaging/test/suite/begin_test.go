//go:build machine

package suite

import (
	"slices"
	"strings"
	"testing"
)

// begin registers the cleanup of a test: it ends all jobs, restores the GPUs, and starts the
// daemon. If the test failed, the cleanup prints the journal. If a test leaves anything else
// behind, that test fails rather than a later one.
func begin(t *testing.T) {
	t.Helper()
	// Jobs of many tests wait for ~/go or ~/end, which an earlier test may have left.
	since, was, _ := strings.Cut(sh(t, "", "rm -f /home/*/go /home/*/end; date +'%Y-%m-%d %H:%M:%S'"+setUp), "\n")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("journal since the test began:\n%s", try(t, "", "journalctl --no-pager -o short-precise --since '"+since+"' | tail -150").Stdout)
		}
		is := strings.Split(sh(t, "", putBack+setUp), "\n")
		for line := range strings.SplitSeq(was, "\n") {
			if !slices.Contains(is, line) {
				t.Errorf("the test changed or took away %s", line)
			}
		}
		for _, line := range is {
			if !slices.Contains(strings.Split(was, "\n"), line) {
				t.Errorf("the test left %s", line)
			}
		}
	})
}

// setUp prints what a test may create and must remove itself: settings, units and drop-ins,
// accounts, lingering user managers, and mounts.
const setUp = `
cd /
find etc/gpusched etc/systemd run/systemd/system var/lib/systemd/linger -type f -exec md5sum {} + 2>/dev/null | sort
for f in passwd group shadow subuid nsswitch.conf; do echo $(tr , '\n' <etc/$f | tr : '\n' | sort | md5sum) $f; done # in any order
awk '$2 !~ "^/(proc|sys|dev|run/(user|credentials|lock))(/|$)" {print "mount", $2}' /proc/mounts | sort`

// putBack ends all jobs and reservations, resumes all GPUs, and starts
// the daemon. It prints what it cannot restore. It first waits until the
// daemon knows the GPUs: right after its start the daemon knows none.
const putBack = `
systemctl reset-failed gpusched.service 2>/dev/null; systemctl start gpusched.socket gpusched.service
ids=$(gpusched list -o ids); if [ -n "$ids" ]; then gpusched cancel $ids; gpusched wait $ids; fi >/dev/null 2>&1
for r in $(gpusched reserve list -o ids); do gpusched reserve cancel $r; done >/dev/null
rm -rf /run/fakenvml/gpus /run/fakenvml/claims/*; gpusched daemon resume >/dev/null
for n in $(seq 300); do
	gpus=$(gpusched gpus -o ids 2>/dev/null); [ -n "$gpus" ] && gpusched gpu resume $gpus >/dev/null 2>&1
	out=$(gpusched gpus 2>&1 | grep -E 'paused|drained'); [ -n "$gpus" ] && [ -z "$out" ] && break; sleep 0.1
done
gpusched list -o ids | sed 's/^/job /'; gpusched reserve list -o ids | sed 's/^/reservation /'; [ -z "$out" ] || echo "$out"`
