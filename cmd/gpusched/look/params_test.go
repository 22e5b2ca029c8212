package look

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// If parameters can't be read, the list is shown without them and says so once.
func TestListWorksWithoutParameters(t *testing.T) {
	out, b := screen(0, false)
	a := &cli.App{Env: cli.Env{Err: out, UID: 1000}, Session: cli.Session{Client: &api.Client{Socket: filepath.Join(t.TempDir(), "none")}}}
	list := []api.Job{
		{UID: 1001, Task: &api.Task{Task: job.Task{Array: 6}}},
		{UID: 1000, Task: &api.Task{Task: job.Task{Array: 7}}},
		{UID: 1000, Task: &api.Task{Task: job.Task{Array: 8}}},
	}
	names := addParams(t.Context(), a, list)
	out.W.Flush()
	if len(names) > 0 || strings.Count(b.String(), "parameters of tasks are missing") != 1 {
		t.Errorf("%q, and said %q", names, b)
	}
}
