package terminal

import (
	"bytes"
	"testing"
)

// FuzzRead: any input is an error, or a frame of at most maxFrame bytes that Encode reproduces
// (invariant 2).
func FuzzRead(f *testing.F) {
	f.Add(Encode(Hello, []byte("{}")))
	f.Add(Encode(Size, EncodeSize(24, 80)))
	f.Add(Encode(Data, bytes.Repeat([]byte("x"), maxFrame+1)))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{byte(Data), 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		for r := bytes.NewReader(b); ; {
			at := len(b) - r.Len()
			kind, content, err := Read(r)
			if err != nil {
				return
			}
			if again := Encode(kind, content); !bytes.Equal(again, b[at:len(b)-r.Len()]) {
				t.Fatalf("%q became %q", b[at:len(b)-r.Len()], again)
			}
			if rows, cols, ok := DecodeSize(content); ok && !bytes.Equal(EncodeSize(rows, cols), content) {
				t.Fatalf("%q is %d, %d", content, rows, cols)
			}
		}
	})
}
