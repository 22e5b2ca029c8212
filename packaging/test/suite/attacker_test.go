//go:build machine

package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// attackerPath is the path in the machine at which packaging/test/attacker is installed.
const attackerPath = "/usr/local/bin/attacker"

// attacker installs the attacking program. It also starts
// a job of alice's on GPU 1, which the program attacks.
func attacker(t *testing.T) (victim int64, pid string) {
	t.Helper()
	begin(t)
	installProgram(t, "../attacker", attackerPath)
	sh(t, "alice", "umask 077; echo very-secret > ~/private")
	victim = submit(t, "alice", "--gpu-ids 1 -C ~ -e TOKEN=hush-hush -n victim -- sleep 1000")
	waitRun(t, victim)
	daemon := daemonPID(t)
	pid = sh(t, "", fmt.Sprintf("systemctl show -P MainPID gpujob-%d", victim))
	t.Cleanup(func() {
		if j := show(t, "", victim); j.State != "running" || sh(t, "", fmt.Sprintf("systemctl show -P MainPID gpujob-%d", victim)) != pid {
			t.Errorf("alice's job is %s: %+v", j.State, j.Result)
		}
		if now := daemonPID(t); now != daemon {
			t.Errorf("the daemon was process %s and is now %s", daemon, now)
		}
	})
	return victim, pid
}

func daemonPID(t *testing.T) string { return sh(t, "", "systemctl show -P MainPID gpusched") }

// judge reads the lines that the attacker printed. It fails the test if an attempt was not refused,
// or if there were fewer attempts than the minimum.
func judge(t *testing.T, out string, minimum int) {
	t.Helper()
	counts := map[string]int{}
	total := 0
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		switch {
		case fields[0] == "HOLE":
			t.Errorf("not refused: %s", line)
		case fields[0] == "refused":
			counts[fields[1]]++
			total++
		case fields[0] != "flood":
			t.Errorf("the attacker says %q", line)
		}
	}
	var subjects []string
	for s, n := range counts {
		subjects = append(subjects, fmt.Sprintf("%s %d", s, n))
	}
	slices.Sort(subjects)
	t.Logf("%d attempts refused: %s", total, strings.Join(subjects, ", "))
	if total < minimum {
		t.Errorf("only %d attempts, of %d:\n%s", total, minimum, out)
	}
}

// measureDuring calls the given function. During the call it measures and logs how long 'gpusched
// list' takes for alice. Each list must be answered; people judge the times.
func measureDuring(t *testing.T, what string, action func()) {
	t.Helper()
	sh(t, "", "rm -f /run/latency; install -o alice -m 600 /dev/null /run/latency; systemd-run --quiet --collect --unit latency --property KillMode=process --uid alice "+attackerPath+" latency /run/latency")
	action()
	sh(t, "", "systemctl stop latency")
	told := sh(t, "", "cat /run/latency")
	t.Logf("%s: alice's 'gpusched list': %s", what, told)
	var times, failed int
	if _, err := fmt.Sscanf(told, "%d times, %d failed", &times, &failed); err != nil || times == 0 {
		t.Errorf("%s: alice's 'gpusched list' has never ended: %q", what, told)
	}
	if failed > 0 {
		t.Errorf("%s: %d of alice's %d 'gpusched list' failed: %s", what, failed, times, told)
	}
}

// openFiles calls the given function. It returns the largest number of files that the daemon had
// open during the call, minus the number before the call.
func openFiles(t *testing.T, happens func()) int {
	t.Helper()
	count := "ls /proc/" + daemonPID(t) + "/fd | wc -l"
	before, most := 0, 0
	sh(t, "", "systemd-run --quiet --collect --unit openfiles bash -c 'm=0; while :; do n=$("+count+"); [ $n -le $m ] || { m=$n; echo $m > /run/openfiles; }; sleep 0.02; done'")
	if _, err := fmt.Sscan(sh(t, "", count), &before); err != nil {
		t.Fatal(err)
	}
	happens()
	if _, err := fmt.Sscan(sh(t, "", "systemctl stop openfiles; cat /run/openfiles"), &most); err != nil {
		t.Fatal(err)
	}
	return most - before
}

// rawBytes returns the first dangerous character of a text, or "" if there is none. On a terminal,
// invisible direction marks and control characters other than newline are dangerous.
func rawBytes(text string) string {
	for _, r := range text {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' {
			return fmt.Sprintf("%q", r)
		}
	}
	return ""
}
