package launch

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// limitsWord encodes limits for Limited, without those that this process already has.
func limitsWord(limits []contract.Limit) string {
	var words []string
	for _, l := range limits {
		var have unix.Rlimit
		err := unix.Prlimit(0, resources()[l.Name], nil, &have)
		if err == nil && l.Soft == have.Cur && (l.Hard == 0 || l.Hard >= have.Max) {
			continue
		}
		words = append(words, fmt.Sprintf("%s=%d:%d", l.Name, l.Soft, l.Hard))
	}
	if len(words) == 0 {
		return contract.NoLimits
	}
	return strings.Join(words, ",")
}

// LimitsOf encodes the limits of a process for Limited.
func LimitsOf(pid int) string {
	var words []string
	for name, resource := range resources() {
		var have unix.Rlimit
		if unix.Prlimit(pid, resource, nil, &have) == nil {
			words = append(words, fmt.Sprintf("%s=%d:%d", name, have.Cur, have.Max))
		}
	}
	if len(words) == 0 {
		return contract.NoLimits
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

func parseLimits(word string) (limits []contract.Limit, ok bool) {
	if word == contract.NoLimits {
		return nil, true
	}
	for part := range strings.SplitSeq(word, ",") {
		name, rest, _ := strings.Cut(part, "=")
		soft, hard, _ := strings.Cut(rest, ":")
		l := contract.Limit{Name: name}
		var err, failed error
		l.Soft, err = strconv.ParseUint(soft, 10, 64)
		l.Hard, failed = strconv.ParseUint(hard, 10, 64)
		if err != nil || failed != nil {
			return nil, false
		}
		limits = append(limits, l)
	}
	return limits, true
}

// statusNotRun is a shell's exit status for a command that it can't run.
const statusNotRun = 127

// Limited replaces this process with the command argv. The argument encoded is the command's limits
// in their encoded form. A process that keeps a terminal runs its commands through Limited. Limited
// returns only after a failure.
func Limited(encoded string, argv, environ []string) int {
	limits, ok := parseLimits(encoded)
	if !ok {
		os.Stderr.WriteString("gpusched: invalid limits: " + strconv.Quote(shorten(encoded)) + "\n")
		return statusNotRun
	}
	s := &Spec{Program: contract.Program{Argv: argv}, SoftLimits: limits}
	runtime.LockOSThread()
	reserve(s, environ)
	f := (*Failure)(nil)
	if err := setLimits(limits); err != nil {
		f = limitsFailure(err)
	} else {
		path, err := execute(argv, environ, replace)
		f = execFailure(argv, path, err)
	}
	os.Stderr.WriteString("gpusched: the command could not be run: " + f.Error() + "\n")
	return statusNotRun
}
