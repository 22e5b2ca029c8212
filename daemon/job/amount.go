package job

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// WholeGPU is one GPU in milli-GPUs.
const WholeGPU = 1000

// MaxGPUs is the largest number of GPUs that a request may name. It bounds the work that a hostile
// request can cause.
const MaxGPUs = 1024

// ParseGPUs reads an amount of GPUs: 0, 0.01 to 0.99 in steps of one
// hundredth, 1, 1.5, 2 and so on. It returns milli-GPUs.
func ParseGPUs(s string) (milli int, err error) {
	bad := fmt.Errorf("%q is not an amount of GPUs: use 0, a fraction such as 0.5, or a number such as 2 (exact GPUs are chosen with --gpu-ids)", s)
	whole, frac, hasFrac := strings.Cut(s, ".")
	w, err := strconv.ParseUint(whole, 10, 16)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, bad
	}
	f := uint64(0)
	if hasFrac {
		if len(frac) < 1 || len(frac) > 2 {
			return 0, bad
		}
		if f, err = strconv.ParseUint(frac, 10, 8); err != nil {
			return 0, bad
		}
		if len(frac) == 1 {
			f *= 10
		}
	}
	if w > MaxGPUs || w == MaxGPUs && f > 0 {
		return 0, fmt.Errorf("%q is too many GPUs: at most %d", s, MaxGPUs)
	}
	return int(w*WholeGPU + f*10), nil
}

// FormatGPUs prints an amount of milli-GPUs in the form that ParseGPUs reads.
func FormatGPUs(milli int) string {
	return strconv.FormatFloat(float64(milli)/WholeGPU, 'f', -1, 64)
}

// ParseGPUList reads physical GPU indexes such as "0,2" or "0-3". The result is sorted and has no
// duplicates. An empty text is the empty list.
func ParseGPUList(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var named [MaxGPUs]bool
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			hi = lo
		}
		a, errA := strconv.ParseUint(lo, 10, 16)
		b, errB := strconv.ParseUint(hi, 10, 16)
		if errA != nil || errB != nil || b < a || b >= MaxGPUs {
			return nil, fmt.Errorf("%q is not a list of GPUs: name them by index, such as 0,2 or 0-3 (see 'gpusched gpus')", s)
		}
		for i := a; i <= b; i++ {
			named[i] = true
		}
	}
	var list []int
	for i, wanted := range named {
		if wanted {
			list = append(list, i)
		}
	}
	return list, nil
}

// FormatGPUList prints indexes as "0,2,3". It prints the empty list as "-", which ParseGPUList does
// not read.
func FormatGPUList(list []int) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(Each(list, strconv.Itoa), ",")
}

// GPUs is an amount in milli-GPUs that messages print as text.
type GPUs int

func (n GPUs) String() string { return FormatGPUs(int(n)) }

// CPUs is a number of CPUs that messages print as text.
type CPUs int

// String returns text such as "1 CPU".
func (n CPUs) String() string {
	if n == 1 {
		return "1 CPU"
	}
	return strconv.Itoa(int(n)) + " CPUs"
}

// MarshalText keeps the printed form in a stored Message.
func (n CPUs) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// GPURequest describes the GPUs that a request asks for, in messages.
type GPURequest struct {
	GPUs        GPUs
	Type        string
	From, Other []int // indexes: only GPUs in From, and none in Other
	Memory      Size  // of each GPU
}

// String describes the GPUs, such as "4 GPUs of type a100 with 80G of memory".
func (w GPURequest) String() string {
	text := w.GPUs.String() + " GPUs"
	switch {
	case w.GPUs == WholeGPU:
		text = "1 GPU"
	case w.GPUs < WholeGPU:
		text = w.GPUs.String() + " of a GPU"
	}
	if w.Type != "" {
		text += " of type " + w.Type
	}
	if len(w.From) > 0 {
		text += " among " + FormatGPUList(w.From)
	}
	if len(w.Other) > 0 {
		text += " other than " + FormatGPUList(w.Other)
	}
	if w.Memory > 0 {
		text += " with " + w.Memory.String() + " of memory"
	}
	return text
}
