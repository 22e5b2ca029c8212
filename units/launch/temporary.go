package launch

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// tempPatience limits the time in which a file system must answer whether it contains a directory.
const tempPatience = time.Second

// makeTemporary creates the directories for temporary files that the submitter's variables name. A
// session or shell may have removed them at its end, or they may be another user's, as after su. If
// a directory can't be created or written to, makeTemporary unsets its variable.
func (e *environment) makeTemporary() {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		dir := e.get(name)
		if dir == "" {
			continue
		}
		_, err := inTime(tempPatience, func() (int, error) {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				return 0, unix.Access(dir, unix.W_OK|unix.X_OK)
			}
			return 0, os.Mkdir(dir, 0o700)
		})
		why := "does not exist here and can't be created"
		switch err {
		case nil, unanswered{}: // if the file system hangs, the command will notice
			continue
		case unix.EACCES, unix.EROFS:
			why = "can't be written to"
		}
		e.remove(name)
		e.say = append(e.say, fmt.Sprintf("%s=%s is left out: the directory %s", name, dir, why))
	}
}
