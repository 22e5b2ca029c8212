package submit

import (
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/job"
)

// DefaultName returns a name for a job. It is the program's name, or the name of the script or
// module that an interpreter or launcher runs.
func DefaultName(argv []string) string {
	program := filepath.Base(argv[0])
	name := program
	if job.IsWrapper(program) {
		name = wrapped(argv[1:], program)
	}
	return cli.PrintableName(name)
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
			return program // -c or -lc: the next argument is a script's text, not a file
		}
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && strings.Trim(arg, "0123456789.smhd") != "" {
			return filepath.Base(arg)
		}
	}
	return program
}
