package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// mark begins the line with which the other side greets. What a shell's start-up files print may come
// before.
const mark = "gpusched-dial-1 "

// Bounds on a greeting, on what comes before it, and on the question that it answers.
const (
	maxGreeting = 256 << 10
	maxNoise    = 256 << 10
	maxQuestion = 16 << 20
)

// Greeting is what the other side says of itself.
type Greeting struct {
	Version string     `json:"version"`
	UID     int        `json:"uid"`  // of the account that ssh has logged in
	User    string     `json:"user"` // its name, directory and shell, "" where they are not known
	Home    string     `json:"home,omitempty"`
	Shell   string     `json:"shell,omitempty"`
	Now     time.Time  `json:"now"`               // by its clock
	Refused *api.Error `json:"refused,omitempty"` // there is no connection, and why
	Looked
}

// Serve is the other side: it reads the question, greets, and joins its input and output with the
// connection that about returns. It returns when one of the two has ended.
func Serve(in io.Reader, out io.Writer, about func(Question) (Greeting, io.ReadWriteCloser)) error {
	r := bufio.NewReader(in)
	line, err := readLine(r, maxQuestion)
	if err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	var q Question
	if err := json.Unmarshal(line, &q); err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	greeting, conn := about(q)
	text, err := json.Marshal(greeting)
	if err == nil {
		_, err = out.Write(append(append([]byte(mark), text...), '\n'))
	}
	if conn == nil {
		return err
	}
	defer conn.Close()
	if err != nil {
		return err
	}
	return join(r, out, conn)
}

// join copies both ways until one end is gone. Nobody is left to hear an answer when the input has ended.
func join(in io.Reader, out io.Writer, conn io.ReadWriteCloser) error {
	go func() {
		_, _ = io.Copy(conn, in) // its failure is the connection's, which is seen below
		_ = conn.Close()
	}()
	_, err := io.Copy(out, conn)
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

var errTooLong = errors.New("it is too long")

// readLine reads up to the end of a line, which it leaves out.
func readLine(r io.ByteReader, most int) (line []byte, err error) {
	for {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return line, err
		case c == '\n':
			return line, nil
		case len(line) == most:
			return line, errTooLong
		}
		line = append(line, c)
	}
}

// readGreeting finds the greeting. noise is the first line before it that has something to say.
func readGreeting(r io.ByteReader) (g Greeting, noise string, err error) {
	for left := maxNoise; left > 0; {
		line, err := readLine(r, maxGreeting)
		left -= len(line) + 1
		if text, ok := bytes.CutPrefix(line, []byte(mark)); ok && err == nil {
			err = json.Unmarshal(text, &g)
			return g, noise, err
		}
		if noise == "" {
			noise = said(string(line))
		}
		if err != nil {
			return g, noise, err
		}
	}
	return g, noise, errTooLong
}
