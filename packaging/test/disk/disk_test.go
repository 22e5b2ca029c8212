package disk

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

func open(t *testing.T, blocks int64) *Disk {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, blocks*blockSize); err != nil {
		t.Fatal(err)
	}
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func (d *Disk) mustWrite(t *testing.T, p []byte, off int64) {
	t.Helper()
	if _, err := d.WriteAt(p, off); err != nil {
		t.Fatal(err)
	}
}

func (d *Disk) mustRead(t *testing.T) []byte {
	t.Helper()
	p := make([]byte, d.size)
	if _, err := d.ReadAt(p, 0); err != nil {
		t.Fatal(err)
	}
	return p
}

// cutAtSecond writes to the last three blocks. It copies the
// disk in the state that a cut after the second write leaves.
func (d *Disk) cutAtSecond(t *testing.T, path string, keep float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		moments := 0
		end := make(chan error)
		go func() {
			_, err := d.CutCopy(t.Context(), path, 2, keep, func() { moments++ })
			end <- err
		}()
		synctest.Wait()
		for b := d.size/blockSize - 3; b < d.size/blockSize; b++ {
			d.mustWrite(t, []byte{1}, b*blockSize)
		}
		if err := <-end; err != nil || moments != 1 {
			t.Fatalf("%d moments, %v", moments, err)
		}
	})
}

// Invariants 1 to 4: the disk behaves like a slice of bytes
// under random writes of any alignment, flushes and cuts.
func TestRandom(t *testing.T) {
	const blocks = 16
	d := open(t, blocks)
	r := rand.New(rand.NewPCG(1, 2))
	now := make([]byte, blocks*blockSize) // bytes that a read must return
	durable := bytes.Clone(now)           // flushed bytes; a cut must keep them in blocks without later writes
	var written [blocks]bool              // blocks that were written since the last flush
	for step := range 3000 {
		switch r.IntN(12) {
		case 0:
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			copy(durable, now)
			written = [blocks]bool{}
		case 1:
			before := bytes.Clone(now)
			if _, err := d.Cut([]float64{0, 0.5, 1}[r.IntN(3)]); err != nil {
				t.Fatal(err)
			}
			copy(now, d.mustRead(t))
			for b := range blocks {
				at := now[b*blockSize:][:blockSize]
				if !written[b] && !bytes.Equal(at, before[b*blockSize:][:blockSize]) {
					t.Fatalf("step %d: block %d changed, and nobody had written it", step, b)
				}
			}
			copy(durable, now)
			written = [blocks]bool{}
		default:
			off := r.IntN(len(now) - 1)
			p := make([]byte, 1+r.IntN(min(3*blockSize, len(now)-off)))
			for i := range p {
				p[i] = byte(step)
			}
			d.mustWrite(t, p, int64(off))
			copy(now[off:], p)
			for b := off / blockSize; b <= (off+len(p)-1)/blockSize; b++ {
				written[b] = true
			}
		}
		if !bytes.Equal(d.mustRead(t), now) {
			t.Fatalf("step %d: a read is not what was written", step)
		}
		if kept, err := os.ReadFile(d.file.Name()); err != nil || !bytes.Equal(kept, durable) {
			t.Fatalf("step %d: the file is not what was flushed (%v)", step, err)
		}
	}
}

// Invariants 2 and 3: one cut loses everything, one keeps everything, and one keeps a part.
func TestCut(t *testing.T) {
	for _, keep := range []float64{0, 0.5, 1} {
		d := open(t, 1000)
		d.mustWrite(t, []byte("flushed"), 0)
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		for b := int64(1); b < 997; b++ {
			d.mustWrite(t, []byte{1}, b*blockSize)
		}
		copied := filepath.Join(t.TempDir(), "copy")
		d.cutAtSecond(t, copied, keep)
		if n := bytes.Count(d.mustRead(t), []byte{1}); n != 999 {
			t.Errorf("a copy of the disk changed it: %d blocks", n)
		}
		loss, err := d.Cut(keep)
		if err != nil || loss.Kept+loss.Lost != 999 {
			t.Errorf("keep %v: %+v, %v", keep, loss, err)
		}
		of, err := os.ReadFile(copied)
		if err != nil {
			t.Fatal(err)
		}
		for what, disk := range map[string][]byte{"disk": d.mustRead(t), "copy": of} {
			if what == "copy" && disk[999*blockSize] != 0 {
				t.Error("the copy has a write that came after its moment")
			}
			n := float64(bytes.Count(disk, []byte{1}))
			if n < keep*999-100 || n > keep*999+100 || !bytes.HasPrefix(disk, []byte("flushed")) {
				t.Errorf("keep %v: %v of 999 blocks are on the %s, which begins with %q", keep, n, what, disk[:7])
			}
		}
	}
}

// The context of a CutCopy ends before a write. CutCopy gives up, and a later write does not call
// its function moment.
func TestCutCopyGivenUp(t *testing.T) {
	d := open(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.CutCopy(ctx, filepath.Join(t.TempDir(), "copy"), 1, 0, func() { t.Error("a moment") }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d.mustWrite(t, []byte{1}, 0)
}
