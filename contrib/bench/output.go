package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A text is a file of lines that commands print.
type text struct {
	path string
	size int64
	sum  [sha256.Size]byte
}

// lineBytes is how many random bytes are in a line of a text: 128 characters with its end.
const lineBytes = 95

func (b *rig) newText(mib int) (t text, err error) {
	t = text{path: filepath.Join(b.dir, "text"), size: int64(mib) << 20}
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return t, err
	}
	defer f.Close()
	digest := newDigest(t.size)
	out := bufio.NewWriterSize(io.MultiWriter(f, digest), 1<<20)
	chance := rand.NewChaCha8([32]byte{})
	for line := make([]byte, lineBytes); digest.n+int64(out.Buffered()) < t.size; {
		_, _ = chance.Read(line)
		fmt.Fprintf(out, "%s\n", base64.RawStdEncoding.EncodeToString(line))
	}
	err = errors.Join(out.Flush(), os.Truncate(t.path, t.size))
	copy(t.sum[:], digest.Sum(nil))
	return t, err
}

// digest is the checksum of the first so many bytes.
type digest struct {
	hash.Hash
	n, most int64
	full    time.Time // when they were there
}

func newDigest(most int64) *digest { return &digest{Hash: sha256.New(), most: most} }

func (d *digest) Write(p []byte) (int, error) {
	if d.n < d.most {
		_, _ = d.Hash.Write(p[:min(int64(len(p)), d.most-d.n)])
	}
	if d.n += int64(len(p)); d.n >= d.most && d.full.IsZero() {
		d.full = time.Now()
	}
	return len(p), nil
}

// is says whether the bytes are those of a text.
func (d *digest) is(t text) string {
	if d.n >= t.size && [sha256.Size]byte(d.Sum(nil)) == t.sum {
		return "whole"
	}
	return fmt.Sprintf("NOT WHOLE: %d bytes", d.n)
}

// A flow is one measured output.
type flow struct {
	name string
	took time.Duration
	same string
}

// output measures how long much output takes to whom it is for, and whether it is whole.
func (b *rig) output(ctx context.Context, mib int) error {
	t, err := b.newText(mib)
	if err != nil {
		return err
	}
	server, stop, err := b.sshServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	terminals, err := b.throughTerminals(ctx, t, server)
	if err != nil {
		return err
	}
	pipes, err := b.throughPipes(ctx, t, server)
	if err != nil {
		return err
	}
	fmt.Printf("\n| %d MiB in lines of 128 characters, compared by checksum | seconds | MiB/s | time against ssh | |\n|---|---|---|---|---|\n", mib)
	for _, flows := range [][]flow{terminals, pipes} {
		against := flows[1] // of each list, ssh comes after the bare one
		for _, f := range flows {
			r := "ssh is not there"
			if server != nil {
				r = ratio(f.took, against.took)
			}
			row(f.name, fmt.Sprintf("%.2f", f.took.Seconds()), fmt.Sprintf("%.1f", float64(mib)/f.took.Seconds()), r, f.same)
		}
	}
	return nil
}

// throughTerminals has a text printed in terminals, from the key that lets it begin.
func (b *rig) throughTerminals(ctx context.Context, t text, server []string) (flows []flow, err error) {
	ways := []way{{name: "cat in a terminal here"}}
	if server != nil {
		ways = append(ways, way{name: "ssh -t to this machine", words: append(server, "-tt"), quote: true})
	}
	ways = append(ways, way{name: "gpusched run --tty", words: jobWords("--tty")})
	for _, w := range ways {
		f, err := b.throughTerminal(ctx, t, w, nil)
		if err != nil {
			return nil, err
		}
		flows = append(flows, f...)
	}
	f, err := b.fromJournal(ctx, t, "gpusched logs of that job", int64(len(ready)+1))
	if err != nil {
		return nil, err
	}
	flows = append(flows, f)
	more, err := b.throughTerminal(ctx, t, way{name: "gpusched run --tty, with another attached", words: jobWords("--tty")},
		[]string{"gpusched", "attach"})
	return append(flows, more...), err
}

// throughTerminal measures one way, and one who is attached besides by these words.
func (b *rig) throughTerminal(ctx context.Context, t text, w way, attach []string) (flows []flow, err error) {
	ctx, stop := await.For(ctx, w.name+" to print", b.limits.many)
	defer stop()
	first, err := b.open(ctx, w.argv("stty raw -echo; echo "+ready+"; read x; cat "+t.path+"; read x"))
	if err != nil {
		return nil, err
	}
	defer first.close()
	screens, names := []*screen{first}, []string{w.name}
	if attach != nil {
		id, err := b.ownJob(ctx)
		if err != nil {
			return nil, err
		}
		second, err := b.open(ctx, append(attach, id))
		if err != nil {
			return nil, err
		}
		defer second.close()
		screens, names = append(screens, second), append(names, "that other, by gpusched attach")
	}
	digests := make([]*digest, len(screens))
	from := time.Now()
	if _, err := first.master.Write([]byte("\n")); err != nil {
		return nil, err
	}
	var reading sync.WaitGroup
	errs := make([]error, len(screens))
	for i, s := range screens {
		digests[i] = newDigest(t.size)
		reading.Go(func() { errs[i] = s.copyTo(digests[i]) })
	}
	reading.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, await.Cause(ctx, err)
	}
	for i, d := range digests {
		flows = append(flows, flow{names[i], d.full.Sub(from), d.is(t)})
	}
	if _, err := first.master.Write([]byte("\n")); err != nil { // it ends, and its output is in the journal
		return nil, err
	}
	_, _ = io.Copy(io.Discard, first.master)
	_ = first.cmd.Wait()
	return flows, nil
}

// ownJob is the first job that the submitting account has in the list.
func (b *rig) ownJob(ctx context.Context) (string, error) {
	ids, err := b.as(ctx, "gpusched", "list", "-o", "ids", "--mine")
	if err != nil {
		return "", err
	}
	for id := range strings.FieldsSeq(ids) {
		return id, nil
	}
	return "", errors.New("the job to attach to is not in the list")
}

// copyTo reads what is shown until a digest is full.
func (s *screen) copyTo(d *digest) error {
	for d.full.IsZero() {
		n, err := s.master.Read(s.piece[:])
		if n == 0 && err != nil {
			return err
		}
		_, _ = d.Write(s.piece[:n])
	}
	return nil
}

// throughPipes has a text printed without a terminal, each a whole process.
func (b *rig) throughPipes(ctx context.Context, t text, server []string) (flows []flow, err error) {
	ways := []way{{name: "cat into a pipe"}}
	if server != nil {
		ways = append(ways, way{name: "ssh to this machine", words: server, quote: true})
	}
	ways = append(ways, way{name: "gpusched run", words: jobWords()})
	for _, w := range ways {
		f, err := b.throughPipe(ctx, t, w.name, w.argv("cat "+t.path), 0)
		if err != nil {
			return nil, err
		}
		flows = append(flows, f)
	}
	logs, err := b.fromJournal(ctx, t, "gpusched logs of that job", 0)
	if err != nil {
		return nil, err
	}
	bare, err := b.intoJournal(ctx, t)
	return append(flows, logs, bare), err
}

// intoJournal has a bare unit print a text, all of which systemd-journald is to keep.
func (b *rig) intoJournal(ctx context.Context, t text) (flow, error) {
	from := time.Now()
	_, err := await.Output(ctx, b.limits.many, append(b.systemdRunWords(),
		"--property=LogRateLimitIntervalSec=1s", "--property=LogRateLimitBurst=1000000000", "cat", t.path))
	return flow{"systemd-run --wait, into the journal alone", time.Since(from), ""}, err
}

// fromJournal reads what the last job printed, without its first bytes.
func (b *rig) fromJournal(ctx context.Context, t text, name string, skip int64) (flow, error) {
	return b.throughPipe(ctx, t, name, []string{"gpusched", "logs"}, skip)
}

func (b *rig) throughPipe(ctx context.Context, t text, name string, argv []string, skip int64) (f flow, err error) {
	ctx, stop := await.For(ctx, name+" to print", b.limits.many)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid)}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return f, err
	}
	from, d := time.Now(), newDigest(t.size)
	if err := cmd.Start(); err != nil {
		return f, err
	}
	_, err = io.CopyN(io.Discard, out, skip)
	if err == nil {
		_, err = io.Copy(d, out)
	}
	err = errors.Join(err, cmd.Wait())
	return flow{name, time.Since(from), d.is(t)}, await.Cause(ctx, err)
}
