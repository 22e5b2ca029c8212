package nvml

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gpusched/gpusched/gpu"
)

// MaxRequestBytes is the maximum length of a request.
const MaxRequestBytes = 4096

// A Reader provides the Snapshots for Serve; *Library is one.
type Reader interface {
	Snapshot(seq uint64) gpu.Snapshot
	Look(seq uint64) gpu.Snapshot
	NeedsRestart() bool
}

type request struct {
	Op  string `json:"op"`
	Seq uint64 `json:"seq"`
}

// Serve answers the requests of its input until the input ends or the Reader needs a restart. It
// returns the errors of reading the input and of writing the output.
func Serve(in io.Reader, out, talk io.Writer, r Reader) error {
	lines := bufio.NewReaderSize(in, MaxRequestBytes)
	for {
		line, err := nextLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			fmt.Fprintf(talk, "gpusched-nvml: request of more than %d bytes, ignoring\n", MaxRequestBytes)
			continue
		case err != nil:
			return fmt.Errorf("reading a request: %w", err)
		}
		req, err := parse(line)
		if err != nil {
			fmt.Fprintf(talk, "gpusched-nvml: %v, ignoring\n", err)
			continue
		}
		ask := r.Snapshot
		if req.Op == gpu.OpLook {
			ask = r.Look
		}
		if err := answer(out, ask(req.Seq)); err != nil {
			return err
		}
		if r.NeedsRestart() {
			return nil
		}
	}
}

// nextLine reads a line, and drops one that is too long. An incomplete last line counts as the end.
func nextLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = lines.ReadSlice('\n')
	}
	if err != nil {
		return nil, err
	}
	return nil, bufio.ErrBufferFull
}

func parse(line []byte) (request, error) {
	var req request
	if err := json.Unmarshal(bytes.TrimSpace(line), &req); err != nil {
		return req, fmt.Errorf("request %.80q: %w", line, err)
	}
	if req.Op != gpu.OpSample && req.Op != gpu.OpLook {
		return req, fmt.Errorf("unknown op %.80q (there are %q and %q)", req.Op, gpu.OpSample, gpu.OpLook)
	}
	return req, nil
}

// answer writes a Snapshot. If that is impossible, it writes the error instead, because the other
// side waits for a line.
func answer(out io.Writer, s gpu.Snapshot) error {
	line, err := gpu.Encode(s)
	if err != nil {
		line, err = gpu.Encode(gpu.Snapshot{
			Seq: s.Seq, TakenUnixNano: s.TakenUnixNano, Problem: gpu.ProblemInitFailed, Detail: "the driver's answers make no sense: " + err.Error(),
		})
	}
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	if _, err := out.Write(line); err != nil {
		return fmt.Errorf("writing an answer: %w", err)
	}
	return nil
}
