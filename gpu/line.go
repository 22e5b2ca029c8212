package gpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/cgroup/cpuset"
)

// Limits on an encoded Snapshot.
const (
	MaxLineBytes          = 4 << 20 // including the newline
	MaxDevices            = 256
	MaxProcessesPerDevice = 4096
	MaxCPUsBytes          = 4096
)

// The operations of a request. OpSample reads everything. OpLook reads everything except the
// energy.
const (
	OpSample = "sample"
	OpLook   = "look"
)

// ErrLine is wrapped by every error of Encode and Decode.
var ErrLine = errors.New("bad snapshot line")

// Encode returns s as one line of JSON, with the newline. Nil slices become empty.
func Encode(s Snapshot) ([]byte, error) {
	s = s.normalize()
	if err := s.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("%w: encoding: %w", ErrLine, err)
	}
	if len(b)+1 > MaxLineBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrLine, len(b)+1, MaxLineBytes)
	}
	return append(b, '\n'), nil
}

// Decode reads what Encode wrote, with or without the newline. It ignores unknown fields, because
// the child and the daemon may have different versions during an upgrade. Data after the value is
// an error.
func Decode(line []byte) (Snapshot, error) {
	if len(line) > MaxLineBytes {
		return Snapshot{}, fmt.Errorf("%w: %d bytes, at most %d", ErrLine, len(line), MaxLineBytes)
	}
	var s Snapshot
	if err := json.Unmarshal(bytes.TrimSpace(line), &s); err != nil {
		return Snapshot{}, fmt.Errorf("%w: decoding: %w", ErrLine, err)
	}
	s = s.normalize()
	if err := s.check(); err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

// normalize returns s with empty slices in place of nil ones, but with nil in place of empty Links.
// It does not change the caller's slices.
func (s Snapshot) normalize() Snapshot {
	s.Devices = slices.Clone(s.Devices)
	if s.Devices == nil {
		s.Devices = []Device{}
	}
	for i := range s.Devices {
		if s.Devices[i].Processes == nil {
			s.Devices[i].Processes = []Process{}
		}
	}
	if len(s.Links) == 0 {
		s.Links = nil
	}
	return s
}

func (s Snapshot) check() error {
	if !s.Problem.known() {
		return fmt.Errorf("%w: unknown problem %q", ErrLine, toPrintable(string(s.Problem), maxWord))
	}
	if s.Problem != ProblemNone && len(s.Devices) > 0 {
		return fmt.Errorf("%w: problem %q together with devices", ErrLine, s.Problem)
	}
	if len(s.Devices) > MaxDevices {
		return fmt.Errorf("%w: %d devices, at most %d", ErrLine, len(s.Devices), MaxDevices)
	}
	seen := make(map[string]bool, len(s.Devices))
	for i, d := range s.Devices {
		if err := d.check(); err != nil {
			return fmt.Errorf("%w: device %d: %w", ErrLine, i, err)
		}
		if d.UUID != "" && seen[d.UUID] {
			return fmt.Errorf("%w: device %d: uuid %q twice", ErrLine, i, d.UUID)
		}
		seen[d.UUID] = true
	}
	return s.checkLinks()
}

func (d Device) check() error {
	switch d.Health {
	case HealthOK, HealthLost, HealthError:
	default:
		return fmt.Errorf("unknown health %q", toPrintable(string(d.Health), maxWord))
	}
	if d.UUID == "" && d.Health == HealthOK {
		return errors.New("no uuid")
	}
	if d.Index < 0 || d.Minor < -1 {
		return fmt.Errorf("index %d, minor %d", d.Index, d.Minor)
	}
	if s := d.Slice; s.Card < 0 || s.GPUInstance < 0 || s.ComputeInstance < 0 || min(s.Caps[0], s.Caps[1]) < -1 {
		return fmt.Errorf("slice %+v", s)
	}
	if len(d.CPUs) > MaxCPUsBytes {
		return fmt.Errorf("list of CPUs of %d bytes, at most %d", len(d.CPUs), MaxCPUsBytes)
	}
	if _, err := cpuset.Parse(d.CPUs); err != nil {
		return err
	}
	if len(d.Processes) > MaxProcessesPerDevice {
		return fmt.Errorf("%d processes, at most %d", len(d.Processes), MaxProcessesPerDevice)
	}
	for _, p := range d.Processes {
		if p.PID <= 0 || p.UsedBytes < -1 || p.UID < -1 || p.Age < 0 {
			return fmt.Errorf("process %d: used bytes %d, uid %d", p.PID, p.UsedBytes, p.UID)
		}
	}
	return nil
}
