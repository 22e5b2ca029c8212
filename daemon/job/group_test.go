package job

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestGroupsAsText(t *testing.T) {
	type doc struct {
		Groups []Group
		GIDs   GIDs `json:",omitempty"`
	}
	for text, want := range map[string]doc{
		`{"Groups":["lab:2001","my lab:0"],"GIDs":"0,100,4294967294"}`: {[]Group{{"lab", 2001}, {"my lab", 0}}, GIDs{0, 100, 4294967294}},
		`{"Groups":null}`: {},
	} {
		var got doc
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
		if back, err := json.Marshal(want); err != nil || string(back) != text {
			t.Errorf("%+v is written as %s, %v", want, back, err)
		}
	}
	var old doc
	if err := json.Unmarshal([]byte(`{"Groups":["lab"],"GIDs":""}`), &old); err != nil || old.Groups[0] != (Group{"lab", -1}) || old.GIDs != nil {
		t.Errorf("%+v, %v", old, err)
	}
	for _, bad := range []string{`{"GIDs":"-1"}`, `{"GIDs":"1,"}`, `{"Groups":["lab:x"]}`} {
		if err := json.Unmarshal([]byte(bad), &old); err == nil {
			t.Errorf("%s is read as %+v", bad, old)
		}
	}
}
