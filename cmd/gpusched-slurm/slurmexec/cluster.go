package slurmexec

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// clusterName caches the name of the cluster.
type clusterName struct {
	sync.Mutex
	text string
}

// clusterVariables direct some of Slurm's programs, but not all, to a cluster other than that of
// slurm.conf. They are never passed on.
var clusterVariables = []string{"SBATCH_CLUSTERS", "SLURM_CLUSTERS"}

// OneCluster returns an error if the environment or an option of a script names another cluster. In
// another cluster the same job ids belong to other jobs.
func (r *Runner) OneCluster(ctx context.Context) error {
	where := r.otherCluster
	if i := slices.IndexFunc(r.Options, isCluster); i >= 0 {
		where = r.Options[i]
	}
	if where == "" {
		return nil
	}
	name, err := r.cluster(ctx)
	if err != nil {
		return err
	}
	_, value, _ := strings.Cut(where, "=")
	if value == name {
		return nil
	}
	return engines.Refuse(api.CodeUsage, "leave it out; SLURM_CONF with the path of its slurm.conf leads to another cluster",
		"%s names another cluster, and gpusched asks only the cluster of slurm.conf, %q", where, name)
}

// isCluster reports whether a word is the option of sbatch that names another cluster.
func isCluster(word string) bool {
	return strings.HasPrefix(word, "-M") || strings.HasPrefix(word, "--cluster")
}

// cluster returns the name of the cluster that slurm.conf names.
func (r *Runner) cluster(ctx context.Context) (string, error) {
	r.name.Lock()
	defer r.name.Unlock()
	if r.name.text != "" {
		return r.name.text, nil
	}
	out, err := r.output(ctx, askTime, nil, "scontrol", "show", "config")
	r.name.text = Settings(string(out))["ClusterName"]
	return r.name.text, err
}

// SubmittedID returns the job id from the output of sbatch --parsable, "ID" or "ID;CLUSTER".
func (r *Runner) SubmittedID(ctx context.Context, said string) (job.ID, error) {
	number, cluster, elsewhere := strings.Cut(strings.TrimSpace(said), ";")
	if elsewhere {
		name, err := r.cluster(ctx)
		if err != nil {
			return 0, err
		}
		if name != cluster {
			return 0, engines.Refuse(api.CodeConflict, fmt.Sprintf("see 'squeue --clusters=%s --jobs=%s'", cluster, number),
				"sbatch has queued it as job %s of %s, which is another cluster than the one that gpusched asks", number, cluster)
		}
	}
	id, err := job.ParseID(number)
	if err != nil {
		return 0, &api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("sbatch answered %q instead of a job id", said),
			Hint: "it may be queued: see 'gpusched list'"}
	}
	return id, nil
}

// clusterOf returns the environment variable that names another cluster, as NAME=VALUE, or "".
func clusterOf(environ []string) string {
	for _, name := range clusterVariables {
		if value := engines.Variable(environ, name); value != "" {
			return name + "=" + value
		}
	}
	return ""
}

// Settings parses "Name = value" lines.
func Settings(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, "="); ok {
			found[strings.TrimSpace(key)] = Known(strings.TrimSpace(value))
		}
	}
	return found
}

// Known returns the value, or "" if the value is one of Slurm's words for "none".
func Known(value string) string {
	switch value {
	case "(null)", "N/A", "n/a", "None", "NONE", "Unknown", "UNKNOWN", "NO_VAL":
		return ""
	}
	return value
}
