package feed

import (
	"os/exec"
	"testing"
)

// A line fails if any part of its pipe fails. It does not fail if a part ends by SIGPIPE because
// its reader needed no more.
func TestPiped(t *testing.T) {
	for line, want := range map[string]int{
		"yes | head -1 > /dev/null":             0,
		"cd / && yes | head -1 > /dev/null":     0,
		"yes | head -1 > /dev/null # comment":   0,
		"yes | head -1 | cat > /dev/null; :":    0,
		"true | cat":                            0,
		"false | cat":                           1,
		"yes | (head -1 > /dev/null; exit 3)":   3,
		"true | sh -c 'kill -PIPE $$'":          141,
		"true | cat; sh -c 'kill -PIPE $$'":     141,
		"false | yes | head -1 > /dev/null":     141,
		"yes | head -1 > /dev/null && exit 0":   141, // the command that follows && has not run
		"yes | head -1 > /dev/null && a | cat":  141,
		"cd /absent 2> /dev/null && true | cat": 1,
	} {
		argv := piped(line)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, not %d", line, got, want)
		}
	}
}
