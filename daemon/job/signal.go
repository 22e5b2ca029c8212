package job

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// The signals of a stop, on Linux.
const (
	SIGKILL = 9
	SIGTERM = 15
)

// signalNames are Linux's standard signals by number.
var signalNames = [...]string{
	1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1",
	11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 16: "STKFLT", 17: "CHLD", 18: "CONT", 19: "STOP",
	20: "TSTP", 21: "TTIN", 22: "TTOU", 23: "URG", 24: "XCPU", 25: "XFSZ", 26: "VTALRM", 27: "PROF", 28: "WINCH",
	29: "IO", 30: "PWR", 31: "SYS",
}

// SignalName returns the name without SIG. For a real-time signal it is "RT" and the kernel's
// number: RT34 is what the shell calls RTMIN.
func SignalName(n int) string {
	if n > 0 && n < len(signalNames) {
		return signalNames[n]
	}
	return "RT" + strconv.Itoa(n)
}

// aimed is the prefix of a signal that goes only to the main process.
const aimed = SignalMain + ":"

// AimedSignal returns SignalName, or "main:USR1" for a signal that goes only to the main process.
func AimedSignal(n int, main bool) string {
	if main {
		return aimed + SignalName(n)
	}
	return SignalName(n)
}

// ParseAimed reads the form of AimedSignal. The signal itself may have any form that ParseSignal
// reads.
func ParseAimed(s string) (n int, main bool, err error) {
	name, main := strings.CutPrefix(s, aimed)
	n, err = ParseSignal(name)
	return n, main, err
}

// ParseSignal reads USR1, SIGUSR1, 10, and forms such as RT34, which SignalName prints.
func ParseSignal(s string) (int, error) {
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	for n := 1; n <= contract.MaxSignal && isASCII(s); n++ {
		if name == SignalName(n) || s == strconv.Itoa(n) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%q is not a signal: use a name such as USR1 or a number from 1 to %d", s, contract.MaxSignal)
}
