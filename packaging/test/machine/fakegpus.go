package main

import "errors"

// fakeGPUs is the value of -fake-gpus: which GPUs the machine pretends to have.
type fakeGPUs string

const (
	noGPUs    fakeGPUs = ""
	plainGPUs fakeGPUs = "true" // as package flag spells a switch without a value
	islands   fakeGPUs = "islands"
)

func (f *fakeGPUs) String() string { return string(*f) }

// IsBoolFlag lets -fake-gpus stand alone.
func (f *fakeGPUs) IsBoolFlag() bool { return true }

func (f *fakeGPUs) Set(s string) error {
	switch v := fakeGPUs(s); v {
	case plainGPUs, islands:
		*f = v
	case "false":
		*f = noGPUs
	default:
		return errors.New("neither left out nor islands")
	}
	return nil
}
