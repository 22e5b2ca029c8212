package disk

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// blockSize is the number of bytes that a power cut (Cut) keeps or loses as a whole.
const blockSize = 4096

// A Disk is a file with a write cache in memory. Its methods are safe for concurrent use.
type Disk struct {
	size int64

	mu      sync.Mutex
	file    *os.File
	newest  map[int64][]byte // blocks by number, with all writes since the last flush
	pending []write          // the same writes one by one, oldest first
	flushes int
	planned *plan // action after one of the next writes; nil for none
}

// A plan is an action that runs right after a write, before the next request.
type plan struct {
	writes int // number of writes until the action runs
	do     func()
}

// A write is an unflushed write to a whole block or to a part of it.
type write struct {
	off  int64
	data []byte
}

// Open makes a disk from a file. The length of the file is
// the size of the disk, and must be a multiple of 4096.
func Open(path string) (*Disk, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open disk: %w", err)
	}
	st, err := f.Stat()
	if err == nil && (st.Size() == 0 || st.Size()%blockSize != 0) {
		err = fmt.Errorf("%s has %d bytes, not a multiple of %d", path, st.Size(), blockSize)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open disk: %w", err)
	}
	return &Disk{size: st.Size(), file: f, newest: map[int64][]byte{}}, nil
}

// Close closes the file. Unflushed writes are lost.
func (d *Disk) Close() error { return d.file.Close() }

// ReadAt implements io.ReaderAt (invariant 1).
func (d *Disk) ReadAt(p []byte, off int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.file.ReadAt(p, off)
	if err != nil {
		return n, err
	}
	for at := off - off%blockSize; at < off+int64(len(p)); at += blockSize {
		block, ok := d.newest[at/blockSize]
		if !ok {
			continue
		}
		if at < off {
			copy(p, block[off-at:])
		} else {
			copy(p[at-off:], block)
		}
	}
	return n, nil
}

// WriteAt writes into the cache. Until a later Flush has returned, a power cut may lose the write.
func (d *Disk) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(p)) > d.size {
		return 0, io.ErrShortWrite
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for done := 0; done < len(p); {
		at := off + int64(done)
		n := min(len(p)-done, int(blockSize-at%blockSize))
		if err := d.writeBlock(p[done:done+n], at); err != nil {
			return done, err
		}
		done += n
	}
	d.step()
	return len(p), nil
}

// step counts a write, and runs the plan if it is due.
func (d *Disk) step() {
	if d.planned == nil {
		return
	}
	if d.planned.writes--; d.planned.writes == 0 {
		do := d.planned.do
		d.planned = nil
		do()
	}
}

// writeBlock writes bytes that lie within one block.
func (d *Disk) writeBlock(p []byte, off int64) error {
	number, within := off/blockSize, off%blockSize
	block, ok := d.newest[number]
	if !ok {
		block = make([]byte, blockSize)
		if len(p) < blockSize {
			if _, err := d.file.ReadAt(block, off-within); err != nil {
				return err
			}
		}
		d.newest[number] = block
	}
	copy(block[within:], p)
	d.pending = append(d.pending, write{off, append([]byte(nil), p...)})
	return nil
}

// Flush makes all earlier writes durable (invariant 2).
func (d *Disk) Flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flushes++
	for number, block := range d.newest {
		if _, err := d.file.WriteAt(block, number*blockSize); err != nil {
			return fmt.Errorf("flush disk: %w", err)
		}
	}
	d.forget()
	return nil
}

func (d *Disk) forget() {
	clear(d.newest)
	d.pending = nil
}

// Flushes returns the number of flushes so far.
func (d *Disk) Flushes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flushes
}

// A Loss counts the unflushed blocks that a cut kept and lost.
type Loss struct{ Kept, Lost int }

// Cut does what a power cut does: it keeps each unflushed block with the given probability
// (invariant 3). The disk can be used again afterwards.
func (d *Disk) Cut(probability float64) (Loss, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	loss, err := d.spill(d.file, probability)
	d.forget()
	return loss, err
}

// CutCopy waits for a later write and copies the disk to path. The copy is in the state that a Cut
// right after that write would leave. The disk itself does not change. The argument write is the
// number of the write: 1 is the next one. CutCopy calls the function moment right after the write.
// Only one CutCopy may run at a time, and the disk serves no request during the copy.
func (d *Disk) CutCopy(ctx context.Context, path string, write int, keep float64, moment func()) (loss Loss,
	err error) {
	done := make(chan struct{})
	d.mu.Lock()
	d.planned = &plan{write, func() {
		defer close(done)
		moment()
		loss, err = d.copyCut(ctx, path, keep)
	}}
	d.mu.Unlock()
	select {
	case <-done:
		return loss, err
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.planned = nil
	return Loss{}, fmt.Errorf("cut copy: nothing was written: %w", context.Cause(ctx))
}

func (d *Disk) copyCut(ctx context.Context, path string, keep float64) (Loss, error) {
	if err := Copy(ctx, d.file.Name(), path); err != nil {
		return Loss{}, err
	}
	to, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return Loss{}, fmt.Errorf("cut copy: %w", err)
	}
	defer to.Close()
	return d.spill(to, keep)
}

// spill writes a random part of the unflushed writes to a file.
func (d *Disk) spill(to io.WriterAt, keep float64) (Loss, error) {
	var loss Loss
	for _, w := range d.pending {
		if rand.Float64() >= keep {
			loss.Lost++
			continue
		}
		if _, err := to.WriteAt(w.data, w.off); err != nil {
			return loss, fmt.Errorf("cut disk: %w", err)
		}
		loss.Kept++
	}
	return loss, nil
}

// copyLimit is long enough for some gigabytes on a host under load.
const copyLimit = 10 * time.Minute

// Copy copies the file of a disk and keeps it sparse.
func Copy(ctx context.Context, from, to string) error {
	if _, err := await.Output(ctx, copyLimit, []string{"cp", "--sparse=always", "--reflink=auto", "--", from,
		to}); err != nil {
		return fmt.Errorf("copy disk: %w", err)
	}
	return nil
}
