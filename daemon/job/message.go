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

// Code names a sentence or a part of one. It consists of a kind, a slash, and a word within that
// kind. Package words has all codes.
type Code string

// Message is a sentence, or a part of one, before it is put into words: its code and the values
// that it mentions. If Text is set, that is the wording itself: it comes from a person, the kernel
// or the driver. The zero Message says nothing.
//
// In JSON a Message is an object: {"text": TEXT}, or {"say": CODE, "args": [...]}. An argument that
// is a time is {"at": TIME}. An argument that is a message or a reason is an object. Any other
// argument is its printed text.
type Message struct {
	Code Code
	Text string
	Args []any
}

// Say returns a Message with a code and its arguments, in the order in which the sentence mentions
// them.
func Say(code Code, args ...any) Message { return Message{Code: code, Args: args} }

// Text returns a Message in words from elsewhere, such as those of a user or of the driver.
func Text(s string) Message { return Message{Text: s} }

// IsZero reports whether the message says nothing.
func (m Message) IsZero() bool { return m.Code == "" && m.Text == "" }

// String returns the text, or the code and its arguments. The logs of tests show it.
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
		case Result, GPUError, Reason: // values of these types contain pointers
			text, _ := json.Marshal(v)
			a = string(text)
		}
		parts = append(parts, fmt.Sprint(a))
	}
	return strings.Join(parts, " ")
}

// messageJSON is a Message in JSON.
type messageJSON[Arg any] struct {
	Text string `json:"text,omitempty"`
	Say  Code   `json:"say,omitempty"`
	Args []Arg  `json:"args,omitempty"`
}

// argument has the JSON keys by which a time or a Message differs from a Reason.
type argument struct {
	At   *time.Time `json:"at,omitempty"`
	Say  *Code      `json:"say,omitempty"`
	Text *string    `json:"text,omitempty"`
}

// MarshalJSON writes the text, or the code with its arguments.
func (m Message) MarshalJSON() ([]byte, error) {
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
	return json.Marshal(messageJSON[any]{m.Text, m.Code, args})
}

// UnmarshalJSON reads what MarshalJSON wrote. Each argument becomes a time, a Message, a Reason, a
// number or a text, and prints as before.
func (m *Message) UnmarshalJSON(b []byte) error {
	var form messageJSON[json.RawMessage]
	if err := json.Unmarshal(b, &form); err != nil {
		return err
	}
	*m = Message{Text: form.Text, Code: form.Say}
	for _, raw := range form.Args {
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
	case form.Say != nil, form.Text != nil, string(raw) == "{}":
		var m Message
		err = json.Unmarshal(raw, &m)
		return m, err
	}
	var r Reason
	err = json.Unmarshal(raw, &r)
	return r, err
}
