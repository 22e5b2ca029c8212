package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Self reads this process.
func TestSelf(t *testing.T) {
	began := time.Now()
	before := Self("/proc/self", began)
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	after := Self("/proc/self", began)
	if after.OpenFDs != before.OpenFDs+1 || before.OpenFDs < 3 || after.MaxFDs < after.OpenFDs {
		t.Errorf("%d files were open, and one more are %d of %d", before.OpenFDs, after.OpenFDs, after.MaxFDs)
	}
	if page := int64(os.Getpagesize()); after.Resident < 100*page || after.Virtual < after.Resident {
		t.Errorf("%d bytes are resident of %d", after.Resident, after.Virtual)
	}
	if after.CPU <= 0 || after.CPU < before.CPU || after.Goroutines < 2 || !after.Started.Equal(began) {
		t.Errorf("got %+v", after)
	}
}

// If a file is missing or malformed, its figures are 0.
func TestSelfWithoutProc(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "statm"), []byte("12 x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if use := Self(dir, time.Now()); use.Resident != 0 || use.Virtual != 0 || use.OpenFDs != 0 {
		t.Errorf("got %+v", use)
	}
}
