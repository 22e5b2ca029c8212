package supervise

import (
	"fmt"
	"os"
	"syscall"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/launch"
)

// specDir implements daemon.Specs with a directory of specs.
type specDir string

func (d specDir) Write(id job.ID, uid int, s *launch.Spec) (string, error) {
	return launch.Write(string(d), int64(id), uid, s)
}

func (d specDir) Remove(id job.ID, attempt int) error {
	return launch.Remove(string(d), int64(id), attempt)
}

func (d specDir) Keep(id job.ID, attempt int, data []byte) error {
	return launch.Keep(string(d), int64(id), attempt, data)
}

func (d specDir) Kept(id job.ID, attempt int) ([]byte, error) {
	return launch.Kept(string(d), int64(id), attempt)
}

func (d specDir) SweepKept(wanted func(job.ID, int) bool) error {
	return launch.SweepKept(string(d), func(id int64, attempt int) bool { return wanted(job.ID(id), attempt) })
}

func (d specDir) Sweep(keep func(job.ID, int) bool) error {
	return launch.Sweep(string(d), func(id int64, attempt int) bool { return keep(job.ID(id), attempt) })
}

// fileAt returns a string that changes when the file at the path is replaced or changed.
func fileAt(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return err.Error()
	}
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(st.Dev, st.Ino, st.Size, st.Ctim)
}
