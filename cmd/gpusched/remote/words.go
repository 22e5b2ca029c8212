package remote

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// The commands of gpusched that the other side is asked for.
const (
	DialCommand  = "dial-stdio"
	WordsCommand = "as-words"
)

// Words is a command line for the gpusched of another machine.
type Words struct {
	Argv [][]byte `json:"argv"`
	// Leashed: it is to end when its input does. Without a terminal nothing else tells it that nobody
	// reads any more.
	Leashed bool `json:"leashed,omitempty"`
	// Labelled: each line says whose it is, as it is shown with those of other machines.
	Labelled bool `json:"labelled,omitempty"`
	// Called is the name of the machine where this was typed; "": nobody has one for it. What is said of jobs
	// names them with it.
	Called string `json:"called,omitempty"`
}

// Encode makes one word of it that means nothing to any shell.
func (w Words) Encode() (string, error) {
	text, err := json.Marshal(w)
	word := base64.RawURLEncoding.EncodeToString(text)
	if len(word) > maxWord {
		return "", fmt.Errorf("the command is too long to be sent")
	}
	return "w" + word, err // none begins with a dash
}

// maxWord is below what Linux takes as one argument of a program.
const maxWord = 120 << 10

// Decode reads what Encode has made.
func Decode(word string) (w Words, err error) {
	if word == "" || word[0] != 'w' {
		return w, fmt.Errorf("%q is not an encoded command", word)
	}
	text, err := base64.RawURLEncoding.DecodeString(word[1:])
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		return w, fmt.Errorf("read an encoded command: %w", err)
	}
	return w, nil
}
