package job

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1B": 1, "512M": 512 << 20, "20G": 20 << 30, "20g": 20 << 30, "20GB": 20 << 30, "20GiB": 20 << 30, "20 GiB": 20 << 30,
		"1.5T": 3 << 39, "1073741824B": 1 << 30, "0.5K": 512, ".5k": 512, "5.B": 5, "1024T": MaxSize, "1125899906842624B": MaxSize,
		"1.1G": 1181116007, "1.5B": 2, "007B": 7,
	} {
		if got, err := ParseSize(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	const form, far = "is not a size", "is out of range"
	for text, want := range map[string]string{
		"": form, ".": form, "G": form, "1e3G": form, "1e3": form, "+5": form, "-5": form, " 5": form, "5 ": form, "5G ": form, "5  G": form, "5\tG": form,
		"5\u00a0G": form, "０": form, "1Kıb": form, "1.5.5G": form, "1_0": form, "0x10": form, "5P": form, "NaN": form, "Inf": form, "5GG": form, "1,5G": form,
		"0B": far, "0G": far, "0.5B": far, "0.0001B": far, "1025T": far, "1125899906842625B": far, "99999999999999999999B": far,
		"0": far, "64": "64 is 64 bytes; write 64M or 64G", "1.5": "1.5 is 1.5 bytes; write 1.5M or 1.5G",
		"1048576": "1048576 is a number of bytes; write 1048576B, or use K, M, G or T", "99999999999999999999": "is a number of bytes",
	} {
		if got, err := ParseSize(text); got != 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0B", 1: "1B", 1023: "1023B", 1024: "1K", 1536: "1.5K", 1<<20 - 1: "1023.9K", 20 << 30: "20G", 3 << 39: "1.5T",
		1181116006: "1G", 1181116007: "1.1G", MaxSize: "1024T", 1<<63 - 1: "8388607.9T", -5: "-5B",
	} {
		if got := FormatSize(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// What is printed is never more than there is, and less by under a tenth of the
// unit; what has one decimal at most is printed as it was asked.
func TestSizeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, MaxSize>>rapid.IntRange(0, 50).Draw(t, "shift")).Draw(t, "n")
		text := FormatSize(n)
		got, err := ParseSize(text)
		if err != nil || got > n || got < n-n/10 {
			t.Fatalf("%d is printed as %q and read as %d, %v", n, text, got, err)
		}
		if again := FormatSize(got); again != text {
			t.Fatalf("%q is printed as %q", text, again)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"1", "1B", "20G", "1.1G", "1.5T", "20 GiB", "1e3G", "1Kıb", "5 ", " 5", "+5", "０", "0", "1024T", "1024.1T", "9007199254740993", "."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseSize(text)
		if err != nil {
			return
		}
		if n < 1 || n > MaxSize || !ascii(text) {
			t.Fatalf("%q is %d", text, n)
		}
		if again, err := ParseSize(FormatSize(n)); again > n || again < n-n/10 || err != nil {
			t.Fatalf("%q is %d, printed as %q, read as %d, %v", text, n, FormatSize(n), again, err)
		}
	})
}
