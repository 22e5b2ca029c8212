package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/gpusched/gpusched/packaging/test/await"
)

const (
	sshdPath = "/usr/sbin/sshd"
	sshPort  = "2222"
)

// sshServer starts an ssh server of our own, for this machine alone, with a key for the
// submitting account, whose files it leaves alone. It returns the words that run a command
// through it; none where ssh is not installed.
func (b *rig) sshServer(ctx context.Context) (words []string, stop func(), err error) {
	if _, err := os.Stat(sshdPath); errors.Is(err, os.ErrNotExist) {
		return nil, func() {}, nil
	}
	account, err := user.LookupId(strconv.Itoa(b.uid))
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(b.dir, "ssh")
	host, key := filepath.Join(dir, "host"), filepath.Join(dir, "key")
	if _, err := run(ctx, "/bin/sh", "-ec", `mkdir -p /run/sshd "$1"; rm -f "$2" "$3"
		ssh-keygen -q -t ed25519 -N "" -f "$2"; ssh-keygen -q -t ed25519 -N "" -f "$3"; chown "$4" "$3"`,
		"sh", dir, host, key, account.Uid); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx) // what needs it has limits of its own
	server := exec.CommandContext(ctx, sshdPath, "-D", "-e", "-p", sshPort, "-h", host, "-o", "ListenAddress=127.0.0.1",
		"-o", "AuthorizedKeysFile="+key+".pub", "-o", "StrictModes=no", "-o", "PrintMotd=no", "-o", "PrintLastLog=no")
	if err := server.Start(); err != nil {
		cancel()
		return nil, nil, err
	}
	end := func() { cancel(); _ = server.Wait() }
	words = []string{"ssh", "-q", "-e", "none", "-F", "none", "-p", sshPort, "-i", key, "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes", account.Username + "@127.0.0.1"}
	err = await.Until(ctx, "an answer of the ssh server", b.limits.begin, keyPause, func(ctx context.Context) (string, bool, error) {
		said, err := b.as(ctx, append(words, "true")...)
		return fmt.Sprint(said, err), err == nil, nil
	})
	if err != nil {
		end()
		return nil, nil, err
	}
	return words[:len(words):len(words)], end, nil
}
