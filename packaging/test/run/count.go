package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// tally is what came out of a stage, or of several.
type tally struct {
	passed   int
	failures []failed
	missed   []string // stages that could not be run here, and why
	took     []timed  // packages and top-level tests
	cpu      time.Duration
}

// timed is a package or a test, and how long it took.
type timed struct {
	name    string
	seconds float64
}

// failed is one failure and what it printed.
type failed struct{ name, output string }

const (
	// gistLines is how much of a failure's output is told when its stage is done.
	gistLines = 20
	// gistWidth bounds each of those lines.
	gistWidth = 500
)

// complaint is the beginning of what a test says with t.Error and its like.
var complaint = regexp.MustCompile(`^\s*\w+_test\.go:\d+: `)

// gist is what the test itself said, without what it showed besides, such as a
// journal; the last lines where it said nothing.
func (f failed) gist() (lines []string) {
	for line := range strings.Lines(f.output) {
		if complaint.MatchString(line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		lines = strings.Split(f.output, "\n")
		lines = lines[max(0, len(lines)-gistLines):]
	}
	lines = slices.Clone(lines[:min(gistLines, len(lines))])
	for i, line := range lines {
		lines[i] = strings.ToValidUTF8(strings.TrimRight(line[:min(gistWidth, len(line))], "\n"), "")
	}
	return lines
}

func failure(name, output string) tally { return tally{failures: []failed{{name, output}}} }

func (t *tally) add(more tally) {
	t.passed += more.passed
	t.failures = append(t.failures, more.failures...)
	t.missed = append(t.missed, more.missed...)
}

// slowest names what took longest, and at least a second: the packages and the
// tests in them.
func (t tally) slowest(n int) (names []string) {
	list := slices.SortedStableFunc(slices.Values(t.took), func(a, b timed) int {
		return cmp.Compare(b.seconds, a.seconds)
	})
	for _, x := range list[:min(n, len(list))] {
		if x.seconds >= 1 {
			names = append(names, fmt.Sprintf("%s %.0fs", x.name, x.seconds))
		}
	}
	return names
}

func (t tally) failed() int { return len(t.failures) }

func (t tally) word() string {
	if t.failed() > 0 {
		return "FAIL"
	}
	if len(t.missed) > 0 {
		return "MISS"
	}
	return "ok"
}

// event is a line of go test -json, see 'go doc test2json'.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build events
	Test        string
	Output      string
	FailedBuild string
	Elapsed     float64 // in seconds, at the end of a test or a package
}

// count sums up the events of one go test.
type count struct {
	stage  string
	open   map[string]map[string]bool // package → top-level tests that began and have not ended
	output map[string][]byte          // package, or package and top-level test → what it printed
	build  map[string][]byte          // import path → what the compiler said
	bad    map[string]bool            // packages with a failed test
	sum    tally
}

func newCount(stage string) *count {
	return &count{stage: stage, open: map[string]map[string]bool{}, output: map[string][]byte{},
		build: map[string][]byte{}, bad: map[string]bool{}}
}

// read takes events until the end. A line that is no event is an error: it
// may have been one that mattered.
func (c *count) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if jsonErr := json.Unmarshal(line, &e); jsonErr != nil {
				return fmt.Errorf("%q: %w", line, jsonErr)
			}
			c.take(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *count) take(e event) {
	top, _, isSub := strings.Cut(e.Test, "/")
	switch e.Action {
	case "build-output":
		c.build[e.ImportPath] = append(c.build[e.ImportPath], e.Output...)
	case "output":
		k := key(e.Package, top)
		c.output[k] = append(c.output[k], e.Output...)
	case "run":
		if !isSub {
			if c.open[e.Package] == nil {
				c.open[e.Package] = map[string]bool{}
			}
			c.open[e.Package][top] = true
		}
	case "pass", "fail", "skip":
		switch {
		case e.Test == "":
			c.packageEnd(e)
		case e.Action == "skip":
			c.fail(e, e.Test, "was skipped\n")
		case isSub:
		case e.Action == "pass":
			c.sum.passed++
		default:
			c.fail(e, e.Test, "")
		}
		if !isSub {
			delete(c.open[e.Package], top)
			c.sum.took = append(c.sum.took, timed{cmp.Or(e.Test, path.Base(e.Package)), e.Elapsed})
		}
	}
}

// packageEnd looks for what no test event told.
func (c *count) packageEnd(e event) {
	for _, test := range slices.Sorted(maps.Keys(c.open[e.Package])) {
		c.fail(e, test, "began and never ended\n")
	}
	delete(c.open, e.Package)
	if e.Action == "fail" && !c.bad[e.Package] {
		text := end(c.output[key(e.Package, "")])
		if e.FailedBuild != "" {
			text = end(c.build[e.FailedBuild]) + text
		}
		c.fail(e, "", text)
	}
}

func (c *count) fail(e event, test, why string) {
	c.bad[e.Package] = true
	name := c.stage + ": " + e.Package
	if test != "" {
		name += " " + test
		top, _, _ := strings.Cut(test, "/")
		why += end(c.output[key(e.Package, top)])
	}
	c.sum.failures = append(c.sum.failures, failed{name, why})
}

// tally returns the sum; tests that are still open count as failed.
func (c *count) tally() tally {
	for _, pkg := range slices.Sorted(maps.Keys(c.open)) {
		for _, test := range slices.Sorted(maps.Keys(c.open[pkg])) {
			c.fail(event{Package: pkg}, test, "began and never ended\n")
		}
	}
	return c.sum
}

func key(pkg, test string) string { return pkg + " " + test }

// maxOutput bounds what is kept of one test's output; the end says most.
const maxOutput = 64 << 10

func end(output []byte) string {
	if len(output) > maxOutput {
		return "[…]\n" + string(output[len(output)-maxOutput:])
	}
	return string(output)
}
