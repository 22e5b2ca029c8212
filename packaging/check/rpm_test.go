//go:build packages

package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRPMSaysWhatItIs(t *testing.T) {
	rpm := built(t, "*.rpm")
	info := output(t, "rpm", "-qip", rpm)
	for _, want := range []string{"Name        : gpusched", "License     : Apache-2.0", "Build Host  : localhost", "Summary     : Job scheduler"} {
		if !strings.Contains(info, want) {
			t.Errorf("%q is not in:\n%s", want, info)
		}
	}
	requires := output(t, "rpm", "-qp", "--requires", rpm)
	for _, want := range []string{"glibc >= 2.34", "systemd >= 252", "dbus"} {
		if !strings.Contains(requires, want) {
			t.Errorf("%q is not required:\n%s", want, requires)
		}
	}
	scripts := output(t, "rpm", "-qp", "--scripts", rpm)
	for _, want := range []string{"postinstall scriptlet", "install-system-units", "preuninstall scriptlet", "remove-system-units", "postuninstall scriptlet", "mark-restart-system-units"} {
		if !strings.Contains(scripts, want) {
			t.Errorf("%q is not in the scripts:\n%s", want, scripts)
		}
	}
}

// TestRPMHasWhatTheDebHas compares the file lists of both packages. It ignores paths that differ
// between the Debian and the Fedora family.
func TestRPMHasWhatTheDebHas(t *testing.T) {
	deb := map[string]bool{}
	for line := range strings.Lines(output(t, "dpkg-deb", "-c", built(t, "*.deb"))) {
		name := strings.TrimPrefix(strings.Fields(line)[5], ".")
		name = strings.Replace(name, "/zsh/vendor-completions/", "/zsh/site-functions/", 1)
		if !strings.HasSuffix(name, "/") {
			deb[name] = true
		}
	}
	only := []string{"/usr/share/doc/gpusched/copyright", "/usr/share/doc/gpusched/changelog.gz", "/usr/share/lintian/overrides/gpusched",
		"/etc/update-motd.d/60-gpusched"}
	for _, name := range only {
		delete(deb, name)
	}
	extra := []string{"/usr/share/doc/gpusched/CHANGELOG.md", "/usr/share/licenses/gpusched/LICENSE"}
	for line := range strings.Lines(output(t, "rpm", "-qplv", built(t, "*.rpm"))) {
		f := strings.Fields(line)
		mode, name := f[0], f[len(f)-1]
		if f[2] != "root" || f[3] != "root" {
			t.Errorf("%s belongs to %s:%s", name, f[2], f[3])
		}
		if strings.HasPrefix(mode, "d") {
			continue
		}
		if strings.HasPrefix(mode, "l") { // the link's target follows its name
			name, mode = f[len(f)-3], "-rwx"
		}
		if strings.HasPrefix(mode, "-rwx") != (strings.Contains(name, "bin/") || strings.Contains(name, "/libexec/")) {
			t.Errorf("%s has mode %s", name, mode)
		}
		if !deb[name] && !slices.Contains(extra, name) {
			t.Errorf("%s is only in the rpm", name)
		}
		delete(deb, name)
	}
	for name := range deb {
		t.Errorf("%s is only in the deb", name)
	}
}

func TestRPMInstallsIntoAnEmptyRoot(t *testing.T) {
	dir := t.TempDir()
	output(t, "rpm", "--root", dir, "-i", "--noscripts", "--nodeps", built(t, "*.rpm"))
	for _, name := range []string{"usr/sbin/gpuschedd", "usr/lib/systemd/system/gpusched.service", "etc/gpusched/gpusched.toml", "etc/gpusched/conf.d"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if out := output(t, "rpm", "--root", dir, "-V", "--nodeps", "--noscripts", "gpusched"); out != "" {
		t.Errorf("what was installed is not what was packed:\n%s", out)
	}
	output(t, "rpm", "--root", dir, "-e", "--noscripts", "gpusched")
	if left := output(t, "find", dir, "-name", "*gpusched*", "-not", "-path", "*/lib/rpm/*"); left != "" {
		t.Errorf("removing the package leaves:\n%s", left)
	}
}
