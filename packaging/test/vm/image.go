package vm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// An image is a directory in the cache. For a box it contains the tree root/; for an emulated
// machine it contains a disk, kernel, initrd and ssh keys.
type image struct{ dir string }

func (i image) file(name string) string { return filepath.Join(i.dir, name) }

func (i image) root() string { return i.file("root") }

// DefaultCacheDir returns .cache/vm at the top of the checkout that contains the working directory.
func DefaultCacheDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("image cache: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".cache", "vm"), nil
		}
		if dir == "/" {
			return "", errors.New("image cache: not inside a checkout of the module: run in one, or name a cache directory")
		}
	}
}

// Prepare makes sure that the image of a kind and of opts.Suite is in the cache, and returns the
// image's directory. It needs root. A build takes about a minute; if the image exists, Prepare
// returns at once. It logs a build to opts.Log. Several processes may call Prepare at the same
// time.
func Prepare(ctx context.Context, kind Kind, opts Options) (string, error) {
	if err := needRoot("build a test machine's image"); err != nil {
		return "", err
	}
	img, err := ensureImage(ctx, kind, opts)
	return img.dir, err
}

func ensureImage(ctx context.Context, kind Kind, opts Options) (image, error) {
	r, err := recipeOf(kind, opts.suite(), opts.Packages)
	if err != nil {
		return image{}, err
	}
	cache := opts.CacheDir
	if cache == "" {
		if cache, err = DefaultCacheDir(); err != nil {
			return image{}, err
		}
	}
	if err := os.MkdirAll(cache, 0o700); err != nil { // only root may enter, because the trees have setuid programs
		return image{}, fmt.Errorf("image cache: %w", err)
	}
	img := image{filepath.Join(cache, r.hash())}
	if img.built() {
		return img, nil
	}
	lock, err := lockFile(ctx, img.dir+".lock")
	if err != nil {
		return image{}, fmt.Errorf("image cache: %w", err)
	}
	defer lock.Close()
	if img.built() {
		return img, nil
	}
	if err := missingTools(kind, otherPrograms); err != nil {
		return image{}, err
	}
	return img, img.build(ctx, r, opts.log())
}

func (i image) built() bool {
	_, err := os.Stat(i.dir)
	return err == nil
}

// buildLimit is the time limit of one step of a build. It is long enough for a host under load and
// a slow package archive.
const buildLimit = 15 * time.Minute

// lockFile waits for an exclusive lock on a file. When the file is closed, the lock is released.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	// Another process may hold the lock for a minute, and a context cannot interrupt a blocking
	// lock. Poll instead.
	err = await.Until(ctx, "the lock on "+path, buildLimit, 100*time.Millisecond,
		func(context.Context) (string, bool, error) {
			err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
			return fmt.Sprint(err), err == nil, nil
		})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// usualBuild is the usual time of a build on two idle processors.
var usualBuild = map[Kind]string{Box: "40 s", Emulated: "80 s"}

// build makes the image in a temporary directory. When the image is complete, build renames the
// directory. The caller holds the lock of the image.
func (i image) build(ctx context.Context, r recipe, log io.Writer) error {
	began := time.Now()
	fmt.Fprintf(log, "machine: building the image (%s, Debian %s; once, about %s)…\n", r.kind, r.suite, usualBuild[r.kind])
	work := image{i.dir + ".build"}
	err := os.RemoveAll(work.dir)
	if err == nil {
		err = os.Mkdir(work.dir, 0o700)
	}
	if err == nil {
		err = work.fill(ctx, r)
	}
	if err == nil {
		err = os.Rename(work.dir, i.dir)
	}
	if err != nil {
		return fmt.Errorf("build the %s image of %s: %w", r.kind, r.suite, errors.Join(err, os.RemoveAll(work.dir)))
	}
	fmt.Fprintf(log, "machine: built the image in %.1f s, in %s\n", time.Since(began).Seconds(), i.dir)
	return nil
}

func (i image) fill(ctx context.Context, r recipe) error {
	if err := i.bootstrap(ctx, r); err != nil {
		return err
	}
	var id [16]byte // without an id, systemd would apply presets at the "first boot" of each copy
	rand.Read(id[:])
	err := os.WriteFile(filepath.Join(i.root(), "etc/machine-id"), []byte(hex.EncodeToString(id[:])+"\n"), 0o444)
	if err != nil || r.kind == Box {
		return err
	}
	return i.fillEmulated(ctx)
}

// bootstrap runs mmdebstrap in separate mount and PID namespaces.
// An interrupted build therefore leaves nothing mounted.
func (i image) bootstrap(ctx context.Context, r recipe) error {
	args := []string{"--mode=root", "--variant=minbase", "--include=" + strings.Join(r.includes, ",")}
	for hook, script := range r.hooks {
		file := i.file(hook + ".sh")
		if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
			return err
		}
		args = append(args, fmt.Sprintf("--%s-hook='%s' \"$1\" %s", hook, file, r.kind))
	}
	fetch, err := fetchOptions(ctx)
	if err != nil {
		return err
	}
	args = append(args, fetch...)
	args = append(args, string(r.suite), i.root())
	return runContained(ctx, "mmdebstrap", args...)
}

// fetchOptions returns the host's apt settings for package archives (proxies, clock checks), as
// options of mmdebstrap.
func fetchOptions(ctx context.Context) ([]string, error) {
	out, err := await.Output(ctx, time.Minute, []string{"apt-config", "dump"})
	if err != nil {
		return nil, fmt.Errorf("read the host's apt settings: %w", err)
	}
	var options []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		for _, wanted := range []string{"Acquire::Check-", "Acquire::http::", "Acquire::https::", "Acquire::Retries "} {
			if strings.HasPrefix(line, wanted) && !strings.HasSuffix(line, ` "";`) {
				options = append(options, "--aptopt="+strings.TrimSuffix(line, ";"))
			}
		}
	}
	return options, nil
}

// runContained runs a command in separate mount and PID namespaces. If the command fails, the error
// includes its output.
func runContained(ctx context.Context, name string, args ...string) error {
	ctx, stop := await.For(ctx, "the end of "+name, buildLimit)
	defer stop()
	shell := []string{"-ec", `mount --make-rprivate /; mount -t proc proc /proc; "$@"; exit $?`, "sh", name}
	cmd := exec.CommandContext(ctx, "sh", append(shell, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	c, err := startChild(cmd)
	if err == nil {
		<-c.done
		err = c.err
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, await.Cause(ctx, err), await.Tail(output.String(), 20))
	}
	return nil
}
