package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// gpusDir is the directory that dcgm-exporter reads. dcgm-exporter treats every file in this
// directory as a GPU's file. A new file is therefore written elsewhere and then moved here.
const gpusDir = "gpus"

// A mapping is a directory with one file per GPU. A file is named after the GPU's index;
// dcgm-exporter uses the same indexes. The file has one line per job.
type mapping struct {
	dir     *os.Root
	written map[string][]byte
}

// keepMapping updates the files until ctx is done. While the scheduler does not answer, the files
// stay as they are, because jobs continue without the scheduler.
func keepMapping(ctx context.Context, client *api.Client, dir string, every time.Duration, talk io.Writer) error {
	m, err := openMapping(dir)
	if err != nil {
		return err
	}
	defer m.dir.Close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	said := ""
	for {
		reply, err := api.GPUs(ctx, client)
		if err == nil {
			err = m.update(reply.GPUs)
		}
		if ctx.Err() != nil {
			return nil
		}
		if text := fmt.Sprint(err); err != nil && text != said { // print each error once
			fmt.Fprintln(talk, "gpusched-metrics:", err)
			said = text
		} else if err == nil {
			said = ""
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// openMapping creates the directory, and removes the files of an earlier run.
func openMapping(dir string) (*mapping, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the mapping directory: %w", err)
	}
	err = errors.Join(root.RemoveAll(gpusDir), root.Mkdir(gpusDir, 0o755))
	if err == nil {
		err = root.Chmod(gpusDir, 0o755) // independent of the umask
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("clear the mapping directory: %w", err), root.Close())
	}
	return &mapping{dir: root, written: map[string][]byte{}}, nil
}

// update writes the files of the GPUs whose jobs have changed. If a GPU has no jobs, its file
// stays, but is empty: dcgm-exporter abandons a whole round if a file disappears while it reads.
func (m *mapping) update(gpus []api.GPU) error {
	now := map[string][]byte{}
	for name := range m.written {
		now[name] = nil // clears the files of removed GPUs
	}
	for i := range gpus {
		var jobs strings.Builder
		for _, s := range gpus[i].Shares {
			if s.Called == "" {
				s.Called = s.Job.String()
			}
			fmt.Fprintln(&jobs, s.Called)
		}
		now[strconv.Itoa(gpus[i].Index)] = []byte(jobs.String())
	}
	var failed error
	for name, text := range now {
		if old, there := m.written[name]; there && bytes.Equal(old, text) {
			continue
		}
		if err := m.write(name, text); err != nil {
			failed = err
			continue
		}
		m.written[name] = text
	}
	return failed
}

// write replaces a file as a whole.
func (m *mapping) write(name string, text []byte) error {
	beside := "new." + name
	if err := m.dir.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the jobs of GPU %s: %w", name, err)
	}
	f, err := m.dir.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Chmod(0o644), f.Close())
	}
	if err == nil {
		err = m.dir.Rename(beside, path.Join(gpusDir, name))
	}
	if err != nil {
		return fmt.Errorf("write the jobs of GPU %s: %w", name, err)
	}
	return nil
}
