package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// options are the values that the Makefile passes.
type options struct {
	bin     string    // directory of the built programs
	out     string    // output directory, which is emptied first
	version string    // version of the package
	date    time.Time // date of the sources
}

func main() {
	var o options
	var epoch int64
	flag.StringVar(&o.bin, "bin", "bin", "`directory` of the built programs")
	flag.StringVar(&o.out, "out", ".out/stage", "`directory` to make")
	flag.StringVar(&o.version, "version", "", "`version` of the package")
	flag.Int64Var(&epoch, "date", 0, "`seconds` since 1970 of the sources")
	flag.Parse()
	o.date = time.Unix(epoch, 0).UTC()
	if err := stage(o); err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		os.Exit(1)
	}
}

func stage(o options) error {
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	if err := write(filepath.Join(o.out, "gpusched.toml"), []byte(config.Sample())); err != nil {
		return err
	}
	for _, step := range []func(options) error{stageManuals, stageChangelog, stageLicences} {
		if err := step(o); err != nil {
			return err
		}
	}
	return nil
}

func stageManuals(o options) error {
	settings, err := settingsManual(o)
	if err != nil {
		return fmt.Errorf("write gpusched.toml(5): %w", err)
	}
	pages := map[string][]byte{"man5/gpusched.toml.5": []byte(settings)}
	dir, err := os.MkdirTemp("", "gpusched-man-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	argv := []string{filepath.Join(o.bin, "gpusched"), "__man", dir}
	if _, err := await.Output(context.Background(), time.Minute, argv, func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", o.date.Unix()))
	}); err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	made, _ := filepath.Glob(filepath.Join(dir, "*.[17]"))
	kept, _ := filepath.Glob("packaging/man/*.[78]")
	if len(made) == 0 || len(kept) == 0 {
		return fmt.Errorf("%q wrote no manual page, or packaging/man has none", argv[0])
	}
	for _, path := range append(made, kept...) {
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		page = bytes.Replace(page, []byte(`"" "gpusched"`), fmt.Appendf(nil, `"%s" "gpusched %s"`, o.date.Format(time.DateOnly), o.version), 1)
		pages["man"+name[len(name)-1:]+"/"+name] = page
	}
	for name, page := range pages {
		if err := writeGzip(filepath.Join(o.out, "man", name+".gz"), page); err != nil {
			return err
		}
	}
	return nil
}

// write creates a file that every user can read, and the file's directory.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// writeGzip compresses without a file name and a time, as gzip -9n does.
func writeGzip(path string, data []byte) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return write(path, b.Bytes())
}
