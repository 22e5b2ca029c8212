package onslurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// clusterVariables send some of Slurm's programs, and not all of them, to another cluster than that of its
// slurm.conf. None of them is passed on.
var clusterVariables = []string{"SBATCH_CLUSTERS", "SLURM_CLUSTERS"}

// thisCluster refuses where the environment, or an option of a script, is for another cluster than the one
// that is asked: a number there would be another job here.
func (e *Engine) thisCluster(ctx context.Context) error {
	where := e.otherCluster
	if i := slices.IndexFunc(e.options, isCluster); i >= 0 {
		where = e.options[i]
	}
	if where == "" {
		return nil
	}
	name, err := e.cluster(ctx)
	if err != nil {
		return err
	}
	_, value, _ := strings.Cut(where, "=")
	if value == name {
		return nil
	}
	return engines.Refuse(api.CodeUsage, "leave it out; SLURM_CONF with the path of its slurm.conf leads to another cluster",
		"%s is about other clusters, and gpusched asks one: that of slurm.conf, %q", where, name)
}

// isCluster reports whether a word is the option of sbatch for another cluster.
func isCluster(word string) bool {
	return strings.HasPrefix(word, "-M") || strings.HasPrefix(word, "--cluster")
}

// cluster is the name of the one that is asked.
func (e *Engine) cluster(ctx context.Context) (string, error) {
	e.name.Lock()
	defer e.name.Unlock()
	if e.name.text != "" {
		return e.name.text, nil
	}
	out, err := e.execute(ctx, readTime, nil, "scontrol", "show", "config")
	e.name.text = settings(string(out))["ClusterName"]
	return e.name.text, err
}

// answered reads the number of a job in what sbatch --parsable prints, "ID" or "ID;CLUSTER".
func (e *Engine) answered(ctx context.Context, said string) (job.ID, error) {
	number, cluster, elsewhere := strings.Cut(strings.TrimSpace(said), ";")
	if elsewhere {
		name, err := e.cluster(ctx)
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
		return 0, &api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("sbatch answered %q and no number of a job", said),
			Hint: "it may be queued: see 'gpusched list'"}
	}
	return id, nil
}

// clusterOf is the variable of an environment that names another cluster, as it stands there; "" is none.
func clusterOf(environ []string) string {
	for _, name := range clusterVariables {
		if value := engines.Variable(environ, name); value != "" {
			return name + "=" + value
		}
	}
	return ""
}
