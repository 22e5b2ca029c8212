package terminal

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Kind is what a frame is about.
type Kind byte

// The kinds. A client begins with Hello.
const (
	Hello   Kind = 'h' // to the holder: a Greeting as JSON
	Data    Kind = 'd' // what was typed, or what the terminal shows
	Errors  Kind = '2' // of a command without a terminal: its standard error
	Size    Kind = 'w' // to the holder: rows and columns, two bytes each
	EOF     Kind = 'c' // to the holder: there is no more input
	Ended   Kind = 'e' // the command has ended: its exit status in one byte
	Refused Kind = 'r' // why the holder ends the connection
	Barred  Kind = 'b' // that it does since the client may not come in, and why
)

// Greeting is what a client wants.
type Greeting struct {
	Rows, Cols uint16   // of its terminal; 0: it has none
	Argv       [][]byte // a command to run beside the job's; none: the job's own terminal
	Term       string   // the kind of its terminal, for that command
	Screen     bool     // it is the window of the job's session of GNU screen
}

// maxFrame bounds the content of a frame.
const maxFrame = 1<<16 - 1

// Encode returns content as one or more frames.
func Encode(k Kind, content []byte) []byte {
	var b []byte
	for {
		some := content[:min(len(content), maxFrame)]
		b = append(b, byte(k), byte(len(some)>>8), byte(len(some)))
		b = append(b, some...)
		if content = content[len(some):]; len(content) == 0 {
			return b
		}
	}
}

// Read returns the next frame.
func Read(r io.Reader) (Kind, []byte, error) {
	var head [3]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	switch k := Kind(head[0]); k {
	case Hello, Data, Errors, Size, EOF, Ended, Refused, Barred:
		content := make([]byte, binary.BigEndian.Uint16(head[1:]))
		_, err := io.ReadFull(r, content)
		return k, content, err
	}
	return 0, nil, fmt.Errorf("%q is no kind of frame", head[0])
}

// EncodeSize is the content of a Size.
func EncodeSize(rows, cols uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, rows), cols)
}

// DecodeSize undoes EncodeSize; false for what is no size.
func DecodeSize(b []byte) (rows, cols uint16, ok bool) {
	if len(b) != 4 {
		return 0, 0, false
	}
	rows, cols = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	return rows, cols, rows > 0 && cols > 0
}
