package submit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// snapshots are the copies that one command has made, by the directory that was copied. The jobs of
// a file share them.
type snapshots map[string]*ownSnapshot

type ownSnapshot struct {
	contract.Snapshot
	named bool // the scheduler has, or may have, a job that runs in the copy
}

// submit queues a job by calling its last argument. If the request asks for a snapshot, submit
// first makes it, and removes it if no job runs in it.
func (k snapshots) submit(
	ctx context.Context, a *cli.App, req api.SubmitRequest, by func(api.SubmitRequest) (api.SubmitReply, error),
) (api.SubmitReply, error) {
	source := req.Snapshot.Source
	if source == "" || a.Other() != nil { // another engine refuses it
		return by(req)
	}
	if req.DryRun {
		req.Snapshot = contract.Snapshot{}
		return by(req)
	}
	if k[source] == nil {
		pruneSnapshots(ctx, a)
		s, err := jobenv.TakeSnapshot(ctx, a, source)
		if err != nil {
			return api.SubmitReply{}, err
		}
		k[source] = &ownSnapshot{Snapshot: *s}
	}
	s := k[source]
	moveInto(a, &req, &s.Snapshot)
	reply, err := by(req)
	if s.named = s.named || mayName(ctx, a, reply, err, &s.Snapshot); !s.named {
		os.RemoveAll(s.Dir)
		delete(k, source)
		return reply, err
	}
	if queued := filepath.Join(s.Dir, snapshotQueued); err == nil && !jobenv.IsThere(queued) {
		text := "the job runs in a copy, " + cli.ShellWord(string(req.Dir)) + ": what it writes there stays there"
		if s.Commit != "" {
			text += ", and what git ignores leads to " + cli.ShellWord(source)
		}
		a.Note("%s", text)
		_ = os.WriteFile(queued, nil, 0o600) // without it, the next command asks the scheduler
	}
	return reply, err
}

// snapshotQueued is a file beside a copy in which a job runs.
const snapshotQueued = ".queued"

// mayName reports whether a job runs in the snapshot after an answer to its request. It is true
// if that is not certain, since the scheduler may have got the request.
func mayName(ctx context.Context, a *cli.App, reply api.SubmitReply, err error, s *contract.Snapshot) bool {
	var refused *api.Error
	switch {
	case err != nil:
		return !errors.As(err, &refused) || refused.Code == api.CodeUnreachable
	case reply.Known: // by its request key, which a repeated request has, or by its content (--dedup)
		known, err := api.Show(ctx, a.Client, reply.Job.ID.String(), api.JobQuery{})
		return err != nil || known.Job.Private == nil || known.Job.Private.Snapshot.Dir == s.Dir
	}
	return true
}

// moveInto changes a request so that its job runs in the copy. A program or script with an absolute
// path is named relative to the job's directory. Other absolute paths stay, with a warning.
func moveInto(a *cli.App, req *api.SubmitRequest, s *contract.Snapshot) {
	dir := string(req.Dir)
	real, _ := filepath.EvalSymlinks(dir)
	rel, _ := jobenv.Below(s.Source, real)
	req.Snapshot, req.Dir = *s, api.Bytes(filepath.Join(s.Tree(), rel))
	os.MkdirAll(string(req.Dir), 0o700) // git does not list an empty directory
	if l := req.Log.Path; l != "" && l != job.NoLog && !filepath.IsAbs(l) {
		if _, ofHome := job.InHome(l); !ofHome {
			req.Log.Path = filepath.Join(dir, l)
		}
	}
	if _, inHome := jobenv.Below(a.Getenv("HOME"), s.Source); !inHome && !req.Container.IsZero() {
		req.Container.Mounts = append(slices.Clone(req.Container.Mounts), contract.Mount{Source: s.Source, Target: s.Source})
	}
	req.Argv = slices.Clone(req.Argv)
	script := jobenv.ScriptOf(req.Argv)
	isOld := func(word string) (rel string, old bool) {
		up, err := filepath.EvalSymlinks(filepath.Dir(word))
		word = filepath.Join(up, filepath.Base(word))
		if _, old = jobenv.Below(s.Source, word); !old || err != nil || !filepath.IsAbs(word) {
			return "", false
		}
		rel, err = filepath.Rel(real, word)
		return rel, err == nil
	}
	const relative = "write it relative to the job's directory"
	for i, word := range req.Argv {
		rel, old := isOld(word)
		switch {
		case old && i == 0:
			req.Argv[i] = "./" + rel
		case old && word == script:
			req.Argv[i], script = rel, ""
		case old:
			a.NoteOnce("warning: " + cli.ShellWord(word) + " is not in the job's copy: " + relative)
		}
	}
	for _, v := range req.Env {
		list, is := strings.CutPrefix(v, "PYTHONPATH=")
		for _, word := range filepath.SplitList(list) {
			if _, old := isOld(word); is && old {
				a.NoteOnce("warning: PYTHONPATH has " + cli.ShellWord(word) + ", which is not in the job's copy: " + relative)
			}
		}
	}
}

// maxUnqueued is the age after which a copy is removed if no job runs in it: its client was killed
// before it could remove it.
const maxUnqueued = time.Hour

// pruneSnapshots removes copies that clients left behind when they were killed.
func pruneSnapshots(ctx context.Context, a *cli.App) {
	root := jobenv.SnapshotsDir(a)
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		info, err := e.Info()
		isNew := err != nil || a.Out.Now.Sub(info.ModTime()) < maxUnqueued
		if isNew || !info.IsDir() || jobenv.IsThere(dir, snapshotQueued) {
			continue
		}
		if !jobenv.IsThere(dir, contract.SnapshotMade) || !namedByJob(ctx, a, dir, info.ModTime()) {
			os.RemoveAll(dir)
		}
	}
}

// namedByJob reports whether a job runs in a copy of that age, or whether that can't be found out.
func namedByJob(ctx context.Context, a *cli.App, dir string, made time.Time) bool {
	list, err := api.List(ctx, a.Client, api.ListQuery{UID: &a.UID, Ended: 10_000, Since: made})
	if err != nil {
		return true
	}
	for _, j := range list.Jobs {
		if d := j.SubmittedAt.Sub(made); d < -maxUnqueued || d > maxUnqueued {
			continue
		}
		reply, err := api.Show(ctx, a.Client, cli.NameOfJob(j), api.JobQuery{})
		if err != nil || reply.Job.Private != nil && reply.Job.Private.Snapshot.Dir == dir {
			return true
		}
	}
	return false
}
