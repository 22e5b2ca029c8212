package job

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseGPUs(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "1": 1000, "2": 2000, "0.5": 500, "0.50": 500, "0.01": 10, "0.99": 990, "1.5": 1500, "007": 7000,
		"1024": 1_024_000, "1024.0": 1_024_000, "1023.99": 1_023_990,
	} {
		if got, err := ParseGPUs(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	const form, many = "is not an amount of GPUs", "is too many GPUs: at most 1024"
	for text, want := range map[string]string{
		"": form, ".": form, ".5": form, "1.": form, "1.005": form, "1.5.5": form, "+5": form, "-1": form, " 5": form, "5 ": form,
		"０": form, "1.５": form, "1e3": form, "0x1": form, "1_0": form, "0,2": form, "0-3": form, "1.+5": form, "NaN": form, "Inf": form,
		"1025": many, "1024.01": many, "65536": many, "99999999999999999999": many,
	} {
		if got, err := ParseGPUs(text); got != 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestFormatGPUs(t *testing.T) {
	for milli, want := range map[int]string{0: "0", 10: "0.01", 500: "0.5", 990: "0.99", 1000: "1", 1500: "1.5", 1_024_000: "1024"} {
		if got := FormatGPUs(milli); got != want {
			t.Errorf("%d: %q", milli, got)
		}
	}
}

// Each amount that Validate accepts is the same after it is printed and parsed.
func TestGPUsRoundTrip(t *testing.T) {
	for milli := 0; milli <= MaxGPUs*WholeGPU; milli += 10 {
		if got, err := ParseGPUs(FormatGPUs(milli)); got != milli || err != nil {
			t.Fatalf("%d is printed as %q and read as %d, %v", milli, FormatGPUs(milli), got, err)
		}
	}
}

func FuzzParseGPUs(f *testing.F) {
	for _, seed := range []string{"0", "1", "0.5", "1024", "1024.99", "1.", ".5", "+5", " 5", "０", "1e3", "70000", "18446744073709551616", "1.-5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		milli, err := ParseGPUs(text)
		if err != nil {
			return
		}
		if milli < 0 || milli > MaxGPUs*WholeGPU || milli%10 != 0 {
			t.Fatalf("%q is %d", text, milli)
		}
		if again, err := ParseGPUs(FormatGPUs(milli)); again != milli || err != nil {
			t.Fatalf("%q is %d, again %d, %v", text, milli, again, err)
		}
	})
}

func TestParseGPUList(t *testing.T) {
	for text, want := range map[string][]int{
		"": nil, "0": {0}, "0,2": {0, 2}, "0-3": {0, 1, 2, 3}, "3,1,2": {1, 2, 3}, "1,1,0-1": {0, 1}, "0, 2": {0, 2}, "5-5": {5}, "1023": {1023},
	} {
		if got, err := ParseGPUList(text); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		",", "0,", ",0", "0,,1", "0-", "-0", "-", "--5", "3-1", "0-1-2", "0 - 1", "+1", "1024", "0-1024", "65536", "0-99999999999999999999", "０", "a", "0.5", "0;1",
	} {
		if got, err := ParseGPUList(text); got != nil || err == nil || !strings.Contains(err.Error(), "gpusched gpus") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if got := FormatGPUList(nil); got != "-" {
		t.Errorf("no GPU: %q", got)
	}
}

func TestGPUListRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.IntRange(0, MaxGPUs-1), 1, 40, rapid.ID[int]).Draw(t, "list")
		text := FormatGPUList(list)
		slices.Sort(list)
		if got, err := ParseGPUList(text); !slices.Equal(got, list) || err != nil {
			t.Fatalf("%q: %v, %v", text, got, err)
		}
	})
}

func FuzzParseGPUList(f *testing.F) {
	for _, seed := range []string{"", "0", "0,2", "0-3", "3-1", "0-", "--5", "0-1023,0-1023", "1,1", " 5", "+5", "０", "65536", "0 - 3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseGPUList(text)
		if err != nil || len(list) == 0 {
			if len(list) > 0 || err == nil && text != "" {
				t.Fatalf("%q: %v, %v", text, list, err)
			}
			return
		}
		if !ascending(list) {
			t.Fatalf("%q is %v", text, list)
		}
		if again, err := ParseGPUList(FormatGPUList(list)); !slices.Equal(again, list) || err != nil {
			t.Fatalf("%q is %v, again %v, %v", text, list, again, err)
		}
	})
}
