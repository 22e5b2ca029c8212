package host

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/metrics"
)

// Self returns what this process uses, read from its directory in /proc. The argument start is the
// time when the process started. A figure that can't be read is 0.
func Self(proc string, start time.Time) metrics.Process {
	use := metrics.Process{Started: start, Goroutines: runtime.NumGoroutine()}
	var times syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &times) == nil {
		use.CPU = time.Duration(times.Utime.Nano() + times.Stime.Nano())
	}
	if pages := fieldsOf(filepath.Join(proc, "statm")); len(pages) > 1 {
		size := int64(os.Getpagesize())
		use.Virtual, use.Resident = pages[0]*size, pages[1]*size
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		use.MaxFDs = int64(files.Cur)
	}
	if dir, err := os.Open(filepath.Join(proc, "fd")); err == nil {
		names, _ := dir.Readdirnames(-1)
		dir.Close()
		use.OpenFDs = int64(len(names) - 1) // without the open directory itself
	}
	return use
}

// fieldsOf returns the numbers in a file.
func fieldsOf(path string) []int64 {
	var list []int64
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for f := range strings.FieldsSeq(string(text)) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return nil
		}
		list = append(list, n)
	}
	return list
}
