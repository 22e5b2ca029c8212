package api

import (
	"encoding/base64"
	"encoding/json"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Program is contract.Program in JSON.
type Program struct {
	Argv      Words              `json:"argv"`
	EnvMode   contract.EnvMode   `json:"env_mode"` // "" in a request means inherit
	Env       Words              `json:"env,omitempty"`
	Dir       Bytes              `json:"dir"`
	Umask     int                `json:"umask"`
	Setup     contract.Setup     `json:"setup,omitzero"`
	Container contract.Container `json:"container,omitzero"`
	Log       contract.Log       `json:"log,omitzero"` // path with sequences such as %j; in a reply, the actual path
	TTY       bool               `json:"tty,omitempty"`
	Snapshot  contract.Snapshot  `json:"snapshot,omitzero"`
}

// Contract returns the program in the launcher's form.
func (p Program) Contract() contract.Program {
	if p.EnvMode == "" {
		p.EnvMode = contract.EnvInherit
	}
	return contract.Program{
		Argv: p.Argv, EnvMode: p.EnvMode, Env: p.Env, Dir: string(p.Dir), Umask: p.Umask,
		Setup: p.Setup, Container: p.Container, Log: p.Log, TTY: p.TTY,
	}
}

// Bytes is text that may be invalid UTF-8. In JSON it is base64.
type Bytes string

// MarshalText writes base64.
func (b Bytes) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(b)), nil
}

// UnmarshalText reads base64.
func (b *Bytes) UnmarshalText(text []byte) error {
	plain, err := base64.StdEncoding.AppendDecode(nil, text)
	*b = Bytes(plain)
	return err
}

// Words are arguments or variables. In JSON, each word is base64.
type Words []string

// MarshalJSON writes a list of base64.
func (w Words) MarshalJSON() ([]byte, error) {
	return json.Marshal(job.Each(w, func(s string) Bytes { return Bytes(s) }))
}

// UnmarshalJSON reads a list of base64.
func (w *Words) UnmarshalJSON(text []byte) error {
	var list []Bytes
	if err := json.Unmarshal(text, &list); err != nil || list == nil {
		return err
	}
	*w = make(Words, len(list))
	for i, b := range list {
		(*w)[i] = string(b)
	}
	return nil
}
