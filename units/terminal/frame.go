package terminal

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Kind is the kind of a frame.
type Kind byte

// The kinds. A client begins with Hello.
const (
	Hello   Kind = 'h' // to the holder: a Greeting as JSON
	Data    Kind = 'd' // what was typed, or what the terminal shows
	Errors  Kind = '2' // standard error of a command without a terminal
	Size    Kind = 'w' // to the holder: rows and columns, two bytes each
	EOF     Kind = 'c' // to the holder: no more input follows
	Ended   Kind = 'e' // the command has ended: its exit status in one byte
	Refused Kind = 'r' // the reason why the holder ends the connection
	Barred  Kind = 'b' // the reason why the client may not connect
)

// Greeting is the client's request.
type Greeting struct {
	Rows, Cols uint16   // of its terminal; 0: it has none
	Argv       [][]byte // command to run beside the job's; none: attach to the job's terminal
	Term       string   // TERM of that command
	Screen     bool     // the client is the window of the job's GNU screen session
}

// maxFrame limits the content of a frame.
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
	return 0, nil, fmt.Errorf("%q is not a kind of frame", head[0])
}

// EncodeSize returns the content of a Size frame.
func EncodeSize(rows, cols uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, rows), cols)
}

// DecodeSize is the inverse of EncodeSize. It returns false for any other content.
func DecodeSize(b []byte) (rows, cols uint16, ok bool) {
	if len(b) != 4 {
		return 0, 0, false
	}
	rows, cols = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	return rows, cols, rows > 0 && cols > 0
}
