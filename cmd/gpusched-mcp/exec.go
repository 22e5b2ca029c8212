package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits on runs of gpusched.
const (
	runTimeout   = 2 * time.Minute
	maxOutput    = 16 << 20 // bytes of JSON
	maxText      = 64 << 10 // bytes of job output, counted from its end
	defaultLines = 100
	maxLines     = 1000
)

// runIn runs gpusched in a directory as the user would, but without a shell or a terminal. The
// second result is the text that gpusched printed on standard error: the error of a failed run, or
// the warnings of a successful run.
func (t *tools) runIn(ctx context.Context, dir string, args ...string) (out []byte, message string, err error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	if t.own {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, t.gpusched, args...)
	cmd.Dir = dir
	var stdout, stderr limitedBuffer
	stdout.most, stderr.most = maxOutput, maxText
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	message = stripControls(strings.TrimSpace(stderr.String()))
	switch {
	case errors.Is(err, syscall.E2BIG):
		return nil, message, errors.New("one word is longer than 128 KiB, or all words together are too long: put the text into a file")
	case ctx.Err() != nil:
		return nil, message, fmt.Errorf("gpusched did not answer within %v", runTimeout)
	case err != nil && message != "":
		return stdout.Bytes(), message, fmt.Errorf("%s", message)
	case stdout.lost:
		return nil, message, fmt.Errorf("the answer is longer than %d bytes: request less", maxOutput)
	}
	return stdout.Bytes(), message, err
}

// runJSON runs gpusched and decodes the JSON object that it prints.
func (t *tools) runJSON(ctx context.Context, dir string, args ...string) (any, error) {
	out, said, err := t.runIn(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := json.Unmarshal(out, &v); err != nil {
		return nil, fmt.Errorf("gpusched printed something other than the expected JSON: %w", err)
	}
	if said != "" {
		v["warnings_said"] = said
	}
	return v, nil
}

// limitedBuffer keeps the beginning of the written text and drops the rest.
type limitedBuffer struct {
	bytes.Buffer
	most int
	lost bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := b.most - b.Len()
	if len(p) > room {
		b.lost = true
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// stripControls removes control characters and characters that change the direction of text
// (invariant 4).
func stripControls(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == utf8.RuneError, unicode.IsControl(r), unicode.In(r, unicode.Cf):
			return -1
		}
		return r
	}, s)
}

// lastOf returns the end of a text. The returned text starts at the beginning of a line.
func lastOf(text string, most int) (end string, cut bool) {
	if len(text) <= most {
		return text, false
	}
	text = text[len(text)-most:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest
	}
	return strings.ToValidUTF8(text, ""), true
}
