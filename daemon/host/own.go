package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gpusched/gpusched/daemon/job"
)

// Exists reports whether a file exists.
func Exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// CheckNoFilter reports that a user's own systemd has no device filter. It reports a fault if the
// site's device filter for sessions closes GPUs to the user, because the user's jobs run in a
// session.
func CheckNoFilter() job.Check { return checkNoFilter("/dev", access) }

// access asks the kernel whether a file may be read and written.
// Opening the file instead would call the driver.
func access(path string) error { return syscall.Access(path, 6) }

func checkNoFilter(dev string, access func(string) error) job.Check {
	c := job.Check{
		Name: "device filter", Health: job.Limited,
		Detail: "not enforced: a user's systemd can't keep a job from GPUs that it was not given; CUDA_VISIBLE_DEVICES tells programs which are the job's",
		Next:   "if jobs must not open each other's GPUs, ask an administrator to install gpusched for the machine",
	}
	nodes, _ := filepath.Glob(filepath.Join(dev, "nvidia[0-9]*"))
	closed := 0
	for _, node := range nodes {
		if err := access(node); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			closed++
		}
	}
	if closed > 0 {
		return c.Degrade(fmt.Sprintf("%d of %d GPUs are closed to you, and to jobs of your own systemd, by their permissions or by a device filter of this site", closed, len(nodes)),
			"submit to the scheduler of the machine, without --user")
	}
	return c
}
