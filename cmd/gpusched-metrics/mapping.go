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

// mapped is where dcgm-exporter reads. It takes every file there for a GPU's, so a file
// is written beside it and moved in.
const mapped = "gpus"

// mapping is a directory with a file for each GPU, named by its index: dcgm-exporter's
// numbers are the driver's too. Each line is a job on it.
type mapping struct {
	dir     *os.Root
	written map[string][]byte
}

// keepMapping keeps the files up to date until ctx is done. While the scheduler does not
// answer they stay: jobs go on without it.
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
		if text := fmt.Sprint(err); err != nil && text != said { // once, not each time
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

// openMapping makes the directory, without what an earlier run left in it.
func openMapping(dir string) (*mapping, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of the mapping: %w", err)
	}
	err = errors.Join(root.RemoveAll(mapped), root.Mkdir(mapped, 0o755))
	if err == nil {
		err = root.Chmod(mapped, 0o755) // whatever the umask is
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("empty the directory of the mapping: %w", err), root.Close())
	}
	return &mapping{dir: root, written: map[string][]byte{}}, nil
}

// update writes the files whose jobs have changed. That of a GPU without jobs is empty and
// not removed, as dcgm-exporter gives up a whole round for a file that goes while it reads.
func (m *mapping) update(gpus []api.GPU) error {
	now := map[string][]byte{}
	for name := range m.written {
		now[name] = nil // of a GPU that is gone
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
		err = m.dir.Rename(beside, path.Join(mapped, name))
	}
	if err != nil {
		return fmt.Errorf("write the jobs of GPU %s: %w", name, err)
	}
	return nil
}
