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

// keeps are the shares of unflushed writes that a cut may keep, from a disk that wrote none of them
// yet to one that wrote all but had not said so.
var keeps = []float64{0, 0.1, 0.5, 0.9, 1}

// diskLimit is the time limit for repairing, reading or copying a disk, and for a machine's first
// write.
const diskLimit = 10 * time.Minute

// latestCut is the largest number of writes that CutCopy lets pass first. A submission makes a few
// writes.
const latestCut = 16

func chance() float64 { return keeps[rand.IntN(len(keeps))] }

// plug serves the disk to the next QEMU.
func (e *emulated) plug() error {
	if err := e.unplug(); err != nil {
		return err
	}
	var err error
	e.server, err = disk.Serve(e.disk, e.dir.file("disk.sock"))
	return err
}

// unplug takes the disk back from a QEMU that has ended, in the state in which a power cut leaves
// it.
func (e *emulated) unplug() error {
	if e.server == nil {
		return nil
	}
	err := e.server.Close()
	e.server = nil
	_, cut := e.disk.Cut(chance())
	return errors.Join(err, cut)
}

// CutCopy writes to a new file on the host what the disk of an emulated machine would hold after a
// power cut right after one of its next writes, before any other write or flush. It calls moment
// then. It waits until something is written. The machine goes on; its disk is slow for a second.
// Read the copy with ReadDisk.
func (m *Machine) CutCopy(ctx context.Context, path string, moment func()) (disk.Loss, error) {
	e := m.emulated()
	if e == nil {
		return disk.Loss{}, errors.New("copy as after a power cut: a box has no disk of its own: use an emulated machine")
	}
	ctx, stop := await.For(ctx, "the machine to write to its disk, and a copy of that", diskLimit)
	defer stop()
	return e.disk.CutCopy(ctx, path, 1+rand.IntN(latestCut), chance(), moment)
}

// ReadDisk copies a directory out of the file system on a disk that CutCopy wrote. It first repairs
// the file system by replaying its journal, as a boot does.
func ReadDisk(ctx context.Context, path, guestDir, hostDir string) error {
	_, err := await.Output(ctx, diskLimit, []string{"e2fsck", "-fy", "-E", "journal_only", path})
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: errors were repaired
		return fmt.Errorf("replay the journal of %s: %w", path, err)
	}
	out, err := await.Output(ctx, diskLimit, []string{"debugfs", "-R", fmt.Sprintf("rdump %s %s", guestDir, hostDir),
		path})
	if err == nil { // the repair never fails otherwise
		_, err = os.Stat(filepath.Join(hostDir, filepath.Base(guestDir)))
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w\n%s", guestDir, path, err, out)
	}
	return nil
}
