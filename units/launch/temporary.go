package launch

import (
	"fmt"
	"os"
	"time"
)

// tempPatience is how long a file system may take to answer whether it has a directory.
const tempPatience = time.Second

// temporary creates the directories for temporary files that the submitter's variables name, if a
// session or shell has removed them at its end. It unsets a variable whose directory can't be
// created.
func (e *environment) temporary() {
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
		e.unset(name)
		e.say = append(e.say, fmt.Sprintf("%s=%s is left out: the directory does not exist here and can't be created", name, dir))
	}
}
