package launch

import (
	"fmt"
	"os"
	"time"
)

// tempPatience limits the time in which a file system must answer whether it contains a directory.
const tempPatience = time.Second

// makeTemporary creates the directories for temporary files that the submitter's variables name. A
// session or shell may have removed them at its end. If a directory can't be created, makeTemporary
// unsets its variable.
func (e *environment) makeTemporary() {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		dir := e.get(name)
		if dir == "" {
			continue
		}
		_, err := inTime(tempPatience, func() (int, error) {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				return 0, nil
			}
			return 0, os.Mkdir(dir, 0o700)
		})
		if err == nil || err == (unanswered{}) { // if the file system hangs, the command will notice
			continue
		}
		e.remove(name)
		e.say = append(e.say, fmt.Sprintf("%s=%s is left out: the directory does not exist here and can't be created", name, dir))
	}
}
