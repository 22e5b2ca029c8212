package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Error codes of JSON-RPC.
const (
	codeNotJSON    = -32700
	codeNotMessage = -32600
)

// sift passes on each message of the agent on a line of its own. To anything else it answers with
// an error: the SDK would end the server. It returns the error that ended the input.
func sift(in io.Reader, messages, answers io.Writer) error {
	in = bufio.NewReader(in)
	d := json.NewDecoder(in)
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			refuseInput(answers, nil, codeNotJSON, fmt.Errorf("this line is not JSON: %w", err))
			in = io.MultiReader(d.Buffered(), in)
			skipLine(in)
			d = json.NewDecoder(in)
			continue
		}
		if err != nil {
			return err
		}
		if err := checkMessage(raw); err != nil {
			refuseInput(answers, raw, codeNotMessage, fmt.Errorf("this is not a message of JSON-RPC 2.0: %w", err))
			continue
		}
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return err
		}
		line.WriteByte('\n')
		if _, err := messages.Write(line.Bytes()); err != nil {
			return err
		}
	}
}

// skipLine reads the first line that is not empty, and no further.
func skipLine(in io.Reader) {
	var one [1]byte
	for empty := true; empty || one[0] != '\n'; {
		if _, err := io.ReadFull(in, one[:]); err != nil {
			return // the decoder reports the error, too
		}
		empty = empty && len(bytes.TrimSpace(one[:])) == 0
	}
}

// checkMessage checks that a JSON value is a message or a batch of messages.
func checkMessage(raw json.RawMessage) error {
	if len(raw) >= mcp.DefaultMaxLineLength {
		return errors.New("it is too long")
	}
	batch := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &batch); err != nil {
			return err
		}
		if len(batch) == 0 {
			return errors.New("the batch is empty")
		}
	}
	for _, one := range batch {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			return err
		}
	}
	return nil
}

// refuseInput writes an answer to what is not a message, with its id if it has one.
func refuseInput(to io.Writer, raw json.RawMessage, code int, why error) {
	var of struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(raw, &of) // without an id, the answer has the id null
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": of.ID, "error": map[string]any{"code": code, "message": why.Error()},
	})
	if err == nil {
		_, _ = to.Write(append(answer, '\n'))
	}
}

// lockedOutput lets two goroutines write whole lines. Close does nothing, because the program's
// end closes its output.
type lockedOutput struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *lockedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

func (o *lockedOutput) Close() error { return nil }
