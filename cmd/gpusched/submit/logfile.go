package submit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// What access(2) is asked.
const (
	searchable = 1
	writable   = 2
)

// checkLog refuses a log that could not be written to, as far as that can be told now.
// What stands for the job can't be: of a path with it, that is the directory before it.
func (c *JobOptions) checkLog(a *cli.App, dir string) error {
	if c.Log == "" || c.Log == job.NoLog || c.Force || len(c.Log) > job.MaxLogBytes {
		return nil
	}
	if err := unexpanded("--log", c.Log); err != nil {
		return err
	}
	path := c.Log
	if rest, ofHome := job.InHome(path); ofHome {
		path = filepath.Join("/", a.Getenv("HOME"), rest)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if known, _, varies := strings.Cut(path, "%"); varies {
		return c.checkLogDir(a, filepath.Dir(known+"x"))
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return c.checkLogDir(a, filepath.Dir(path))
	case err != nil:
		return c.noLog(a, err.Error())
	case path == os.DevNull:
		return cli.Refuse(api.CodeUsage, "--log none is no file, also where the site has one for all jobs", "the output can't go to %q", path)
	case !info.Mode().IsRegular():
		return c.noLog(a, "it is there and not a regular file")
	case syscall.Access(path, writable) != nil:
		return c.noLog(a, "you can't write to it")
	}
	return nil
}

// checkLogDir looks at the directory, or at the nearest above it that is there: what is
// missing is made when the job starts.
func (c *JobOptions) checkLogDir(a *cli.App, dir string) error {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return c.noLog(a, err.Error())
	case !info.IsDir():
		return c.noLog(a, dir+" is not a directory")
	case syscall.Access(dir, writable|searchable) != nil:
		return c.noLog(a, "you can't write to "+dir)
	}
	return nil
}

func (c *JobOptions) noLog(a *cli.App, why string) error {
	return cli.Refuse(api.CodeUsage, jobenv.ForceHint(a), "the output can't go to %q: %s", c.Log, why)
}
