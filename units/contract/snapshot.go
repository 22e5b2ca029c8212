package contract

import "path"

// Snapshot describes the copy of a directory in which a job runs, so that what is edited meanwhile
// makes no difference to the job. The client makes the copy before it submits the job.
type Snapshot struct {
	Dir     string `json:"dir,omitempty"` // made for the copy alone; removed when the last job with this copy is forgotten
	Source  string `json:"source"`        // the directory that was copied; in a client without Dir: that is to be copied
	Commit  string `json:"commit,omitempty"`
	Changed int    `json:"changed,omitempty"` // how many files differed from the commit
	Diff    string `json:"diff,omitempty"`    // hash of these files
}

// SnapshotsDir is the name of the directory of all copies, below a user's directory for states.
const SnapshotsDir = "gpusched/snapshots"

// IsSnapshot reports whether a directory has the place of one that was made for a copy.
func IsSnapshot(dir string) bool {
	up := path.Dir(dir)
	return path.Join(path.Base(path.Dir(up)), path.Base(up)) == SnapshotsDir
}

// SnapshotMade is a file beside the copy. The copy is complete since the time of this file's last
// change, and whatever was changed later is the work of a job.
const SnapshotMade = ".made"

// SnapshotRepository is a directory beside the copy of a git work tree. It makes the copy a work tree
// of the same repository.
const SnapshotRepository = ".repository"

// IsZero reports whether the job runs in the directory itself.
func (s Snapshot) IsZero() bool { return s == Snapshot{} }

// Tree returns the copy. It has the name of the directory that was copied, since some programs show
// it.
func (s Snapshot) Tree() string { return path.Join(s.Dir, path.Base(s.Source)) }
