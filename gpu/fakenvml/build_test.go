package fakenvml

import (
	"debug/elf"
	"os"
	"slices"
	"strings"
	"testing"
)

// The library exports every name that nvml.h declares (invariant 1).
func TestBuildExportsWhatTheHeaderDeclares(t *testing.T) {
	header, err := nvmlHeader()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	want := Exports(text)
	if len(want) < 300 {
		t.Fatalf("only %d functions found in nvml.h", len(want))
	}
	lib, err := Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := exported(t, lib); !slices.Equal(got, want) {
		t.Errorf("%d exports, want %d", len(got), len(want))
	}
}

func TestBuildWithout(t *testing.T) {
	const name = "nvmlDeviceGetMemoryInfo_v2"
	lib, err := Build(t.TempDir(), name)
	if err != nil {
		t.Fatal(err)
	}
	got := exported(t, lib)
	if slices.Contains(got, name) || !slices.Contains(got, "nvmlInit_v2") {
		t.Errorf("exports %d names, with %s: %t", len(got), name, slices.Contains(got, name))
	}
	if _, err := Build(t.TempDir(), "nvmlNoSuch"); err == nil || !strings.Contains(err.Error(), "nvmlNoSuch") {
		t.Errorf("leaving out an unknown name: %v", err)
	}
}

func exported(t *testing.T, lib string) []string {
	t.Helper()
	f, err := elf.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestExports(t *testing.T) {
	header := `#define DECLDIR
/* nvmlReturn_t DECLDIR nvmlInComment(void); */
 * nvmlReturn_t DECLDIR nvmlInDoc(void);
nvmlReturn_t DECLDIR nvmlB(unsigned int flags);
const DECLDIR char* nvmlErrorString(nvmlReturn_t result);
DEPRECATED(13.0) nvmlReturn_t DECLDIR nvmlA(nvmlDevice_t device);
nvmlReturn_t DECLDIR nvmlB(unsigned int flags);
`
	if got, want := Exports([]byte(header)), []string{"nvmlA", "nvmlB", "nvmlErrorString"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
