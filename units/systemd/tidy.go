package systemd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/units"
)

// The files in which systemd tells journald, for each unit, the extra fields and the rate limit of
// its lines.
const (
	fieldsDir      = "/run/systemd/units"
	fieldsPrefix   = "log-extra-fields:"
	intervalPrefix = "log-rate-limit-interval:"
	burstPrefix    = "log-rate-limit-burst:"
)

// prefixes are the prefixes of files that remain when a unit has ended. systemd (252, and still in
// 2026) tries to remove the file with fieldsPrefix, but under a wrong name. So one file per job
// would stay until the next boot. The other files remain because keepUnlimited creates them again.
var prefixes = [...]string{fieldsPrefix, intervalPrefix, burstPrefix}

const (
	// fieldsKept is the time for which a file stays after its unit is gone. Until then journald may
	// still have lines of the job to read. If journald hangs, it is killed after three minutes, and
	// the new journald then reads these lines.
	fieldsKept = 5 * time.Minute
	// maxFields limits the number of units that are gone and still have files. That many files take
	// 60 MiB of /run.
	maxFields = 10_000
)

// tidy is what Tidy knows about files without a unit.
type tidy struct {
	dir string

	mu    sync.Mutex
	since map[string]time.Time // when the unit was first found to be gone
}

// Tidy removes the files that systemd leaves behind for units of jobs that have been gone for five
// minutes. The machine's daemon calls it about every minute. It touches only files with names of
// jobs' units, whichever daemon started the units. It also ends slices whose job has no unit.
func (m *Manager) Tidy(ctx context.Context, now time.Time) error {
	return errors.Join(m.tidySlices(ctx), m.tidyFiles(ctx, now))
}

func (m *Manager) tidyFiles(ctx context.Context, now time.Time) error {
	have, err := m.tidy.files()
	if err != nil || len(have) == 0 {
		return err
	}
	l, err := m.current()
	if err != nil {
		return fmt.Errorf("remove what ended units left: %w", err)
	}
	names, err := m.loadedNames(ctx, l)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	return m.tidy.sweep(have, there, now)
}

// files returns the units that have a file.
func (t *tidy) files() ([]string, error) {
	if t.dir == "" {
		return nil, nil
	}
	dir, err := os.Open(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("remove what ended units left: %w", err)
	}
	defer dir.Close()
	entries, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("remove what ended units left: %w", err)
	}
	var have []string
	for _, e := range entries {
		for _, prefix := range prefixes {
			if name, ok := strings.CutPrefix(e, prefix); ok && checkName(name) == nil {
				have = append(have, name)
			}
		}
	}
	slices.Sort(have)
	return slices.Compact(have), nil
}

// sweep removes the files of units that have been gone for a long time, and the oldest files if
// there are too many. The list of loaded units may be older than a start. So a file is removed only
// if its unit was missing in two lists and was not started between them.
func (t *tidy) sweep(have []string, loaded map[string]bool, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, since := t.since, map[string]time.Time{}
	var gone []string
	for _, name := range have {
		if loaded[name] {
			continue
		}
		at, again := before[name]
		if since[name] = now; again {
			since[name] = at
			gone = append(gone, name)
		}
	}
	t.since = since
	slices.SortFunc(gone, func(a, b string) int { return since[a].Compare(since[b]) })
	var first error
	for n, name := range gone {
		if now.Sub(since[name]) < fieldsKept && len(have)-n <= maxFields {
			break
		}
		if err := t.remove(name); err != nil {
			first = cmp.Or(first, fmt.Errorf("remove what ended units left: %w", err))
			continue
		}
		delete(since, name)
	}
	return first
}

func (t *tidy) remove(name string) error {
	var errs []error
	for _, prefix := range prefixes {
		if err := os.Remove(filepath.Join(t.dir, prefix+name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// keepUnlimited tells journald again that a unit that is gone has no rate limit. systemd removes
// that setting with the unit. journald then applies its own limit to lines that it has not read
// yet: of 60 000 lines it dropped 27 500. If keepUnlimited fails, journald drops lines in the same
// way.
func (t *tidy) keepUnlimited(name string) {
	if t.dir == "" {
		return
	}
	_ = os.Symlink(strconv.FormatUint(units.LogIntervalUSec, 10), filepath.Join(t.dir, intervalPrefix+name))
	_ = os.Symlink(strconv.FormatUint(units.LogBurst, 10), filepath.Join(t.dir, burstPrefix+name))
}

// noteStart records that the unit starts, so that its file counts as new.
func (t *tidy) noteStart(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, name)
}
