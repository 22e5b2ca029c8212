package vm

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Invariant 1: the name of an image depends on everything from which the image is made.
func TestHashNamesTheRecipe(t *testing.T) {
	base, err := recipeOf(Emulated, Bookworm, nil)
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]func(*recipe){
		"kind":    func(r *recipe) { r.kind = Box },
		"suite":   func(r *recipe) { r.suite = Trixie },
		"package": func(r *recipe) { r.includes = append(r.includes, "hello") },
		"script":  func(r *recipe) { r.hooks["customize"] += "true\n" },
		"hook":    func(r *recipe) { delete(r.hooks, "essential") },
	}
	seen := map[string]string{base.hash(): "unchanged"}
	for what, change := range changed {
		r := recipe{kind: base.kind, suite: base.suite, includes: slices.Clone(base.includes), hooks: maps.Clone(base.hooks)}
		if r.hash() != base.hash() {
			t.Fatal("two equal recipes have different hashes")
		}
		change(&r)
		if other, ok := seen[r.hash()]; ok {
			t.Errorf("a changed %s gives the hash of: %s", what, other)
		}
		seen[r.hash()] = what
	}
}

func TestRecipeOfWhatThereIsNot(t *testing.T) {
	if _, err := recipeOf("cloud", Bookworm, nil); err == nil {
		t.Error("the kind cloud has no error")
	}
	if _, err := recipeOf(Box, "potato", nil); err == nil {
		t.Error("the suite potato has no error")
	}
}

// Services of further packages do not start at the boot of any kind of machine. If customise.sh
// lacks the line customiseArgs, that is an error.
func TestQuietServicesAreInTheScript(t *testing.T) {
	for _, kind := range []Kind{Box, Emulated} {
		r, err := recipeOf(kind, Bookworm, []string{"slurm-wlm"})
		if err != nil || !strings.Contains(r.hooks["customize"], customiseArgs+quietServices) {
			t.Errorf("%s: %v\n%s", kind, err, r.hooks["customize"])
		}
		if r, err := recipeOf(kind, Bookworm, nil); err != nil || strings.Contains(r.hooks["customize"], quietServices) {
			t.Errorf("%s without more packages: %v", kind, err)
		}
	}
	for _, script := range []string{"", "root=$1\nkind=$2\n", customiseArgs + customiseArgs} {
		if _, err := withQuietServices(script); err == nil {
			t.Errorf("no error for %q", script)
		}
	}
}
