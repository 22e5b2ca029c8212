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

// keptShares lists the shares of unflushed writes that a power cut may keep. With 0 the disk has
// written none of these writes; with 1 it has written all of them, but has not reported that.
var keptShares = []float64{0, 0.1, 0.5, 0.9, 1}

// diskLimit is the time limit for repairing, reading or copying a disk. It is also the time for
// which CutCopy waits for the machine to write.
const diskLimit = 10 * time.Minute

// latestCut is the largest number of writes for which CutCopy waits. A submission makes a few
// writes.
const latestCut = 16

func chance() float64 { return keptShares[rand.IntN(len(keptShares))] }

// plug serves the disk to the QEMU process that starts next.
func (e *emulated) plug() error {
	if err := e.unplug(); err != nil {
		return err
	}
	var err error
	e.server, err = disk.Serve(e.disk, e.dir.file("disk.sock"))
	return err
}

// unplug takes the disk back from a QEMU process that has ended. The disk is then in the state that
// a power cut leaves.
func (e *emulated) unplug() error {
	if e.server == nil {
		return nil
	}
	err := e.server.Close()
	e.server = nil
	_, cut := e.disk.Cut(chance())
	return errors.Join(err, cut)
}

// CutCopy writes a new file on the host. The file contains what the disk of an emulated machine
// would contain after a power cut. CutCopy chooses one of the next writes at random; the power cut
// comes right after this write, before any later write or flush. At that time CutCopy calls its
// last argument. The machine continues, but its disk is slow for a second. ReadDisk reads the copy.
func (m *Machine) CutCopy(ctx context.Context, path string, moment func()) (disk.Loss, error) {
	e := m.emulated()
	if e == nil {
		return disk.Loss{}, errors.New("copy as after a power cut: a box has no disk of its own: use an emulated machine")
	}
	ctx, stop := await.For(ctx, "the machine to write to its disk, and a copy of that", diskLimit)
	defer stop()
	return e.disk.CutCopy(ctx, path, 1+rand.IntN(latestCut), chance(), moment)
}

// ReadDisk copies a directory from the file system on a disk that CutCopy wrote. It first repairs
// the file system by replaying its journal, as a boot does.
func ReadDisk(ctx context.Context, path, guestDir, hostDir string) error {
	_, err := await.Output(ctx, diskLimit, []string{"e2fsck", "-fy", "-E", "journal_only", path})
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // exit code 1: errors were repaired
		return fmt.Errorf("replay the journal of %s: %w", path, err)
	}
	out, err := await.Output(ctx, diskLimit, []string{"debugfs", "-R", fmt.Sprintf("rdump %s %s", guestDir, hostDir),
		path})
	if err == nil { // debugfs exits with 0 even if rdump fails
		_, err = os.Stat(filepath.Join(hostDir, filepath.Base(guestDir)))
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w\n%s", guestDir, path, err, out)
	}
	return nil
}
