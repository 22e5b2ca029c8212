package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/config"
)

func TestDebianChangelog(t *testing.T) {
	const markdown = `# Changelog
- not a change

## [Unreleased]
### Added
- Not yet.

## [0.2.0] - 2026-12-01
### Fixed
- A long line that goes on and on until it has to be broken somewhere before the end
  and continues.
- Another.

## [0.1.0] - 2026-11-21
- First.
`
	const releases = `gpusched (0.2.0) stable; urgency=medium

  * A long line that goes on and on until it has to be broken somewhere before
    the end and continues.
  * Another.

 -- gpusched maintainers <gpusched@users.noreply.github.com>  Tue, 01 Dec 2026 00:00:00 +0000

gpusched (0.1.0) stable; urgency=medium

  * First.

 -- gpusched maintainers <gpusched@users.noreply.github.com>  Sat, 21 Nov 2026 00:00:00 +0000

`
	date := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	got, err := debianChangelog(markdown, "0.2.0", date)
	if err != nil || got != releases {
		t.Errorf("got %v:\n%s", err, got)
	}
	got, err = debianChangelog(markdown, "0.3.0~test", date)
	if err != nil || !strings.HasSuffix(got, releases) || !strings.HasPrefix(got, "gpusched (0.3.0~test) stable") || !strings.Contains(got, "Sat, 02 Jan 2027 03:04:05 +0000") {
		t.Errorf("got %v:\n%s", err, got)
	}
	if _, err := debianChangelog("## [0.1.0]\n", "0.1.0", date); err == nil {
		t.Error("a release without a date is accepted")
	}
}

func TestSettingsManualNamesEveryKey(t *testing.T) {
	page, err := settingsManual(options{date: time.Unix(0, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range config.Keys() {
		if !strings.Contains(page, "\n.B "+manual.Roff(k.Name)+"\n") || !strings.Contains(page, "\n"+manual.Roff(k.Doc)+"\n") {
			t.Errorf("%s.%s is not in the page", k.Section, k.Name)
		}
	}
}

// TestLicencesOfWhatIsLinked checks that every linked module has licence files, and that
// linkedModules finds some known modules.
func TestLicencesOfWhatIsLinked(t *testing.T) {
	modules, err := linkedModules()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range modules {
		if _, err := readLicences(m.Dir); err != nil {
			t.Errorf("%s: %v", m.Path, err)
		}
		found[m.Path] = true
	}
	for _, want := range []string{"Go", "github.com/NVIDIA/go-nvml"} {
		if !found[want] {
			t.Errorf("%s is not among the modules", want)
		}
	}
}

// Every file that names the version names the newest in the changelog.
func TestFilesNameTheVersion(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	last := regexp.MustCompile(`(?m)^## \[(\d[^]]*)\]`).FindStringSubmatch(read("CHANGELOG.md"))
	for _, path := range []string{"README.md", "contrib/python/pyproject.toml", "contrib/python/build_wheel.py",
		"cmd/gpusched/client/testdata/script/python.txt"} {
		named := regexp.MustCompile(`(?i)(?:gpusched[-_]|version.* = .*")(\d+(?:\.\d+)+)`).FindAllStringSubmatch(read(path), -1)
		if len(named) == 0 || slices.ContainsFunc(named, func(m []string) bool { return m[1] != last[1] }) {
			t.Errorf("%s does not name the version %q: %q", path, last[1], named)
		}
	}
}
