package sbatch

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A Site is what is known about a Slurm. A zero field is unknown, or the Slurm does not have it.
type Site struct {
	Version Version

	// GPUTypes are the types of the Slurm's gres "gpu", such as a100.
	GPUTypes []string

	// Shards is the smallest number of "shard" gres on a GPU, and MPS
	// the smallest number of "mps" gres. Both are 0 if they are not
	// configured. MostShards is the largest number of shards on a GPU.
	Shards, MostShards, MPS int

	// ShardBytes is the GPU memory of a shard on the node with the smallest shards. It is 0 if a
	// node with shards does not state the size (ShardMem).
	ShardBytes int64

	// Features are the features of the nodes. --constraint selects nodes by them.
	Features []string

	// QOS are the qualities of service that the user may request.
	QOS []string

	// MaxArraySize is the setting of this name in Slurm: the highest task number plus one.
	MaxArraySize int

	// KillWait is the time between SIGTERM and SIGKILL for all jobs.
	KillWait time.Duration

	// Admin reports that the user may raise priorities. Slurm's operators and administrators may.
	Admin bool

	// Home replaces ~ in the path of a log.
	Home string

	// Options are further sbatch options from the user's environment and from a job script
	// (slurm.Batch.Native). Each is one word, such as --partition=gpu. The request's own options
	// follow and override them. The options for one task on one node, which no request contains,
	// come before all of these.
	Options []string
}

// A Version is a release of Slurm, such as {22, 5} for 22.05.
type Version struct{ Major, Minor int }

// ParseVersion parses texts such as "slurm 22.05.8" and "22.05.8".
func ParseVersion(text string) (v Version, ok bool) {
	for _, form := range []string{"slurm %d.%d", "slurm-wlm %d.%d", "%d.%d"} {
		if n, _ := fmt.Sscanf(text, form, &v.Major, &v.Minor); n == 2 {
			return v, true
		}
	}
	return Version{}, false
}

// Since reports whether v is this release or a later release.
func (v Version) Since(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// String formats the version as Slurm does, such as 22.05.
func (v Version) String() string { return fmt.Sprintf("%d.%02d", v.Major, v.Minor) }

// allowsClass reports whether the user may request a QOS with the class's name.
func (s Site) allowsClass(c job.Class) bool {
	return slices.Contains(s.QOS, c.String())
}
