package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestWordsAreSplitAtMachines(t *testing.T) {
	for word, want := range map[string][]hostWord{
		"12":                {{"", "12"}},
		"12,14-16":          {{"", "12,14-16"}},
		"a:12":              {{"a", "12"}},
		"a:7_3,5,b:1":       {{"a", "7_3,5"}, {"b", "1"}},
		"1,a:2":             {{"", "1"}, {"a", "2"}},
		"ann@b.c:@~1":       {{"ann@b.c", "@~1"}},
		".:12":              {{".", "12"}},
		"name:a:b,c":        {{"", "name:a:b,c"}},
		"a:name:x,y:z":      {{"a", "name:x,y:z"}},
		"slurm:12":          {{"", "slurm:12"}},
		"a:":                {{"a", ""}},
		":12":               {{"", ":12"}},
		"a b:12":            {{"", "a b:12"}},
		"7_[1,2],a:7_[3,4]": {{"", "7_[1,2]"}, {"a", "7_[3,4]"}},
	} {
		if got := PlacedWords(word); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
}

func TestEachMachineTakesItsOwnIDs(t *testing.T) {
	typed := []string{"a:12,14,b:3", "5", "b:7_[1,2]", "name:x,y", "a:name:b:1,2"}
	for _, c := range []struct {
		q    FromAfar
		want string
	}{
		{FromAfar{Called: "a"}, "12,14 name:b:1,2"}, {FromAfar{Called: "b"}, "3 7_[1,2]"}, {FromAfar{Called: ".", Plain: true}, "5 name:x,y"},
		{FromAfar{Called: "c"}, ""},
	} {
		if got := strings.Join(c.q.OwnWords(typed), " "); got != c.want {
			t.Errorf("%+v: %q", c.q, got)
		}
	}
	a := &App{Session: Session{Asked: &FromAfar{Called: "a"}}}
	for word, want := range map[string]string{"a:12": "12", "a:1,2,a:3": "1,2,3", "12": "12", "b:1": "b:1", "a:1,b:2": "a:1,b:2", "name:a:1": "name:a:1"} {
		if got := a.withoutHost(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
