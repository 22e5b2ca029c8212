package cuda

import (
	"debug/elf"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func build(t *testing.T) string {
	t.Helper()
	path, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Invariant 1: Debian 12 has glibc 2.36.
func TestItRunsWithAnOlderLibrary(t *testing.T) {
	program, err := elf.Open(build(t))
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

// A library that is not there, and one that finds no GPU. Invariant 2.
func TestWithoutGPU(t *testing.T) {
	program := build(t)
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
