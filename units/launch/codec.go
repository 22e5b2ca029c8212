package launch

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
)

// magic is the first line of a spec file. Its number changes with the meaning of Spec, because a
// launcher must not ignore what a job asks for. If the launcher and the daemon are of different
// releases, the launcher refuses the file. The job is started again once both are of the same
// release.
const magic = "gpusched-spec 5\n"

// ErrSpec means that the bytes are not a spec of this version.
var ErrSpec = errors.New("not a job spec of this version")

// Encode returns the content of a spec file. It uses gob, because JSON mangles bytes that are not
// UTF-8.
func Encode(s *Spec) []byte {
	b := bytes.NewBufferString(magic)
	if err := gob.NewEncoder(b).Encode(s); err != nil {
		panic(err) // gob can't encode the type of a field
	}
	return b.Bytes()
}

// Decode reads the content of a spec file, which may be padded with zeros. Its errors wrap ErrSpec
// and never quote the content.
func Decode(b []byte) (*Spec, error) {
	body, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, fmt.Errorf("%w: its first line is another", ErrSpec)
	}
	s, in := new(Spec), bytes.NewReader(body)
	if err := gob.NewDecoder(in).Decode(s); err != nil {
		return nil, fmt.Errorf("%w: it is damaged, %d bytes before its end", ErrSpec, in.Len())
	}
	if rest := body[len(body)-in.Len():]; len(bytes.Trim(rest, "\x00")) > 0 {
		return nil, fmt.Errorf("%w: %d bytes follow its end", ErrSpec, len(rest))
	}
	return s, nil
}
