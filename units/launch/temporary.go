package launch

import (
	"fmt"
	"os"
	"time"
)

// tempPatience is how long a file system may take to say whether it has a directory.
const tempPatience = time.Second

// temporary makes the directories for temporary files that the submitter's variables name, where a session or a shell
// that has ended since took them away. A variable whose directory can't be made is left out.
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
		if err == nil || err == (unanswered{}) { // where the file system hangs the command sees for itself
			continue
		}
		e.unset(name)
		e.say = append(e.say, fmt.Sprintf("%s=%s is left out: there is no such directory here, and it can't be made", name, dir))
	}
}
