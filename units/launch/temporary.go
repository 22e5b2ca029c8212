package launch

import (
	"fmt"
	"os"
)

// temporary makes the directories for temporary files that the submitter's variables name, where a session or a shell
// that has ended since took them away. A variable whose directory can't be made is left out.
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
