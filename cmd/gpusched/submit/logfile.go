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

// These are the modes that access(2) takes.
const (
	searchable = 1
	writable   = 2
)

// checkLog returns an error if the job could not write to its log file. If the path contains a
// pattern such as %j, it checks only the directory above the pattern.
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
		return cli.Refuse(api.CodeUsage, "use --log none for no file, even if the site sets one for all jobs", "the output can't go to %q", path)
	case !info.Mode().IsRegular():
		return c.noLog(a, "it exists and is not a regular file")
	case syscall.Access(path, writable) != nil:
		return c.noLog(a, "you can't write to it")
	}
	return nil
}

// checkLogDir checks the directory, or the nearest parent that exists. Missing directories are
// created when the job starts.
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
