package job

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// An argument that is a message is read back as a message, whatever its content.
func TestMessageIsReadBack(t *testing.T) {
	for _, m := range []Message{
		{}, Text("a text"), Say("detail/x"), Say("detail/x", Message{}), Say("detail/x", Text("y"), Say("detail/y", "z")),
		Say("detail/x", time.Unix(1, 0).UTC()), Say("detail/x", Reason{Code: ReasonGPUSick, GPU: NoGPU}),
	} {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got Message
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%#v is %s, read back as %#v (%v)", m, text, got, err)
		}
	}
}
