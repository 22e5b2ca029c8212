package sbatch

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A Site is what is known of a Slurm. A zero field is unknown, or not there.
type Site struct {
	Version Version

	// GPUTypes are the types of its gres "gpu", such as a100.
	GPUTypes []string

	// Shards and MPS are the fewest of the gres "shard" and "mps" that a GPU has; 0 if they are not
	// configured. MostShards is the most shards of a GPU.
	Shards, MostShards, MPS int

	// ShardBytes is the GPU memory of a shard, the least of all nodes; 0 if a node with shards does
	// not say it (ShardMem).
	ShardBytes int64

	// Features are the features of its nodes, for --constraint.
	Features []string

	// QOS are the qualities of service that the user may ask for.
	QOS []string

	// MaxArraySize is Slurm's setting: the highest task number, plus one.
	MaxArraySize int

	// KillWait is the time between SIGTERM and SIGKILL for all jobs.
	KillWait time.Duration

	// Admin reports that the user may raise priorities, as Slurm's operators and administrators
	// may.
	Admin bool

	// Home is what ~ stands for in the path of a log.
	Home string

	// Options are further sbatch options, one word each such as --partition=gpu: from the user's
	// environment and from a job script (slurm.Batch.Native). The request's own options follow and
	// override them. One task on one node, which no request asks for, comes before them.
	Options []string
}

// A Version is a release of Slurm, such as {22, 5} for 22.05.
type Version struct{ Major, Minor int }

// ParseVersion parses "slurm 22.05.8", "22.05.8" and the like.
func ParseVersion(text string) (v Version, ok bool) {
	for _, form := range []string{"slurm %d.%d", "slurm-wlm %d.%d", "%d.%d"} {
		if n, _ := fmt.Sscanf(text, form, &v.Major, &v.Minor); n == 2 {
			return v, true
		}
	}
	return Version{}, false
}

// Since reports whether v is this release or a later one.
func (v Version) Since(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// String formats the version as Slurm does, such as 22.05.
func (v Version) String() string { return fmt.Sprintf("%d.%02d", v.Major, v.Minor) }

// has reports whether the user may ask for a QOS with the class's name.
func (s Site) has(c job.Class) bool {
	for _, q := range s.QOS {
		if q == c.String() {
			return true
		}
	}
	return false
}
