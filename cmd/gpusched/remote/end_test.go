package remote

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stays is an ssh that does not end with its input: something on the other side holds its output open. Told to end it
// leaves a file. Of a master it says that it is the process in a file.
const stays = `case "$*" in *"-O check -- a"*) echo "Master running (pid=$(cat "$0.master"))" >&2; exit ;; esac
echo $$ >"$0.pid"
trap 'echo >"$0.told"; exit 1' TERM
`

const andStays = "cat >/dev/null\nwhile :; do sleep 0.05; done\n"

// program is the ssh of a test.
func program(t *testing.T) string {
	t.Helper()
	dir, _, _ := strings.Cut(os.Getenv("PATH"), ":")
	return filepath.Join(dir, "ssh")
}

// wasTold waits until the ssh of calls has ended, and says whether it was told to.
func wasTold(t *testing.T, calls *Calls) bool {
	t.Helper()
	for _, c := range calls.list() {
		await(t, c)
	}
	_, err := os.Stat(program(t) + ".told")
	return err == nil
}

func TestAnSSHThatStaysIsToldToEnd(t *testing.T) {
	refuses := "read q\necho '" + mark + `{"refused":{"code":"unreachable","message":"no"}}` + "'\n"
	for name, script := range map[string]string{"after a connection": greets, "after a refusal": refuses} {
		ssh(t, stays+script+andStays)
		var calls Calls
		conn, _, err := calls.Dial(t.Context(), "a", Question{})
		if (conn == nil) != (err != nil) || len(calls.list()) != 1 {
			t.Fatalf("%s: %v, %v", name, conn, err)
		}
		if conn != nil {
			conn.Close()
		}
		if !wasTold(t, &calls) {
			t.Errorf("%s: it was not told", name)
		}
	}
}

// The end of the program is the end of what it has not closed, and waits for what ends by itself.
func TestTheEndOfAllCalls(t *testing.T) {
	var calls Calls
	for _, script := range []string{greets + "cat >/dev/null\n", stays + greets + andStays} {
		ssh(t, script)
		if _, _, err := calls.Dial(t.Context(), "a", Question{}); err != nil {
			t.Fatal(err)
		}
	}
	calls.End()
	if !wasTold(t, &calls) {
		t.Error("the one that stays was not told")
	}
	calls.End()
	(*Calls)(nil).End()
}

func TestAnSSHThatEndsByItselfIsNotTold(t *testing.T) {
	ssh(t, stays+greets+"cat >/dev/null\n")
	var calls Calls
	conn, _, err := calls.Dial(t.Context(), "a", Question{})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if wasTold(t, &calls) {
		t.Error("it was told")
	}
}

// One that has become the master of the user's other sessions stays for these; one that shares another's does not.
func TestAMasterIsLeftToThoseWhoShareIt(t *testing.T) {
	for _, own := range []bool{true, false} {
		ssh(t, stays+greets+andStays)
		var calls Calls
		_, _, err := calls.Dial(t.Context(), "a", Question{})
		if err != nil {
			t.Fatal(err)
		}
		pid, err := os.ReadFile(program(t) + ".pid")
		if err != nil {
			t.Fatal(err)
		}
		if !own {
			pid = []byte("1")
		}
		if err := os.WriteFile(program(t)+".master", []byte(strings.TrimSpace(string(pid))), 0o600); err != nil {
			t.Fatal(err)
		}
		began, c := time.Now(), calls.list()[0]
		calls.End()
		if took := time.Since(began); took < endTime {
			t.Errorf("it had %s", took)
		}
		if own {
			c.signal(syscall.SIGKILL)
		}
		if wasTold(t, &calls) == own {
			t.Errorf("its own: %v, and it was told: %v", own, !own)
		}
	}
}
