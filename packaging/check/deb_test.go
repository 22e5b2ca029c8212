//go:build packages

package check

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLintianFindsNothing(t *testing.T) {
	deb := built(t, "*.deb")
	// lintian runs as an ordinary user, who can read only this copy.
	dir, err := os.MkdirTemp("", "gpusched-lintian-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(deb)
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(dir, filepath.Base(deb))
	if err := os.WriteFile(public, data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := asNobody(t.Context(), t, "lintian", "--fail-on", "error,warning", public)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDebFiles checks the mode and owner of every file. A new file must be listed here, so that no
// file gets into the package by accident.
func TestDebFiles(t *testing.T) {
	got := map[string]string{}
	for line := range strings.Lines(output(t, "dpkg-deb", "-c", built(t, "*.deb"))) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "root/root" {
			t.Fatalf("unexpected line %q", line)
		}
		if name := strings.TrimPrefix(f[5], "."); !strings.HasSuffix(name, "/") {
			got[name] = f[0]
		} else if f[0] != "drwxr-xr-x" {
			t.Errorf("%s has mode %s", name, f[0])
		}
	}
	for _, name := range debFiles() {
		want := "-rw-r--r--"
		if strings.Contains(name, "bin/") || strings.Contains(name, "/libexec/") || strings.Contains(name, "/update-motd.d/") {
			want = "-rwxr-xr-x"
		}
		if name == "/usr/sbin/gpuschedd" {
			want = "lrwxrwxrwx"
		}
		if got[name] != want {
			t.Errorf("%s: mode %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	for name := range got {
		if !strings.HasPrefix(name, "/usr/share/man/man1/gpusched") { // one page for each command
			t.Errorf("%s is in the package and not in the list", name)
		}
	}
}

func debFiles() []string {
	return []string{
		"/usr/bin/gpusched", "/usr/sbin/gpuschedd", "/usr/libexec/gpusched/gpuschedd", "/usr/libexec/gpusched/gpusched-nvml", "/usr/libexec/gpusched/gpusched-job", "/usr/libexec/gpusched/gpusched-notify", "/usr/libexec/gpusched/gpusched-slurm", "/usr/libexec/gpusched/gpusched-top", "/usr/libexec/gpusched/gpusched-mcp",
		"/usr/libexec/gpusched/gpusched-accounts", "/usr/lib/systemd/system/gpusched-accounts.service", "/usr/lib/systemd/system/gpusched-accounts.socket",
		"/usr/libexec/gpusched/gpusched-web", "/usr/lib/systemd/system/gpusched-web.service", "/usr/lib/systemd/system/gpusched-web.socket",
		"/usr/libexec/gpusched/gpusched-metrics", "/usr/lib/systemd/system/gpusched-metrics.service", "/usr/lib/systemd/system/gpusched-metrics.socket",
		"/usr/lib/systemd/system/gpusched-job-mapping.service", "/usr/lib/systemd/system/gpusched-textfile.service", "/usr/lib/systemd/system/gpusched-textfile.timer",
		"/usr/share/gpusched/prometheus/gpusched.rules.yml", "/usr/share/gpusched/prometheus/prometheus.yml", "/usr/share/gpusched/grafana/gpusched.json",
		"/etc/gpusched/gpusched.toml", "/etc/needrestart/conf.d/gpusched.conf", "/etc/update-motd.d/60-gpusched",
		"/usr/lib/systemd/system/gpusched.service", "/usr/lib/systemd/system/gpusched.socket", "/usr/lib/systemd/system/gpujobs.slice",
		"/usr/lib/systemd/system/gpusched-devices.service", "/usr/lib/systemd/user/gpusched-watch@.service", "/usr/lib/systemd/user/gpusched.service", "/usr/lib/systemd/user/gpusched.socket",
		"/usr/lib/systemd/system/gpujob-.service.d/10-gpusched.conf", "/usr/lib/systemd/system/gpujobs-.slice.d/10-gpusched.conf",
		"/usr/share/gpusched/fence/user-.slice.d/50-gpusched-fence.conf", "/usr/share/gpusched/fence/user-0.slice.d/50-gpusched-fence.conf",
		"/usr/share/gpusched/fence/cron.service.d/50-gpusched-fence.conf", "/usr/share/gpusched/fence/crond.service.d/50-gpusched-fence.conf",
		"/usr/share/gpusched/fence/atd.service.d/50-gpusched-fence.conf", "/usr/share/gpusched/gpusched.v1.json", "/usr/share/gpusched/python/pyproject.toml",
		"/usr/share/gpusched/python/build_wheel.py", "/usr/share/gpusched/python/gpusched/__init__.py", "/usr/share/gpusched/logind/50-gpusched.conf",
		"/usr/lib/sysusers.d/gpusched.conf", "/usr/lib/tmpfiles.d/gpusched.conf",
		"/usr/share/bash-completion/completions/gpusched", "/usr/share/fish/vendor_completions.d/gpusched.fish",
		"/usr/share/zsh/vendor-completions/_gpusched",
		"/usr/share/man/man1/gpusched.1.gz", "/usr/share/man/man5/gpusched.toml.5.gz",
		"/usr/share/man/man7/gpusched.7.gz", "/usr/share/man/man7/gpusched-admin.7.gz", "/usr/share/man/man7/gpusched-policy.7.gz", "/usr/share/man/man8/gpuschedd.8.gz",
		"/usr/share/doc/gpusched/copyright", "/usr/share/doc/gpusched/changelog.gz", "/usr/share/doc/gpusched/third-party.gz",
		"/usr/share/lintian/overrides/gpusched",
	}
}

func TestSettingsAreConffiles(t *testing.T) {
	got := strings.Fields(output(t, "dpkg-deb", "-I", built(t, "*.deb"), "conffiles"))
	want := []string{"/etc/gpusched/gpusched.toml", "/etc/needrestart/conf.d/gpusched.conf", "/etc/update-motd.d/60-gpusched"}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestMaintainerScriptsParse checks the scripts in the built package.
func TestMaintainerScriptsParse(t *testing.T) {
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		text := output(t, "dpkg-deb", "-I", built(t, "*.deb"), script)
		for _, shell := range []string{"dash", "bash"} {
			cmd := exec.CommandContext(t.Context(), shell, "-n")
			cmd.Stdin = strings.NewReader(text)
			outputOf(t, cmd)
		}
	}
}

// TestProgramsAreLinkedAsPromised: all programs except one are static, so that they start even if
// the machine's libraries are broken. gpusched-nvml looks up a function of the driver only when it
// first calls the function. It therefore also starts with an old driver that lacks a function.
func TestProgramsAreLinkedAsPromised(t *testing.T) {
	dir := extractDeb(t)
	for _, static := range []string{"usr/bin/gpusched", "usr/libexec/gpusched/gpuschedd", "usr/libexec/gpusched/gpusched-job", "usr/libexec/gpusched/gpusched-notify", "usr/libexec/gpusched/gpusched-slurm", "usr/libexec/gpusched/gpusched-top", "usr/libexec/gpusched/gpusched-mcp", "usr/libexec/gpusched/gpusched-metrics"} {
		if out := output(t, "readelf", "-dlW", filepath.Join(dir, static)); strings.Contains(out, "INTERP") || strings.Contains(out, "NEEDED") {
			t.Errorf("%s is not static:\n%s", static, out)
		}
	}
	nvml := filepath.Join(dir, "usr/libexec/gpusched/gpusched-nvml")
	out := output(t, "readelf", "-dW", nvml)
	if strings.Contains(out, "NOW") || !strings.Contains(out, "[libc.so.6]") {
		t.Errorf("gpusched-nvml is bound at start, or not to the C library:\n%s", out)
	}
	for version := range strings.FieldsSeq(output(t, "readelf", "-VW", nvml)) {
		if v, ok := strings.CutPrefix(version, "GLIBC_"); ok && newer(t, v, "2.34") {
			t.Errorf("gpusched-nvml needs glibc %s, the packages ask for 2.34", v)
		}
	}
}

// newer reports whether version a is newer than version b. Versions look like 2.34 or 2.2.5.
func newer(t *testing.T, a, b string) bool {
	cmd := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", a, "gt", b)
	cmd.Stdout = io.Discard
	return cmd.Run() == nil
}
