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

// Exists reports whether there is a file.
func Exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// CheckNoFilter reports what it means that a user's own systemd has no device filter, or
// that the site has one for its users' sessions, which their jobs are then in.
func CheckNoFilter() job.Check { return checkNoFilter("/dev", access) }

// access asks the kernel whether a node could be opened for reading and writing, and
// bothers no driver.
func access(path string) error { return syscall.Access(path, 6) }

func checkNoFilter(dev string, access func(string) error) job.Check {
	c := job.Check{
		Name: "device filter", Health: job.Limited,
		Detail: "not enforced: a user's systemd can't keep a job from GPUs that it was not given; CUDA_VISIBLE_DEVICES tells its programs which are its own",
		Next:   "where jobs must not open each other's GPUs, have an administrator install gpusched for the machine",
	}
	nodes, _ := filepath.Glob(filepath.Join(dev, "nvidia[0-9]*"))
	closed := 0
	for _, node := range nodes {
		if err := access(node); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			closed++
		}
	}
	if closed > 0 {
		return c.Degrade(fmt.Sprintf("%d of %d GPUs are closed to you, and to jobs of your own systemd, by their permissions or a device filter of this site's", closed, len(nodes)),
			"submit to the scheduler of the machine, without --user")
	}
	return c
}
