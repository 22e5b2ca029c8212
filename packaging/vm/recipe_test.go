package vm

import (
	"maps"
	"slices"
	"testing"
)

// Invariant 1: whatever an image is made from is in its name.
func TestHashNamesTheRecipe(t *testing.T) {
	base, err := recipeOf(Emulated)
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]func(*recipe){
		"kind":    func(r *recipe) { r.kind = Box },
		"package": func(r *recipe) { r.includes = append(r.includes, "hello") },
		"script":  func(r *recipe) { r.hooks["customize"] += "true\n" },
		"hook":    func(r *recipe) { delete(r.hooks, "essential") },
	}
	seen := map[string]string{base.hash(): "unchanged"}
	for what, change := range changed {
		r := recipe{kind: base.kind, includes: slices.Clone(base.includes), hooks: maps.Clone(base.hooks)}
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

func TestRecipeOfUnknownKind(t *testing.T) {
	if _, err := recipeOf("cloud"); err == nil {
		t.Error(`recipeOf("cloud") has no error`)
	}
}
