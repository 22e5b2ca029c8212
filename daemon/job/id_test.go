package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseID(t *testing.T) {
	for text, want := range map[string]ID{"1": 1, "42": 42, "9223372036854775807": 1<<63 - 1} {
		if got, err := ParseID(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "+1", "007", " 1", "1 ", "1.0", "0x1", "1_0", "1e3", "９", "9223372036854775808", "-9223372036854775808"} {
		if got, err := ParseID(text); got != 0 || err == nil || !strings.Contains(err.Error(), "gpusched list") {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestParseIDs(t *testing.T) {
	const highest = "9223372036854775807"
	for text, want := range map[string][]ID{
		"12":                             {12},
		"12,14-16":                       {12, 14, 15, 16},
		"3,1,2,1,1-3":                    {3, 1, 2},
		"5-5":                            {5},
		highest:                          {1<<63 - 1},
		"9223372036854775806-" + highest: {1<<63 - 2, 1<<63 - 1},
	} {
		if got, err := ParseIDs(text); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ",", "1,", ",1", "1,,2", "2-1", "1-", "-1", "1-2-3", "0-3", "1, 2", "１-２", "1-" + highest, "@", "1-" + highest + "0"} {
		if got, err := ParseIDs(text); got != nil || err == nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// The cost of a list is bounded, even if the list repeats the same ids.
func TestParseIDsIsBounded(t *testing.T) {
	for _, c := range []struct {
		text string
		jobs int
	}{
		{"1-10000", maxIDList},
		{"1-6000,6001-10000", maxIDList},
		{"7," + strings.Repeat("7,", maxIDList-2) + "7", 1},
		{"1-10001", -1},
		{"1-6000,6001-10001", -1},
		{"1-6000,1-6000", -1},
		{"7," + strings.Repeat("7,", maxIDList-1) + "7", -1},
	} {
		ids, err := ParseIDs(c.text)
		if (c.jobs < 0) != (err != nil) || c.jobs >= 0 && len(ids) != c.jobs {
			t.Errorf("%.30q: %d jobs, %v", c.text, len(ids), err)
		}
	}
}

func TestIDsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Map(rapid.Int64Min(1), func(n int64) ID { return ID(n) }), 1, 20, rapid.ID[ID]).Draw(t, "ids")
		text := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
		if got, err := ParseIDs(text); !slices.Equal(got, ids) || err != nil {
			t.Fatalf("%q: %v, %v", text, got, err)
		}
		if got, err := ParseID(ids[0].String()); got != ids[0] || err != nil {
			t.Fatalf("%q: %v, %v", ids[0], got, err)
		}
	})
}

func FuzzParseIDs(f *testing.F) {
	for _, seed := range []string{"", "1", "12,14-16", "2-1", "1-", "--5", "9223372036854775807", "1-100000,1-100000", "0-0", "+5", "０", "1,1,1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := ParseIDs(text)
		if err != nil {
			if ids != nil {
				t.Fatalf("%d ids and %v", len(ids), err)
			}
			return
		}
		seen := map[ID]bool{}
		for _, id := range ids {
			if id < 1 || seen[id] {
				t.Fatalf("id %d of %v", id, ids)
			}
			seen[id] = true
		}
		if len(ids) < 1 || len(ids) > maxIDList {
			t.Fatalf("%d ids", len(ids))
		}
		if one, err := ParseID(text); err == nil && (len(ids) != 1 || ids[0] != one || one.String() != text) {
			t.Fatalf("%q alone is %d, in a list %v", text, one, ids)
		}
	})
}
