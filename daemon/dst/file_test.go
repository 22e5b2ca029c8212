package dst

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
)

// file is a real state file of package store. A model defines what the file must contain. If the
// daemon dies or power fails in the middle of a commit, only a part of what SQLite wrote since its
// last fsync is in the file: each sector is either new or old, and one sector may be cut.
type file struct {
	w     *World
	path  string
	store *store.Store
}

// parts returns the names of the files that survive a power cut. The index file of SQLite is not
// among them: SQLite rebuilds it.
func (f *file) parts() []string { return []string{f.path, f.path + "-wal"} }

// image returns the contents of the files.
func (f *file) image() [][]byte {
	var all [][]byte
	for _, p := range f.parts() {
		data, err := os.ReadFile(p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.w.breach(1, "%v", err)
		}
		all = append(all, data)
	}
	return all
}

func (f *file) commit(records []job.Record) {
	if err := f.store.Commit(context.Background(), records); err != nil {
		f.w.breach(1, "%v", err)
	}
}

// die puts the files into the state in which a process that dies now leaves them.
func (f *file) die() {
	if f.store == nil {
		return
	}
	left := f.image()
	if under := f.w.disk.under; under != nil {
		f.commit(under)
		after := f.image()
		d := f.w.roll("torn", uint64(f.w.Elapsed))
		for i := range left {
			left[i] = tornContents(left[i], after[i], d)
		}
		f.w.count("torn write")
	}
	if err := f.store.Close(); err != nil {
		f.w.breach(1, "%v", err)
	}
	f.store = nil
	_ = os.Remove(f.path + "-shm")
	for i, p := range f.parts() {
		if err := os.WriteFile(p, left[i], 0o600); err != nil {
			f.w.breach(1, "%v", err)
		}
	}
}

// sector is the size in bytes of what a disk usually writes as a whole.
const sector = 512

// tornContents returns the contents of a file of which only some changed sectors were written.
func tornContents(before, after []byte, d *dice) []byte {
	size := len(before)
	if len(after) > size && d.chance(80) {
		size += d.n(len(after) - size + 1)
	}
	out := make([]byte, size)
	copy(out, before)
	share := pick(d, 0, 10, 50, 90, 100)
	for at := 0; at < min(size, len(after)); at += sector {
		end := min(at+sector, size, len(after))
		if !bytes.Equal(out[at:end], after[at:end]) && d.chance(share) {
			if d.n(20) == 0 {
				end = at + d.n(end-at)
			}
			copy(out[at:end], after[at:end])
		}
	}
	return out
}

// open reads the file for a starting daemon and checks invariant 1. A commit that was in progress
// must be in the file whole or not at all.
func (f *file) open(want *disk) (job.Restored, error) {
	s, err := store.Open(context.Background(), f.path, store.Options{})
	if err != nil {
		f.w.breach(1, "after the end of a process: %v", err)
		return job.Restored{}, err
	}
	f.store = s
	got, err := s.Load(context.Background())
	if err == nil {
		err = s.Check(context.Background())
	}
	if err != nil {
		f.w.breach(1, "after the end of a process: %v", err)
		return job.Restored{}, err
	}
	under := want.under
	want.under = nil
	if difference(&got, want) == "" {
		return got, nil
	}
	if under != nil {
		f.w.count("torn write that was whole")
		want.note(under)
	}
	if what := difference(&got, want); what != "" {
		f.w.breach(1, "the state file is not what was written: %s", what)
	}
	return got, nil
}

// difference describes how a restored state differs from the model.
func difference(got *job.Restored, want *disk) string {
	w, jobs := want.restoredState(), got.Jobs
	switch {
	case got.Events != w.Events:
		return "another number of the last event"
	case !got.Alive.Equal(w.Alive):
		return "another moment until which the machine was on"
	case len(jobs) != len(w.Jobs):
		return "another number of jobs"
	case !reflect.DeepEqual(stripped(got.GPUs), stripped(w.GPUs)):
		return "other controls of GPUs"
	case len(got.Reservations) != len(w.Reservations) || len(got.Usage) != len(w.Usage) ||
		len(got.Predictions) != len(w.Predictions):
		return "other reservations, usage or predictions"
	case !reflect.DeepEqual(got.Owed, w.Owed):
		return "other messages that are owed"
	case !reflect.DeepEqual(got.Done, w.Done):
		return "other jobs with --dedup"
	}
	for i := range jobs {
		if a, b := durable(&jobs[i]), durable(&w.Jobs[i]); !reflect.DeepEqual(a, b) {
			return fmt.Sprintf("job %d is %+v, and was %+v", jobs[i].ID, a, b)
		}
	}
	return ""
}

func stripped(list []job.GPUControl) (out []job.GPUControl) {
	for _, c := range list {
		out = append(out, job.GPUControl{UUID: c.UUID, Paused: c.Paused, Drain: c.Drain, Reason: c.Reason, By: c.By})
	}
	return out
}

func newFile(w *World, dir string) *file { return &file{w: w, path: filepath.Join(dir, "state.db")} }
