package logs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/onslurm"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
)

// The output file of another user's Slurm job is never opened, not even by root. It may be a
// device, or a file that the job's owner could not read.
func TestOutputOfAnotherUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := api.Job{ID: 13, User: "alice", UID: 1001, Private: &api.Private{}}
	j.Private.Log.Path = path
	for uid, hint := range map[int]string{0: "sudo -u alice gpusched logs slurm:13", 1002: ""} {
		a := &cli.App{Env: cli.Env{UID: uid}, Session: cli.Session{Client: onslurm.New(nil, uid, nil)}}
		f, err := outputFile(a, j)
		var told *api.Error
		if f != nil || !errors.As(err, &told) || told.Code != api.CodeForbidden || told.Hint != hint || !strings.Contains(told.Message, "belongs to alice") {
			t.Errorf("uid %d: %v", uid, err)
		}
		p := &Printer{Cmd: &Cmd{}, App: a}
		if err := p.followFile(t.Context(), j); !errors.As(err, &told) || told.Code != api.CodeForbidden {
			t.Errorf("uid %d follows: %v", uid, err)
		}
	}
	a := &cli.App{Env: cli.Env{UID: 1001}, Session: cli.Session{Client: onslurm.New(nil, 1001, nil)}}
	if f, err := outputFile(a, j); err != nil || f.Close() != nil {
		t.Error(err)
	}
}
