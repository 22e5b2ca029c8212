package editor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
)

// hostKey returns the path of the user's host key. It makes the key if there is none. It refuses a
// key that others could have read or replaced (invariant 2).
func hostKey(ctx context.Context, a *cli.App) (string, error) {
	dir := a.OwnConfigDir()
	path := filepath.Join(dir, "ssh_host_ed25519_key")
	if !filepath.IsAbs(dir) || !plain(path) {
		return "", cli.Refuse(api.CodeUsage, "set XDG_CONFIG_HOME or HOME to a plain path", "sshd can't use a host key at %q", path)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of the host key: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if why := jobenv.StrangersIn(a, dir, info); why != "" {
		return "", cli.Refuse(api.CodeForbidden, "make it a directory that only you can write", "%s, where the host key for ssh belongs, %s", dir, why)
	}
	info, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(ctx, dir, path); err != nil {
			return "", err
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return "", err
	}
	why := jobenv.StrangersIn(a, path, info)
	switch {
	case why != "":
	case !info.Mode().IsRegular():
		why = "is not a file"
	case info.Mode()&0o077 != 0:
		why = "can be read by others"
	default:
		return path, nil
	}
	return "", cli.Refuse(api.CodeForbidden, "remove it, and a new one is made", "the host key %s %s", path, why)
}

// plain reports whether sshd reads a path in quotation marks unchanged.
func plain(path string) bool { return len(passedOn([]string{"path=" + path})) == 1 }

// makeKey makes a key and then gives it its name, unless another process was faster.
func makeKey(ctx context.Context, dir, path string) error {
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		return cli.Refuse(api.CodeConflict, "it is in the package openssh-client", "ssh-keygen, which makes the host key for ssh, is not installed here")
	}
	temporary, err := os.MkdirTemp(dir, ".ssh-")
	if err != nil {
		return fmt.Errorf("make the host key: %w", err)
	}
	defer os.RemoveAll(temporary)
	made := filepath.Join(temporary, "key")
	cmd := exec.CommandContext(ctx, program, "-q", "-t", "ed25519", "-N", "", "-C", "gpusched", "-f", made)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ssh-keygen could not make the host key: %w: %q", err, text)
	}
	if err := os.Link(made, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the host key: %w", err)
	}
	return nil
}
