package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// numberBetween returns a setting that is a whole number between two limits.
func numberBetween(to *int, lo, hi int) value { return numberValue(to, lo, hi, false) }

// numberOrNone returns a setting that is a whole number between two limits, or 0. In a file, 0 is
// the word none.
func numberOrNone(to *int, lo, hi int) value { return numberValue(to, lo, hi, true) }

func numberValue(to *int, lo, hi int, none bool) value {
	form := shape{Type: "integer", Form: fmt.Sprintf("a number from %d to %d", lo, hi), Min: &lo, Max: &hi}
	want, also, write := "a whole number without quotes", "", strconv.Itoa
	if none {
		want, also, write = want+`, or "none"`, `, or "none" for no bound`, orNone(strconv.Itoa)
		form.Form, form.Word = form.Form+", or none", "^none$"
	}
	read := func(raw any) (int, error) {
		n, ok := raw.(int64)
		switch {
		case none && raw == "none":
			return 0, nil
		case !ok:
			return 0, wrongType(want, raw)
		case n < int64(lo) || n > int64(hi):
			return 0, fmt.Errorf("%d is out of range: use %d to %d%s", n, lo, hi, also)
		}
		return int(n), nil
	}
	return setting[int]{to, read, acceptAny[int], write, form}
}

// orNone returns a function that writes 0 as none. It writes all other numbers as the function
// write does.
func orNone(write func(int) string) func(int) string {
	return func(n int) string {
		if n == 0 {
			return `"none"`
		}
		return write(n)
	}
}

// percent returns a setting that is a percentage from 1 to 100. In a file it may also be a fraction
// with a decimal point, up to 1.0, or a text such as "80%".
func percent(dst *int) value {
	read := func(raw any) (int, error) {
		var n int64
		switch raw := raw.(type) {
		case int64:
			n = raw
		case float64:
			n = int64(math.Round(raw * 100))
			if !(raw > 0 && raw <= 1) || math.Abs(raw*100-float64(n)) > 1e-9 {
				return 0, fmt.Errorf("%s is neither a percentage nor a fraction: use 1 to 100, or 0.01 to 1.0 in steps of 0.01",
					strconv.FormatFloat(raw, 'f', -1, 64))
			}
		default:
			s, _ := raw.(string)
			digits, marked := strings.CutSuffix(s, "%")
			u, err := strconv.ParseUint(digits, 10, 16)
			if err != nil || !marked {
				return 0, wrongType("a percentage such as 80, or a fraction such as 0.8", raw)
			}
			n = int64(u)
		}
		if n < 1 || n > 100 {
			return 0, fmt.Errorf("%d is out of range: use 1 to 100", n)
		}
		return int(n), nil
	}
	lo, hi := 0, 100
	form := shape{Type: "number", Form: "a percentage from 1 to 100, or a fraction such as 0.8", Min: &lo, Max: &hi, Word: "^[0-9]+%$"}
	return setting[int]{dst, read, acceptAny[int], strconv.Itoa, form}
}

// spelledNumber returns a number as people write it.
func spelledNumber(raw any) (string, bool) {
	switch raw := raw.(type) {
	case int64:
		return strconv.FormatInt(raw, 10), true
	case float64:
		return strconv.FormatFloat(raw, 'f', -1, 64), true
	}
	return "", false
}

// gpusOrNone returns a setting that is an amount of GPUs in thousandths. In a file, 0 is the word
// none.
func gpusOrNone(to *int) value {
	read := func(raw any) (int, error) {
		spelled, ok := spelledNumber(raw)
		switch {
		case raw == "none":
			return 0, nil
		case !ok:
			return 0, wrongType(`a number such as 1.5 without quotes, or "none"`, raw)
		}
		milli, err := job.ParseGPUs(spelled)
		if err != nil || milli == 0 {
			return 0, fmt.Errorf(`%s is not an amount of GPUs: use 0.01 to %d in steps of 0.01, or "none" for no bound`, spelled, job.MaxGPUs)
		}
		return milli, nil
	}
	lo, hi := 0, job.MaxGPUs
	form := shape{Type: "number", Form: fmt.Sprintf("a number from 0.01 to %d, or none", hi), Min: &lo, Max: &hi, Word: "^none$"}
	return setting[int]{to, read, acceptAny[int], orNone(job.FormatGPUs), form}
}

// partOfGPU returns a setting that is an amount of at most one GPU, in thousandths.
func partOfGPU(to *int) value {
	read := func(raw any) (int, error) {
		spelled, ok := spelledNumber(raw)
		if !ok {
			return 0, wrongType("a number such as 0.25 without quotes", raw)
		}
		milli, err := job.ParseGPUs(spelled)
		if err != nil || milli == 0 || milli > job.WholeGPU {
			return 0, fmt.Errorf("%s is not a part of a GPU: use 0.01 to 1 in steps of 0.01", spelled)
		}
		return milli, nil
	}
	lo, hi := 0, 1
	return setting[int]{to, read, acceptAny[int], job.FormatGPUs, shape{Type: "number", Form: "a number from 0.01 to 1", Min: &lo, Max: &hi}}
}

// onOff returns a setting that is true or false.
func onOff(to *bool) value {
	read := func(raw any) (bool, error) {
		b, ok := raw.(bool)
		if !ok {
			return false, wrongType("true or false without quotes", raw)
		}
		return b, nil
	}
	return setting[bool]{to, read, acceptAny[bool], strconv.FormatBool, shape{Type: "boolean", Form: "true or false"}}
}
