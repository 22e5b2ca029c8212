package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// These are the programs that package vm runs on the host, and the Debian package of each. Every
// machine needs runPrograms. An image's build and a wire between boxes need otherPrograms. An
// emulated machine needs emulatedPrograms.
var (
	runPrograms      = map[string]string{"systemd-nspawn": "systemd-container", "nsenter": "util-linux", "mount": "mount"}
	otherPrograms    = map[string]string{"mmdebstrap": "mmdebstrap", "ip": "iproute2"}
	emulatedPrograms = map[string]string{
		"qemu-system-x86_64": "qemu-system-x86", "ssh": "openssh-client", "ssh-keygen": "openssh-client",
		"mke2fs": "e2fsprogs", "e2fsck": "e2fsprogs", "debugfs": "e2fsprogs",
	}
)

// missingPackages returns the packages of the given programs, and of those that a kind of machine
// also needs, if the host lacks the programs. The result is sorted and without duplicates.
func missingPackages(kind Kind, programs ...map[string]string) []string {
	needed := map[string]string{}
	for _, some := range programs {
		maps.Copy(needed, some)
	}
	if kind == Emulated {
		maps.Copy(needed, emulatedPrograms)
	}
	maps.DeleteFunc(needed, func(program, _ string) bool { _, err := exec.LookPath(program); return err == nil })
	return slices.Compact(slices.Sorted(maps.Values(needed)))
}

func missingTools(kind Kind, programs map[string]string) error {
	if missing := missingPackages(kind, programs); len(missing) > 0 {
		return fmt.Errorf("start a %s machine: this host lacks %s: apt-get install them, or call EnsureHostPackages",
			kind, strings.Join(missing, ", "))
	}
	return nil
}

// EnsureHostPackages installs the packages that the host lacks for a kind of machine, with apt-get.
// It does nothing if no package is missing. It needs root and a Debian-like host. It reports each
// installation to the argument log, unless that is nil.
func EnsureHostPackages(ctx context.Context, kind Kind, log io.Writer) error {
	missing := missingPackages(kind, runPrograms, otherPrograms)
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
		fmt.Fprintf(log, "machine: installing %s\n", names)
	}
	install := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
	if err := errors.Join(aptGet(ctx, "update", "-q"), aptGet(ctx, install...)); err != nil {
		return fmt.Errorf("install %s: %w", names, err)
	}
	return nil
}

// needRoot returns an error unless the process is root.
func needRoot(what string) error {
	if os.Geteuid() != 0 {
		return errors.New(what + ": it needs root (containers, mounts and an image's owners): run it as root")
	}
	return nil
}

func aptGet(ctx context.Context, args ...string) error {
	_, err := await.Output(ctx, buildLimit, append([]string{"apt-get"}, args...), func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	})
	return err
}
