package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
)

func stageChangelog(o options) error {
	data, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	text, err := debianChangelog(string(data), o.version, o.date)
	if err != nil {
		return fmt.Errorf("reading CHANGELOG.md: %w", err)
	}
	return writeGzip(filepath.Join(o.out, "doc/changelog.gz"), []byte(text))
}

// release is one version of the changelog.
type release struct {
	version string
	date    time.Time
	changes []string
}

var releaseLine = regexp.MustCompile(`^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$`)

// debianChangelog converts the changelog to Debian's format. The version that is being built comes
// first, whether or not it is released.
func debianChangelog(markdown, version string, date time.Time) (string, error) {
	releases, err := parseChangelog(markdown)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if len(releases) == 0 || releases[0].version != version {
		entry(&b, release{version: version, date: date, changes: []string{"Built between releases."}})
	}
	for _, r := range releases {
		entry(&b, r)
	}
	return b.String(), nil
}

// parseChangelog returns the releases in the order of
// the file, newest first, without the unreleased part.
func parseChangelog(markdown string) ([]release, error) {
	var releases []release
	var current *release
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\n")
		if m := releaseLine.FindStringSubmatch(line); m != nil {
			current = nil
			if m[1] == "Unreleased" {
				continue
			}
			date, err := time.Parse(time.DateOnly, m[2])
			if err != nil {
				return nil, fmt.Errorf("version %q has no date: %w", m[1], err)
			}
			releases = append(releases, release{version: m[1], date: date})
			current = &releases[len(releases)-1]
			continue
		}
		if current == nil {
			continue
		}
		if item, ok := strings.CutPrefix(line, "- "); ok {
			current.changes = append(current.changes, item)
		} else if more, ok := strings.CutPrefix(line, "  "); ok && len(current.changes) > 0 {
			current.changes[len(current.changes)-1] += " " + strings.TrimSpace(more)
		}
	}
	return releases, nil
}

func entry(b *strings.Builder, r release) {
	fmt.Fprintf(b, "gpusched (%s) stable; urgency=medium\n\n", r.version)
	for _, change := range r.changes {
		b.WriteString(config.Wrap(change, "  * ", "    ", 78))
	}
	fmt.Fprintf(b, "\n -- %s  %s\n\n", maintainer, r.date.Format(time.RFC1123Z))
}

// maintainer is also in nfpm.yaml; both must be equal.
const maintainer = "gpusched maintainers <gpusched@users.noreply.github.com>"
