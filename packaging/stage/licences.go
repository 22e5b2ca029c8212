package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// module is what 'go list' prints about a module, or about Go itself.
type module struct{ Path, Version, Dir string }

// stageLicences collects the notices of Go and of every module whose code is in one of the
// programs. Most of the modules' licences require this.
func stageLicences(o options) error {
	modules, err := linkedModules()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("The programs of gpusched contain code of these projects.\n")
	for _, m := range modules {
		texts, err := readLicences(m.Dir)
		if err != nil {
			return fmt.Errorf("module %q: %w", m.Path, err)
		}
		fmt.Fprintf(&b, "\n%s\n%s %s\n%[1]s\n\n", strings.Repeat("=", 78), m.Path, m.Version)
		for _, text := range texts {
			b.Write(bytes.TrimSpace(text))
			b.WriteString("\n\n")
		}
	}
	return writeGzip(filepath.Join(o.out, "doc/third-party.gz"), b.Bytes())
}

// goLimit is the time limit of a go command, which may have to fetch modules.
const goLimit = 5 * time.Minute

// linkedModules lists Go and the modules of all packages under cmd, sorted by path.
func linkedModules() ([]module, error) {
	format := "{{if .Standard}}Go\t" + runtime.Version() + "\t{{.Root}}" +
		"{{else if not .Module.Main}}{{.Module.Path}}\t{{.Module.Version}}\t{{.Module.Dir}}{{end}}"
	out, err := await.Output(context.Background(), goLimit,
		[]string{"go", "list", "-deps", "-f", format, "github.com/gpusched/gpusched/cmd/..."},
		func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), "CGO_ENABLED=1") })
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	var modules []module
	for _, line := range slices.Compact(slices.Sorted(strings.Lines(out))) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 {
			modules = append(modules, module{f[0], f[1], f[2]})
		}
	}
	return modules, nil
}

// readLicences reads the licence files of a module. There must be at least one.
func readLicences(dir string) ([][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !(strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING") ||
			strings.HasPrefix(name, "NOTICE")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("there is no licence in %q", dir)
	}
	return texts, nil
}
