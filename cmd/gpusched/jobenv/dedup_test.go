package jobenv

import (
	"regexp"
	"strings"
	"testing"
)

func TestContentHash(t *testing.T) {
	hash := func(argv, dir, mode, set string) string {
		return ContentHash(strings.Split(argv, " "), dir, mode, strings.Fields(set))
	}
	base := hash("a b", "/d", "inherit", "X=1 Y=2")
	if !regexp.MustCompile("^[0-9a-f]{32}$").MatchString(base) {
		t.Errorf("the hash is %q", base)
	}
	if hash("a b", "/d", "inherit", "Y=2 X=1") != base {
		t.Error("the order of the variables counts")
	}
	for name, other := range map[string]string{
		"another argument":        hash("a c", "/d", "inherit", "X=1 Y=2"),
		"arguments cut elsewhere": ContentHash([]string{"ab"}, "/d", "inherit", []string{"X=1", "Y=2"}),
		"an argument with a line": ContentHash([]string{"a1\nb"}, "/d", "inherit", []string{"X=1", "Y=2"}),
		"another directory":       hash("a b", "/e", "inherit", "X=1 Y=2"),
		"another mode":            hash("a b", "/d", "clean", "X=1 Y=2"),
		"another value":           hash("a b", "/d", "inherit", "X=1 Y=3"),
		"a set-up":                ContentHash(strings.Split("a b", " "), "/d", "inherit", []string{"X=1", "Y=2"}, "", "/v", ""),
		"a variable less":         hash("a b", "/d", "inherit", "X=1"),
		"a variable as argument":  hash("a b X=1", "/d", "inherit", "Y=2"),
	} {
		if other == base {
			t.Errorf("%s is the same content", name)
		}
	}
}
