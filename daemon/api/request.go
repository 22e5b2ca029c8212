package api

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// NewKey makes a request key: no two are alike.
func NewKey() string {
	// It is no secret, as a key is good for its user alone; the tables of crypto/rand take time at each start.
	return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
}

// NewRequest returns a request for one GPU for a command that runs as the calling process
// would run it: in its directory, with this environment (os.Environ()) and its umask. The
// program is looked up in PATH when the job starts. Whatever else the job needs, the caller
// puts in.
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

// ownUmask reads the umask of this process, which the system call for it would have to
// change, under the feet of other threads.
func ownUmask() (umask int, err error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "\nUmask:")
	_, err = fmt.Sscanf(rest, "%o", &umask)
	return umask, err
}
