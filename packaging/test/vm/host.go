package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A tool is a program that this package runs on the host, and the Debian package that has it.
type tool struct{ program, pkg string }

func toolsOf(kind Kind) []tool {
	tools := []tool{
		{"mmdebstrap", "mmdebstrap"}, {"systemd-nspawn", "systemd-container"},
		{"nsenter", "util-linux"}, {"mount", "mount"},
	}
	if kind == Emulated {
		tools = append(tools, tool{"qemu-system-x86_64", "qemu-system-x86"}, tool{"ssh", "openssh-client"},
			tool{"ssh-keygen", "openssh-client"}, tool{"mke2fs", "e2fsprogs"}, tool{"e2fsck", "e2fsprogs"}, tool{"debugfs",
				"e2fsprogs"})
	}
	return tools
}

// missingPackages are the packages whose programs are not on the host, in order, each once.
func missingPackages(kind Kind) []string {
	var missing []string
	for _, t := range toolsOf(kind) {
		if _, err := exec.LookPath(t.program); err != nil {
			missing = append(missing, t.pkg)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

func missingTools(kind Kind) error {
	if missing := missingPackages(kind); len(missing) > 0 {
		return fmt.Errorf("start a %s machine: this host lacks %s: apt-get install them, or call EnsureHostPackages",
			kind, strings.Join(missing, ", "))
	}
	return nil
}

// EnsureHostPackages installs with apt-get what a kind of machine needs on the host and is not there; where nothing is
// missing it does nothing. It needs root and a Debian-like host. log hears of what is installed; nil is nobody.
func EnsureHostPackages(ctx context.Context, kind Kind, log io.Writer) error {
	missing := missingPackages(kind)
	if len(missing) == 0 {
		return nil
	}
	names := strings.Join(missing, ", ")
	if os.Geteuid() != 0 {
		return fmt.Errorf("install %s: it needs root: run it as root, or install them first", names)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("install %s: this host has no apt-get: install what gives these Debian packages' programs by hand",
			names)
	}
	if log != nil {
		fmt.Fprintf(log, "vm: installing %s\n", names)
	}
	install := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
	if err := errors.Join(aptGet(ctx, "update", "-q"), aptGet(ctx, install...)); err != nil {
		return fmt.Errorf("install %s: %w", names, err)
	}
	return nil
}

func aptGet(ctx context.Context, args ...string) error {
	_, err := await.Output(ctx, buildLimit, append([]string{"apt-get"}, args...), func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	})
	return err
}
