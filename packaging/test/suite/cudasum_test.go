//go:build machine

package suite

import (
	"context"
	"debug/elf"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// cudasum is the path of a small program that computes with CUDA on every GPU that it can see. A C
// compiler is enough to build it: at run time it loads the driver's libcuda.so.1, and the driver
// compiles its kernel. For each GPU it prints a line "device I UUID GPU-… PCI … NAME …" and a line
// "sum ok". If CUDA finds no GPU, it prints "cuInit: N NAME" and exits with 3. --help lists its
// options.
const cudasum = "/usr/local/bin/cudasum"

// buildCudasum compiles cudasum into dir and returns its path.
func buildCudasum(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "cudasum")
	argv := []string{"cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, "testdata/cudasum.c", "-ldl"}
	_, err = await.Output(ctx, 5*time.Minute, argv)
	return path, err
}

func builtCudasum(t *testing.T) string {
	t.Helper()
	path, err := buildCudasum(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCudasumRunsWithAnOlderLibrary: cudasum runs with a C library that is older than the library
// on the build machine. Debian 12 has glibc 2.36.
func TestCudasumRunsWithAnOlderLibrary(t *testing.T) {
	program, err := elf.Open(builtCudasum(t))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	symbols, err := program.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(symbols, func(s elf.ImportedSymbol) bool { return s.Name == "dlopen" }) {
		t.Error("it does not import dlopen: are these its symbols?")
	}
	for _, s := range symbols {
		minor, ok := strings.CutPrefix(s.Version, "GLIBC_2.")
		if n, err := strconv.ParseFloat(minor, 64); ok && (err != nil || n > 36) {
			t.Errorf("%s is of %s", s.Name, s.Version)
		}
	}
}

// TestCudasumWithoutGPU: without a driver, cudasum names the missing library. Its exit status
// differs from the status for a missing GPU.
func TestCudasumWithoutGPU(t *testing.T) {
	program := builtCudasum(t)
	none := func(name, code string) string {
		dir := t.TempDir()
		cc := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-x", "c", "-o", dir+"/libcuda.so.1", "-")
		cc.Stdin = strings.NewReader(code)
		if out, err := cc.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return dir
	}
	var stubs strings.Builder
	for _, f := range []string{"cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
		"cuDeviceGetUuid_v2", "cuDeviceGetPCIBusId", "cuCtxCreate_v2", "cuCtxSetCurrent", "cuMemAlloc_v2",
		"cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel",
		"cuCtxSynchronize"} {
		stubs.WriteString("int " + f + "(void) { return 1; }\n")
	}
	stubs.WriteString(`int cuInit(unsigned f) { return f ? 1 : 100; }
int cuGetErrorName(int e, const char **n) { *n = e == 100 ? "CUDA_ERROR_NO_DEVICE" : "?"; return 0; }`)
	for _, c := range []struct {
		name, dir, says string
		code            int
	}{
		{"without a device", none("no device", stubs.String()), "cuInit: 100 CUDA_ERROR_NO_DEVICE\n", 3},
		{"of an old driver", none("old", "int cuInit(void) { return 0; }"), "undefined symbol: cuGetErrorName\n", 1},
		{"that is none", none("none", "int x;"), "undefined symbol: cuInit\n", 1},
	} {
		cmd := exec.CommandContext(t.Context(), program, "--mem", "1.5G", "--again", "2")
		cmd.Env = []string{"LD_LIBRARY_PATH=" + c.dir}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("a library %s: exit status %d, want %d, and %q\n%s", c.name, got, c.code, c.says, out)
		}
	}
}
