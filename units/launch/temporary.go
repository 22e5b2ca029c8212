package launch

import (
	"fmt"
	"os"
)

// temporary sees to the directories for temporary files that the submitter's variables name. Such a one may have been of
// a session or a shell that has ended since: it is made anew, and where that can't be the variable is left out, as
// programs can't work with it.
func (e *environment) temporary() {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		dir := e.get(name)
		if dir == "" {
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() || os.Mkdir(dir, 0o700) == nil {
			continue
		}
		e.unset(name)
		e.say = append(e.say, fmt.Sprintf("%s=%s is left out: there is no such directory here, and it can't be made", name, dir))
	}
}
