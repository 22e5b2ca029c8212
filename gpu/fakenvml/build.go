package fakenvml

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

//go:embed c
var source embed.FS

// The names of the files that are made, as they are installed.
const (
	LibraryName = "libnvidia-ml.so.1"
	SimCUDAName = "simcuda"
	CUDAName    = "libcuda.so.1"
)

// Build compiles the fake library into dir and returns its path. To resemble an older driver, the
// library does not export the names in the list without. Build needs cc, and a go command with the
// go-nvml module (it runs inside this module).
func Build(dir string, without ...string) (lib string, err error) {
	header, err := nvmlHeader()
	if err != nil {
		return "", err
	}
	work, err := unpack()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := generate(work, header, without); err != nil {
		return "", err
	}
	lib = filepath.Join(dir, LibraryName)
	return lib, compile("-shared", "-fPIC", "-pthread", "-isystem", filepath.Dir(header), "-Wl,-Bsymbolic",
		"-Wl,-soname,"+LibraryName, "-Wl,--version-script="+filepath.Join(work, "exports"), "-o", lib,
		filepath.Join(work, "nvml.c"), filepath.Join(work, "topology.c"), filepath.Join(work, "state.c"), filepath.Join(work,
			"stubs.c"))
}

// BuildSimCUDA compiles a static simcuda into dir and returns its path.
func BuildSimCUDA(dir string) (path string, err error) {
	work, err := unpack()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	path = filepath.Join(dir, SimCUDAName)
	return path, compile("-static", "-o", path, filepath.Join(work, "simcuda.c"), filepath.Join(work, "state.c"))
}

// BuildCUDA compiles the fake libcuda.so.1 into dir and returns its path. Like Build, it leaves out
// names.
func BuildCUDA(dir string, without ...string) (lib string, err error) {
	work, err := unpack()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	lib = filepath.Join(dir, CUDAName)
	args := []string{"-shared", "-fPIC", "-Wl,-soname," + CUDAName, "-o", lib}
	for _, name := range without {
		args = append(args, "-D"+name+"=without_"+name)
	}
	return lib, compile(append(args, filepath.Join(work, "cuda.c"), filepath.Join(work, "state.c"))...)
}

// toolLimit is the time limit for a run of go or the compiler.
const toolLimit = 5 * time.Minute

// nvmlHeader finds nvml.h in the module cache.
func nvmlHeader() (string, error) {
	out, err := await.Output(context.Background(), toolLimit,
		[]string{"go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml"})
	if err != nil {
		return "", fmt.Errorf("finding nvml.h: %w", err)
	}
	header := filepath.Join(strings.TrimSpace(out), "pkg", "nvml", "nvml.h")
	if _, err := os.Stat(header); err != nil {
		return "", fmt.Errorf("finding nvml.h (try \"go mod download\"): %w", err)
	}
	return header, nil
}

func unpack() (string, error) {
	work, err := os.MkdirTemp("", "fakenvml-")
	if err != nil {
		return "", fmt.Errorf("unpacking the sources: %w", err)
	}
	files, err := fs.Sub(source, "c")
	if err == nil {
		err = os.CopyFS(work, files)
	}
	if err != nil {
		return "", fmt.Errorf("unpacking the sources: %w", err)
	}
	return work, nil
}

// generate writes two files: stubs.c, with a weak stub for each export, and exports, the version
// script that hides everything else.
func generate(work, header string, without []string) error {
	text, err := os.ReadFile(header)
	if err != nil {
		return fmt.Errorf("reading nvml.h: %w", err)
	}
	names := Exports(text)
	for _, n := range without {
		if !slices.Contains(names, n) {
			return fmt.Errorf("leaving out %q: nvml.h declares no such function", n)
		}
	}
	var stubs, script strings.Builder
	script.WriteString("{ global:\n")
	for _, n := range names {
		fmt.Fprintf(&stubs, "__attribute__((weak)) int %s(void) { return 3; }\n", n)
		if !slices.Contains(without, n) {
			fmt.Fprintf(&script, "%s;\n", n)
		}
	}
	script.WriteString("local: *; };\n")
	if err := os.WriteFile(filepath.Join(work, "stubs.c"), []byte(stubs.String()), 0o600); err != nil {
		return fmt.Errorf("writing the stubs: %w", err)
	}
	if err := os.WriteFile(filepath.Join(work, "exports"), []byte(script.String()), 0o600); err != nil {
		return fmt.Errorf("writing the list of exports: %w", err)
	}
	return nil
}

func compile(args ...string) error {
	args = append([]string{"cc", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-format-truncation",
		"-Wno-deprecated-declarations"}, args...)
	if _, err := await.Output(context.Background(), toolLimit, args); err != nil {
		return fmt.Errorf("compiling: %w", err)
	}
	return nil
}
