package client

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/gpusched/gpusched/daemon/job"
)

// nameOf finds a name for a job: its program, or the script or module that an
// interpreter or launcher runs.
func nameOf(argv []string) string {
	program := filepath.Base(argv[0])
	name := program
	if job.IsWrapper(program) {
		name = wrapped(argv[1:], program)
	}
	return printableName(name)
}

func wrapped(args []string, program string) string {
	for i, arg := range args {
		if job.IsScript(arg) {
			return filepath.Base(arg)
		}
		if arg == "-m" && i+1 < len(args) {
			return args[i+1]
		}
		if len(arg) < 5 && strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "c") {
			return program // -c, -lc: a script in the next argument
		}
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && strings.Trim(arg, "0123456789.smhd") != "" {
			return filepath.Base(arg)
		}
	}
	return program
}

// printableName makes a valid job name of anything.
func printableName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == utf8.RuneError || !job.Printable(string(r)) {
			r = '?'
		}
		if b.Len()+utf8.RuneLen(r) > job.MaxNameBytes {
			break
		}
		b.WriteRune(r)
	}
	if strings.TrimSpace(b.String()) == "" {
		return "job"
	}
	return b.String()
}
