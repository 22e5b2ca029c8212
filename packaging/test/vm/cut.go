package vm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/packaging/test/disk"
)

// keeps are the shares of what was not flushed that a cut may keep: all cases from a disk that wrote nothing of it
// yet to one that had only not said so.
var keeps = []float64{0, 0.1, 0.5, 0.9, 1}

// diskLimit is the time limit for repairing, reading or copying a disk, and for a machine's first
// write.
const diskLimit = 10 * time.Minute

// latestCut is how many writes CutCopy lets pass at most. A submission is a few.
const latestCut = 16

func chance() float64 { return keeps[rand.IntN(len(keeps))] }

// plug serves the disk to the QEMU that is started next.
func (e *emulated) plug() error {
	if err := e.unplug(); err != nil {
		return err
	}
	var err error
	e.server, err = disk.Serve(e.disk, e.dir.file("disk.sock"))
	return err
}

// unplug takes the disk away from a QEMU that is gone, in the state in which a power cut leaves it.
func (e *emulated) unplug() error {
	if e.server == nil {
		return nil
	}
	err := e.server.Close()
	e.server = nil
	_, cut := e.disk.Cut(chance())
	return errors.Join(err, cut)
}

// CutCopy writes to a new file of the host what the disk of an emulated machine would hold after a power cut right
// after one of its next writes, before any other or a flush, and calls moment then; the machine goes on, it sees a
// disk that is slow for a second. It waits until something is written. Read the copy with ReadDisk.
func (m *Machine) CutCopy(ctx context.Context, path string, moment func()) (disk.Loss, error) {
	e := m.emulated()
	if e == nil {
		return disk.Loss{}, errors.New("copy as after a power cut: a box has no disk of its own: use an emulated machine")
	}
	ctx, stop := await.For(ctx, "the machine to write to its disk, and a copy of that", diskLimit)
	defer stop()
	return e.disk.CutCopy(ctx, path, 1+rand.IntN(latestCut), chance(), moment)
}

// ReadDisk copies a directory out of the file system on a disk that CutCopy wrote, which it repairs first as a boot
// does: by replaying its journal.
func ReadDisk(ctx context.Context, path, guestDir, hostDir string) error {
	_, err := await.Output(ctx, diskLimit, []string{"e2fsck", "-fy", "-E", "journal_only", path})
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: it repaired something
		return fmt.Errorf("replay the journal of %s: %w", path, err)
	}
	out, err := await.Output(ctx, diskLimit, []string{"debugfs", "-R", fmt.Sprintf("rdump %s %s", guestDir, hostDir),
		path})
	if err == nil { // it always is
		_, err = os.Stat(filepath.Join(hostDir, filepath.Base(guestDir)))
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w\n%s", guestDir, path, err, out)
	}
	return nil
}
