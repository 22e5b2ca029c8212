package api

import (
	"encoding/json"
	"testing"

	"github.com/gpusched/gpusched/daemon/words"
)

// An older gpusched on another machine sends reasons only as sentences.
func TestAReasonWithoutACode(t *testing.T) {
	for text, want := range map[string]string{
		`{"code":"held","gpu":-1,"detail":"ann","sentence":"held by ann"}`:                                       "held by ann",
		`{"code":"gpu-paused","gpu":0,"detail":"by root","sentence":"paused"}`:                                   "GPU 0 is paused by an administrator (by root)",
		`{"code":"held","gpu":-1,"detail":"x","why":{"say":"detail/heir","args":["ann",7,"bob"]},"sentence":""}`: "held by ann is gone: uid 7 is bob's now",
	} {
		var j Job
		if err := json.Unmarshal([]byte(`{"reasons":[`+text+`]}`), &j); err != nil {
			t.Fatal(err)
		}
		if got := j.Because(words.Reader{}); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
