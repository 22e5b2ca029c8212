package launch

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

const noteSuffix = ".note"

// notePath returns the path of the note for a job, whatever its attempt.
func notePath(dir, id string) string { return filepath.Join(dir, id+noteSuffix) }

// maxNoteBytes is the length to which a printed note is cut.
const maxNoteBytes = 64 << 10

// WriteNote writes a note for a job into the directory dir, next to the job's specs. Only the user
// uid can read the note.
func WriteNote(dir string, id int64, uid int, text string) error {
	d, err := openDir(dir)
	if err != nil {
		return fmt.Errorf("write a note for job %d: %w", id, err)
	}
	defer unix.Close(d)
	if err := writeAt(d, strconv.FormatInt(id, 10)+noteSuffix, uid, []byte(text)); err != nil {
		return fmt.Errorf("write a note for job %d in %q: %w", id, dir, err)
	}
	return nil
}

// RemoveNote removes a job's note. A missing note is not an error.
func RemoveNote(dir string, id int64) error {
	if err := discard(notePath(dir, strconv.FormatInt(id, 10))); err != nil {
		return fmt.Errorf("remove the note for job %d: %w", id, err)
	}
	return nil
}

// WantsDoor reports whether the note next to a spec asks for a door to its job (contract.DoorNote).
// It also returns the name that the job's terminal would have.
func WantsDoor(spec string) (terminal string, wanted bool) {
	id := jobOf(spec)
	text, err := os.ReadFile(notePath(filepath.Dir(spec), id))
	name, wanted := strings.CutPrefix(string(text), contract.DoorNote)
	return cmp.Or(name, id), err == nil && wanted
}

// HasTerminal reports whether the command of a job runs in a terminal that a process keeps for it.
func HasTerminal(spec string) bool {
	s, err := Read(spec)
	return err == nil && s.hasHolder()
}

// DoorEnviron returns the environment of a door to a job. It consists of environ and, if the site
// let sandboxed processes submit when the job began, SandboxVariable.
func DoorEnviron(spec string, environ []string) []string {
	const allowed = contract.SandboxVariable + "=" + contract.SandboxAllowed
	if s, err := Read(spec); err == nil && slices.Contains(s.Variables, allowed) {
		return append(environ, allowed)
	}
	return environ
}

// tell prints the note next to the spec. Each line begins with "gpusched: ". A missing note is not
// an error.
func tell(spec string, w io.Writer) int {
	f, err := os.Open(notePath(filepath.Dir(spec), jobOf(spec)))
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(w, "gpusched: a note for this job could not be read: %v\n", err)
		return 1
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNoteBytes))
	if err != nil {
		fmt.Fprintf(w, "gpusched: a note for this job could not be read: %v\n", err)
		return 1
	}
	for line := range strings.Lines(string(text)) {
		fmt.Fprintf(w, "gpusched: %s\n", strings.TrimRight(line, "\n"))
	}
	return 0
}
