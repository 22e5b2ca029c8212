//go:build machine

package suite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestWhyInFull: 'gpusched why' shows two users which jobs are ahead of a job. Only the owner sees
// what would start the job sooner. Both users see a chart of the coming hours, on a terminal with
// UTF-8 and on one with only ASCII.
func TestWhyInFull(t *testing.T) {
	begin(t)
	t.Cleanup(func() {
		for _, user := range []string{"alice", "bob"} {
			try(t, user, "tmux -L why kill-server")
		}
	})
	long := submit(t, "alice", "-g 3 --mem 400M -t 2h -n train -- sleep 1000")
	half := submit(t, "bob", "-g 0.5 --gpus-from 3 --mem 400M -t 30m -n half -- sleep 1000")
	wide := submit(t, "bob", "-g 4 --mem 400M -t 1h -n wide -- true")
	held := submit(t, "bob", "-g 1 --hold -n held -- true")
	later := submit(t, "bob", "-g 1 --begin +5h -n later -- true")
	mine := submit(t, "alice", "-g 2 --mem 400M -t 3h -p -1 -n mine -- true")
	shown := 0
	screen := func(user string, columns int, line string) string {
		shown++
		name := fmt.Sprintf("w%d", shown)
		sh(t, user, fmt.Sprintf("LANG=C.UTF-8 TERM=xterm-256color tmux -u -L why new-session -d -s %s -x %d -y 24 '%s; echo end; cat'", name, columns, line))
		var pane string
		poll(t, "the screen is there", func() bool {
			pane = try(t, user, "tmux -L why capture-pane -p -S -100 -t "+name).Stdout
			return strings.Contains(pane, "\nend")
		})
		t.Logf("%s at %d columns: %s\n%s", user, columns, line, pane)
		return pane
	}
	why := screen("alice", 80, fmt.Sprintf("gpusched why %d", mine))
	if !strings.Contains(why, fmt.Sprintf("%d (bob, wide, 4 GPUs): its priority is 0, job %d's is -1", wide, mine)) {
		t.Error("the jobs before it are missing")
	}
	for _, other := range []int64{held, later} {
		if strings.Contains(why, fmt.Sprintf("%d (bob", other)) {
			t.Errorf("the output says that job %d is before it", other)
		}
	}
	if theirs := screen("bob", 80, fmt.Sprintf("gpusched why %d", mine)); strings.Contains(theirs, "sooner") {
		t.Error("another user is told what would start it sooner")
	}
	for _, columns := range []int{80, 120} {
		pane := screen("alice", columns, fmt.Sprintf("gpusched why --plan %d", mine))
		// The lengths of the bars are not checked, because they depend on earlier run times.
		for _, want := range []string{
			"^GPU 0 ", "██ job", fmt.Sprintf("^%d +alice +train ", long), fmt.Sprintf("^%d +bob +half ", half), fmt.Sprintf("^%d +bob +wide ", wide),
		} {
			if !regexp.MustCompile("(?m)" + want).MatchString(pane) {
				t.Errorf("%q is not in the chart", want)
			}
		}
	}
	screen("alice", 120, fmt.Sprintf("gpusched why %d", mine))
	screen("alice", 80, fmt.Sprintf("gpusched why %d", wide))
	if pane := screen("bob", 80, "LANG=C gpusched why --plan"); strings.ContainsAny(pane, "━─┄█") || !strings.Contains(pane, "\nGPU 0 ") {
		t.Error("the chart is not ASCII")
	}
}
