package sandbox

import (
	"strings"
	"testing"
	"time"
)

// FuzzStatus: no content of a process's files in /proc makes the process count as another account's
// (invariant 1).
func FuzzStatus(f *testing.F) {
	f.Add("Name:\tx\nUid:\t1002\t1002\t1002\t1002\n")
	f.Add("Name:\tUid:\\t1002\nUid:\t0\t1002\t1002\t1002\n")
	f.Add("Uid:\t1002\nUid:\t1002 1002 1002 1002\nCapBnd:\tx\nNSpid:\t\n")
	f.Fuzz(func(t *testing.T, status string) {
		dir := files{"status": status, "limits": twoLimits, "stat": statOf}
		_, err := readProcess(dir, dir, parseStatus(""), Peer{PID: 7, UID: 1002, Seen: time.Hour})
		if err == nil && !strings.Contains(status, "Uid:\t1002\t") && !strings.Contains(status, "1002") {
			t.Fatalf("%q is taken for user 1002", status)
		}
	})
}

type files map[string]string

func (f files) ReadFile(name string) ([]byte, error) { return []byte(f[name]), nil }
func (f files) Inode(string) uint64                  { return 0 }
func (f files) Readlink(name string) (string, error) { return name, nil }
