//go:build machine

package systemd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

// actorPrefix marks the argument that says how a unit of these tests behaves. This test binary is
// the launcher of the units.
const actorPrefix = "/unit:"

// stubbornWord is the argument, after actorPrefix, that calls actStubborn.
const stubbornWord = "stubborn"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], actorPrefix) {
		if os.Args[1] == actorPrefix+stubbornWord {
			os.Exit(actStubborn())
		}
		var b unittest.Behaviour
		if err := json.Unmarshal([]byte(strings.TrimPrefix(os.Args[1], actorPrefix)), &b); err != nil {
			panic(err)
		}
		os.Exit(act(b))
	}
	os.Exit(m.Run())
}

// act is the main process of a unit. It becomes a shell, because the Go runtime would swallow some
// signals.
func act(b unittest.Behaviour) int {
	if b.Launch != "" {
		if ok, err := daemon.SdNotify(false, fmt.Sprintf("STATUS=%s%s\nERRNO=%d", contract.StatusPrefix, b.Launch, b.Errno)); !ok || err != nil {
			return 99
		}
		return b.Code
	}
	if b.Extends {
		return insist(b.Stopping)
	}
	var script strings.Builder
	if b.Deaf {
		script.WriteString(`trap "" HUP INT QUIT TERM USR1 USR2 PIPE; `)
	}
	if b.Orphan {
		script.WriteString("setsid sleep infinity & ")
	}
	switch {
	case b.Ends && b.Signal != 0:
		fmt.Fprintf(&script, "kill -%d $$", b.Signal)
	case b.Ends && b.Code >= 200: // reserved by systemd: it counts as the command's once systemd has seen the start
		fmt.Fprintf(&script, "sleep 0.3; exit %d", b.Code)
	case b.Ends:
		fmt.Fprintf(&script, "exit %d", b.Code)
	default:
		script.WriteString("exec sleep infinity")
	}
	fmt.Fprintln(os.Stderr, syscall.Exec("/bin/sh", []string{"sh", "-c", script.String()}, os.Environ()))
	return 98
}

// insist runs until it is killed, and keeps extending the time that systemd gives it.
func insist(stopping bool) int {
	signal.Ignore(syscall.SIGTERM)
	say := "EXTEND_TIMEOUT_USEC=3600000000"
	if stopping {
		say = "STOPPING=1\n" + say
	}
	for {
		if _, err := daemon.SdNotify(false, say); err != nil {
			return 97
		}
		if err := os.WriteFile("/proc/self/comm", []byte("sleep"), 0); err != nil { // settled waits for this name
			return 96
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func actorArgument(b unittest.Behaviour) string {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	return actorPrefix + string(text)
}
