package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds of what gpusched is asked for.
const (
	actTime    = 2 * time.Minute
	mostOutput = 16 << 20 // of an answer in JSON
	mostText   = 64 << 10 // of what a job printed, the end of it
	fewLines   = 100
	mostLines  = 1000
)

// gpuschedIn runs gpusched as the user would in a directory, without a shell and a terminal. What it says on
// standard error is the error, or the warnings.
func (t *tools) gpuschedIn(ctx context.Context, dir string, args ...string) (out []byte, said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	if t.own {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, t.gpusched, args...)
	cmd.Dir = dir
	var stdout, stderr limitedBuffer
	stdout.most, stderr.most = mostOutput, mostText
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	said = clean(strings.TrimSpace(stderr.String()))
	switch {
	case ctx.Err() != nil:
		return nil, said, fmt.Errorf("gpusched did not answer within %v", actTime)
	case err != nil && said != "":
		return stdout.Bytes(), said, fmt.Errorf("%s", said)
	case stdout.lost:
		return nil, said, fmt.Errorf("the answer is longer than %d bytes: ask for less", mostOutput)
	}
	return stdout.Bytes(), said, err
}

// asked is gpuschedIn with --json, decoded.
func (t *tools) asked(ctx context.Context, dir string, args ...string) (any, error) {
	out, said, err := t.gpuschedIn(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := json.Unmarshal(out, &v); err != nil {
		return nil, fmt.Errorf("the answer of gpusched is not the JSON that is expected: %w", err)
	}
	if said != "" {
		v["warnings_said"] = said
	}
	return v, nil
}

// limitedBuffer keeps the beginning of what is written to it.
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

// clean takes out what a terminal would act on, and what turns text round (invariant 4).
func clean(s string) string {
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

// lastOf is the end of a text, from the beginning of a line on.
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
