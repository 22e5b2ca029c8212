//go:build packages

package check

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/config"
)

// TestManualPages formats every manual page with all warnings enabled. Every page names the version.
func TestManualPages(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(extractDeb(t), "usr/share/man/man*/*.gz"))
	if err != nil || len(pages) < 3 {
		t.Fatalf("pages %v, %v", pages, err)
	}
	_, version, _ := strings.Cut(filepath.Base(built(t, "*.deb")), "_")
	version, _, _ = strings.Cut(version, "_")
	for _, page := range pages {
		if head, _, _ := strings.Cut(output(t, "zcat", page), ".SH NAME"); !strings.Contains(head, `"gpusched `+version+`"`) {
			t.Errorf("%s does not name the version %s:\n%s", filepath.Base(page), version, head)
		}
		cmd := exec.CommandContext(t.Context(), "man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANWIDTH=80")
		var warnings bytes.Buffer
		cmd.Stderr = &warnings
		if out, err := cmd.Output(); err != nil || warnings.Len() > 0 || len(out) == 0 {
			t.Errorf("%s: %v\n%s", filepath.Base(page), err, warnings.String())
		}
	}
}

// TestManualPagesPointToPages: if a page refers to another
// of our manual pages, the package contains that page.
func TestManualPagesPointToPages(t *testing.T) {
	dir := filepath.Join(extractDeb(t), "usr/share/man")
	pages, err := filepath.Glob(filepath.Join(dir, "man*/*.gz"))
	if err != nil || len(pages) < 3 {
		t.Fatalf("pages %v, %v", pages, err)
	}
	named := map[string]bool{}
	for _, page := range pages {
		text := strings.ReplaceAll(output(t, "zcat", page), `\-`, "-")
		for _, m := range ownPages.FindAllStringSubmatch(text, -1) {
			name := m[1] + "." + m[2]
			if named[name] = true; !slices.Contains(pages, filepath.Join(dir, "man"+m[2], name+".gz")) {
				t.Errorf("%s points to %s, which is not there", filepath.Base(page), name)
			}
		}
	}
	for _, name := range []string{"gpusched.7", "gpusched-admin.7", "gpusched-policy.7", "gpusched.toml.5", "gpuschedd.8", "gpusched-why.1"} {
		if !named[name] {
			t.Errorf("no page points to %s", name)
		}
	}
}

var ownPages = regexp.MustCompile(`\b(gpusched[a-z.-]*) ?\(([1-8])\)`)

// TestManualNamesEveryKey searches the formatted manual page for every key of the settings.
func TestManualNamesEveryKey(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "man", "-l", filepath.Join(extractDeb(t), "usr/share/man/man5/gpusched.toml.5.gz"))
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=1000", "MAN_KEEP_FORMATTING=")
	text := outputOf(t, cmd)
	for _, k := range config.Keys() {
		for _, want := range []string{k.Name, k.Doc, "Default: " + k.Default + "."} {
			if !strings.Contains(text, want) {
				t.Errorf("%s.%s: %q is not in the page", k.Section, k.Name, want)
			}
		}
	}
}

// TestShippedSettingsAreTheDefault checks that the installed settings file equals config.Sample.
func TestShippedSettingsAreTheDefault(t *testing.T) {
	shipped, err := os.ReadFile(filepath.Join(extractDeb(t), "etc/gpusched/gpusched.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if string(shipped) != config.Sample() {
		t.Error("the shipped file is not config.Sample")
	}
}

// TestUnitsVerify runs systemd-analyze verify on the shipped units.
func TestUnitsVerify(t *testing.T) {
	dir := extractDeb(t)
	cmd := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
		filepath.Join(dir, "usr/lib/systemd/system/gpusched.service"), filepath.Join(dir, "usr/lib/systemd/system/gpusched.socket"),
		filepath.Join(dir, "usr/lib/systemd/system/gpusched-devices.service"), filepath.Join(dir, "usr/lib/systemd/system/gpujobs.slice"),
		filepath.Join(dir, "usr/lib/systemd/system/gpusched-accounts.service"), filepath.Join(dir, "usr/lib/systemd/system/gpusched-accounts.socket"),
		filepath.Join(dir, "usr/lib/systemd/system/gpusched-web.service"), filepath.Join(dir, "usr/lib/systemd/system/gpusched-web.socket"),
		filepath.Join(dir, "usr/lib/systemd/system/gpusched-metrics.service"), filepath.Join(dir, "usr/lib/systemd/system/gpusched-metrics.socket"),
		filepath.Join(dir, "usr/lib/systemd/system/gpusched-textfile.service"), filepath.Join(dir, "usr/lib/systemd/system/gpusched-textfile.timer"),
		filepath.Join(dir, "usr/lib/systemd/system/gpusched-job-mapping.service"))
	out, _ := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		// The programs are not installed on the build machine.
		if !strings.Contains(line, "is not executable: No such file or directory") {
			t.Errorf("systemd says: %s", line)
		}
	}
}

func TestNeedrestartSnippetIsPerl(t *testing.T) {
	output(t, "perl", "-e", `our %nrconf; $nrconf{override_rc} = {}; do $ARGV[0] or die "bad: $@ $!\n" unless defined(do $ARGV[0]);
my ($re) = keys %{$nrconf{override_rc}}; die "does not match\n" unless "gpujob-12.service" =~ /$re/ and "ssh.service" !~ /$re/;`,
		filepath.Join(extractDeb(t), "etc/needrestart/conf.d/gpusched.conf"))
}
