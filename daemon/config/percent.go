package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// percentValue is a percentage from 1 to 100. A number with a point, at most
// 1.0, is a fraction of one; "80%" is read too.
type percentValue struct{ to *int }

func (v percentValue) parse(raw any) error {
	var n int64
	switch raw := raw.(type) {
	case int64:
		n = raw
	case float64:
		n = int64(math.Round(raw * 100))
		if !(raw > 0 && raw <= 1) || math.Abs(raw*100-float64(n)) > 1e-9 {
			return fmt.Errorf("%s is neither a percentage nor a fraction: use 1 to 100, or 0.01 to 1.0 in steps of 0.01", strconv.FormatFloat(raw, 'f', -1, 64))
		}
	case string:
		digits, marked := strings.CutSuffix(raw, "%")
		u, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || !marked {
			return wrongType("a percentage such as 80, or a fraction such as 0.8", raw)
		}
		n = int64(u)
	default:
		return wrongType("a percentage such as 80, or a fraction such as 0.8", raw)
	}
	i := int(max(-1, min(n, 101))) // beyond the bounds all are alike
	if err := (percentValue{&i}).check(); err != nil {
		return fmt.Errorf("%d is out of range: use 1 to 100", n)
	}
	*v.to = i
	return nil
}

func (v percentValue) check() error {
	if *v.to < 1 || *v.to > 100 {
		return fmt.Errorf("%d is out of range: use 1 to 100", *v.to)
	}
	return nil
}

func (v percentValue) spell() string { return strconv.Itoa(*v.to) }
func (v percentValue) schema() shape {
	lo, hi := 0, 100
	return shape{Type: "number", Form: "a percentage from 1 to 100, or a fraction such as 0.8", Min: &lo, Max: &hi, Word: "^[0-9]+%$"}
}
