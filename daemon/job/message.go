package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Code names a sentence or a part of one: its kind, a slash, and which one of that kind. Package
// words has them all.
type Code string

// Message is a sentence, or a part of one, before it is put into words: its code and the values it
// mentions. If Text is set, it is the wording: it comes from a person, the kernel or the driver.
// The zero Message says nothing.
//
// In JSON it is a text, or an object with the code and the arguments. Times are {"at": TIME},
// messages and reasons are objects, and other arguments are as they print.
type Message struct {
	Code Code
	Text string
	Args []any
}

// Say returns a Message with a code and its arguments, in the order of the sentence.
func Say(code Code, args ...any) Message { return Message{Code: code, Args: args} }

// Text returns a Message in somebody else's words.
func Text(s string) Message { return Message{Text: s} }

// IsZero reports whether the message says nothing.
func (m Message) IsZero() bool { return m.Code == "" && m.Text == "" }

// String returns the text, or the code and its arguments, for the logs of tests.
func (m Message) String() string {
	if m.Text != "" {
		return m.Text
	}
	parts := []string{string(m.Code)}
	for _, a := range m.Args {
		switch v := a.(type) {
		case time.Time:
			a = FormatMoment(v)
		case time.Duration:
			a = FormatDuration(v)
		case string:
			if !Printable(v) {
				a = strconv.Quote(v)
			}
		case Message:
			a = "(" + v.String() + ")"
		case Result, GPUError, Reason: // these have pointers
			text, _ := json.Marshal(v)
			a = string(text)
		}
		parts = append(parts, fmt.Sprint(a))
	}
	return strings.Join(parts, " ")
}

// coded is the JSON form of a Message with a code.
type coded struct {
	Say  Code `json:"say"`
	Args any  `json:"args,omitempty"`
}

// argument is the JSON form of a time among the arguments. Its Say tells a message from a reason.
type argument struct {
	At  *time.Time `json:"at,omitempty"`
	Say *Code      `json:"say,omitempty"`
}

// MarshalJSON returns the text, or the code with its arguments.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Code == "" {
		return json.Marshal(m.Text)
	}
	args := slices.Clone(m.Args)
	for i, a := range args {
		switch v := a.(type) {
		case time.Time:
			args[i] = argument{At: new(v.UTC())}
		case time.Duration:
			args[i] = FormatDuration(v)
		case Message:
		case fmt.Stringer:
			args[i] = v.String()
		}
	}
	return json.Marshal(coded{m.Code, args})
}

// UnmarshalJSON reads what MarshalJSON wrote. Each argument is then a time, a Message, a Reason, a
// number or a text, and prints as before.
func (m *Message) UnmarshalJSON(b []byte) error {
	*m = Message{}
	if len(b) > 0 && b[0] != '{' {
		return json.Unmarshal(b, &m.Text)
	}
	var args []json.RawMessage
	form := coded{Args: &args}
	if err := json.Unmarshal(b, &form); err != nil {
		return err
	}
	m.Code = form.Say
	for _, raw := range args {
		a, err := readArgument(raw)
		if err != nil {
			return err
		}
		m.Args = append(m.Args, a)
	}
	return nil
}

func readArgument(raw json.RawMessage) (a any, err error) {
	if raw[0] != '{' {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		err = d.Decode(&a)
		return a, err
	}
	var form argument
	if err := json.Unmarshal(raw, &form); err != nil {
		return nil, err
	}
	switch {
	case form.At != nil:
		return *form.At, nil
	case form.Say != nil:
		var m Message
		err = json.Unmarshal(raw, &m)
		return m, err
	}
	var r Reason
	err = json.Unmarshal(raw, &r)
	return r, err
}
