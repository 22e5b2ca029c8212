package jobenv

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// SnapshotOptions ask for a copy of the code in which the job runs.
type SnapshotOptions struct {
	Snapshot *string `name:"snapshot" type:"optional" placeholder:"DIR" group:"around"`
}

// Source returns the directory that is to be copied for a job in the directory dir, or "" if no
// copy is asked for. That is the named directory, or else the top of the git work tree, or else the
// job's directory.
func (o *SnapshotOptions) Source(ctx context.Context, a *cli.App, dir string) (string, error) {
	if o.Snapshot == nil {
		return "", nil
	}
	here, err := filepath.EvalSymlinks(dir)
	source := here
	if err == nil && *o.Snapshot == "" {
		source, err = gitTop(ctx, a, here)
		source = cmp.Or(source, here)
	} else if err == nil {
		if source, err = WorkDir(a, *o.Snapshot); err == nil {
			source, err = filepath.EvalSymlinks(source)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", CheckDirectory(cmp.Or(*o.Snapshot, dir), "a snapshot is made when you submit")
	}
	if err != nil {
		return "", err
	}
	if _, ok := Below(source, here); !ok || source == "/" {
		return "", cli.Refuse(api.CodeUsage, "choose the job's directory with --chdir, or a directory above it with --snapshot=DIR",
			"the job's directory %q is not in %q, of which a snapshot would be made", dir, source)
	}
	return source, nil
}

// Below returns the path of a file relative to a directory, if the file is in that directory.
func Below(dir, name string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, name)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// SnapshotsDir returns the directory with the copies of a user's code.
func SnapshotsDir(a *cli.App) string {
	return filepath.Join(filepath.Dir(StateDir(a)), contract.SnapshotsDir)
}
