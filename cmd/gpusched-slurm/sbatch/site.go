package sbatch

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Site is what has to be known of a Slurm to say something to it. What is zero is not
// there, or not known.
type Site struct {
	Version Version

	// GPUTypes are the types that its gres "gpu" has, such as a100; none where it has none.
	GPUTypes []string

	// Shards and MPS are how many of the gres "shard" and "mps" one GPU has at least; 0
	// where they are not configured. MostShards is how many the largest one has.
	Shards, MostShards, MPS int

	// ShardBytes is the GPU memory that one shard stands for, the least of all nodes, 0 where
	// one of those that have shards does not say it (ShardMem).
	ShardBytes int64

	// Features are those of its nodes, as --constraint takes them.
	Features []string

	// QOS are the qualities of service that the user may ask for.
	QOS []string

	// MaxArraySize is Slurm's setting, one more than the highest number of a task.
	MaxArraySize int

	// KillWait is the time between SIGTERM and SIGKILL, the same for all jobs.
	KillWait time.Duration

	// Admin says that the user may raise priorities (an operator or administrator of Slurm's).
	Admin bool

	// Home is the directory that ~ is in the path of a log.
	Home string

	// Options are further ones of sbatch, each a word such as --partition=gpu: of the user's
	// settings, and of a script for sbatch (slurm.Batch.Native). Those that a request has are
	// put after them, and win. One task on one node, which a request does not ask, is before
	// them.
	Options []string
}

// Version is a release of Slurm, such as 22.5 for 22.05.
type Version struct{ Major, Minor int }

// ParseVersion reads "slurm 22.05.8", "22.05.8" and the like.
func ParseVersion(text string) (v Version, ok bool) {
	for _, form := range []string{"slurm %d.%d", "slurm-wlm %d.%d", "%d.%d"} {
		if n, _ := fmt.Sscanf(text, form, &v.Major, &v.Minor); n == 2 {
			return v, true
		}
	}
	return Version{}, false
}

// Since reports whether the release is the named one or a later one.
func (v Version) Since(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// String returns it as Slurm writes it, such as 22.05.
func (v Version) String() string { return fmt.Sprintf("%d.%02d", v.Major, v.Minor) }

// has reports whether the user may have a quality of service of a class's name.
func (s Site) has(c job.Class) bool {
	for _, q := range s.QOS {
		if q == c.String() {
			return true
		}
	}
	return false
}
