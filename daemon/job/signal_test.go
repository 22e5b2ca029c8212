package job

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

func TestParseSignal(t *testing.T) {
	for text, want := range map[string]int{
		"USR1": 10, "SIGUSR1": 10, "sigusr1": 10, "usr1": 10, "10": 10, "1": 1, "HUP": 1, "KILL": 9, "31": 31, "SYS": 31, "64": 64, "RT34": 34, "SIGRT64": 64, "rt32": 32,
	} {
		if got, err := ParseSignal(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "SIG", "0", "65", "-9", "+9", "--9", "09", " 9", "9 ", "９", "1e1", "SIG9", "SIGSIGTERM", "ſIGTERM", "RT", "RT0", "RT9", "RT65", "RT034", "NOPE", "99999999999999999999",
	} {
		if got, err := ParseSignal(text); got != 0 || err == nil || !strings.Contains(err.Error(), "from 1 to 64") {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

// The signals have the kernel's names.
func TestSignalName(t *testing.T) {
	for n := 1; n <= contract.MaxSignal; n++ {
		want := strings.TrimPrefix(unix.SignalName(syscall.Signal(n)), "SIG")
		if want == "" {
			want = "RT" + strconv.Itoa(n)
		}
		if got := SignalName(n); got != want {
			t.Errorf("%d: %q, the kernel's is %q", n, got, want)
		}
		for _, text := range []string{SignalName(n), "SIG" + SignalName(n), strconv.Itoa(n)} {
			if got, err := ParseSignal(text); got != n || err != nil {
				t.Errorf("%q: %d, %v", text, got, err)
			}
		}
	}
}

func FuzzParseSignal(f *testing.F) {
	for _, seed := range []string{"", "USR1", "SIGUSR1", "10", "RT34", "+9", "09", "SIG9", "ſIGTERM", "９", "65", "-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseSignal(text)
		if err != nil {
			return
		}
		if again, err := ParseSignal(SignalName(n)); n < 1 || n > contract.MaxSignal || !isASCII(text) || again != n || err != nil {
			t.Fatalf("%q is %d, again %d, %v", text, n, again, err)
		}
	})
}
