package job

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "2h": 2 * time.Hour, "1h30m": 90 * time.Minute, "2d": 2 * day, "90min": 90 * time.Minute, "2hours": 2 * time.Hour, "1day2hr": 26 * time.Hour, "30sec": 30 * time.Second, "2d5h": 53 * time.Hour, "1d1.5h": 25*time.Hour + 30*time.Minute,
		"600": 10 * time.Minute, "10:00": 10 * time.Minute, "2:00:00": 2 * time.Hour, "1-12": 36 * time.Hour, "1-12:30": 36*time.Hour + 30*time.Minute,
		"1-12:30:15": 36*time.Hour + 30*time.Minute + 15*time.Second, "0-0:0:1": time.Second, "500ms": 500 * time.Millisecond, "1.5s": 1500 * time.Millisecond,
		"3650d": MaxDuration, "3650-0": MaxDuration, "315360000": MaxDuration, "1:90": 150 * time.Second, "1d0h": day,
	} {
		if got, err := ParseDuration(text); got != want || err != nil {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "-5", "--5", "+5", "+5h", "-5s", " 5", "5 ", "1 h", "０", "１h", "1d-5h", "2d+5h", "1d-0", "1d+0", "1d0", "1d600",
		"1d2d", "d", "d5h", "1.5d", "-1d", "1h30", "1e3s", "0x10s", "1-", "-", "1-2-3", "1--2", "1:2:3:4", "1:", ":30", "1:-5", "1-+5", "1-1d", "1d1:00",
		"4294967296", "ten",
	} {
		if got, err := ParseDuration(text); got != 0 || err == nil || !strings.Contains(err.Error(), "use 90s, 2h") {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"0", "0s", "0d", "0:00", "0-0", "3651d", "3650d1s", "3650-0:0:1", "315360001", "65536d", "65535d2000000h", "9999999999h", "99999999999999999999s",
	} {
		want := fmt.Sprintf("%q is out of range: use more than 0 and at most 3650d", text)
		if got, err := ParseDuration(text); got != 0 || err == nil || err.Error() != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "10", "59", "010"} { // other tools read these as minutes
		want := text + " has no unit; write " + text + "s or " + text + "m"
		if got, err := ParseDuration(text); got != 0 || err == nil || err.Error() != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	if got, err := ParseDuration("60"); got != time.Minute || err != nil {
		t.Errorf("60: %s, %v", got, err)
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", time.Hour: "1h", 150 * time.Minute: "2h30m", 26 * time.Hour: "1d2h", 24*time.Hour + time.Second: "1d1s",
		1500 * time.Millisecond: "1s", 500 * time.Millisecond: "500ms", -2 * time.Hour: "-2h0m0s", MaxDuration: "3650d",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%d: %q", d, got)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := time.Duration(rapid.Int64Range(1, int64(MaxDuration/time.Second)).Draw(t, "seconds")) * time.Second
		part := time.Duration(rapid.Int64Range(1, int64(time.Second)-1).Draw(t, "part"))
		for d, want := range map[time.Duration]time.Duration{whole: whole, part: part, whole + part: whole} {
			if got, err := ParseDuration(FormatDuration(d)); got != want || err != nil {
				t.Fatalf("%s is printed as %q and read as %s, %v", d, FormatDuration(d), got, err)
			}
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"90s", "2h", "600", "10:00", "1-12:30:00", "2d-5h", "2d+5h", "1d2d", "1d0", "0-", "--5", "+5", " 5", "０", "65535d2000000h", "1.5h", "1µs"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			return
		}
		if d <= 0 || d > MaxDuration || strings.Contains(text, "+") || strings.HasPrefix(text, "-") {
			t.Fatalf("%q is %s", text, d)
		}
		want := d
		if d > time.Second {
			want = d.Truncate(time.Second)
		}
		if again, err := ParseDuration(FormatDuration(d)); again != want || err != nil {
			t.Fatalf("%q is %s, printed as %q, read as %s, %v", text, d, FormatDuration(d), again, err)
		}
	})
}
