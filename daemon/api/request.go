package api

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// NewKey returns a new, unique request key.
func NewKey() string {
	// The key is valid only for its user, so it need not be secret. Making the tables of
	// crypto/rand would delay each start of the command.
	return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
}

// NewRequest returns a request for one GPU and a command. The command will run as the calling
// process would run it: in its directory, with its umask, and with environ (os.Environ()). The
// program is looked up in PATH when the job starts. The caller can change the request before
// sending it.
func NewRequest(environ []string, argv ...string) (SubmitRequest, error) {
	if len(argv) == 0 {
		return SubmitRequest{}, fmt.Errorf("there is no command to run")
	}
	dir, err := os.Getwd()
	if err != nil {
		return SubmitRequest{}, fmt.Errorf("find the directory for the job: %w", err)
	}
	umask, err := ownUmask()
	if err != nil {
		return SubmitRequest{}, fmt.Errorf("find the umask for the job: %w", err)
	}
	name := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	return SubmitRequest{
		Key: NewKey(), Label: job.Label{Name: name}, Request: job.Request{GPUMilli: job.WholeGPU},
		Program: Program{Argv: argv, EnvMode: contract.EnvInherit, Env: environ, Dir: Bytes(dir), Umask: umask},
	}, nil
}

// ownUmask returns the umask of this process. It reads /proc, because umask(2) would change the
// umask of all threads for a moment.
func ownUmask() (umask int, err error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "\nUmask:")
	_, err = fmt.Sscanf(rest, "%o", &umask)
	return umask, err
}
