package systemd

import (
	"bytes"
	"encoding/binary"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// read are the names of the properties that the code asks for: those that get and amount are given.
func read(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names, set := map[string]bool{}, token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || !readsProperty(call) {
				return true
			}
			literal, is := call.Args[len(call.Args)-1].(*ast.BasicLit)
			if !is {
				t.Fatalf("%s: the name of a property is not written out", set.Position(call.Pos()))
			}
			property, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			names[property] = true
			return true
		})
	}
	return names
}

// readsProperty reports whether it is get[T](p, name) or p.amount(name).
func readsProperty(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.IndexExpr:
		name, is := f.X.(*ast.Ident)
		return is && name.Name == "get"
	case *ast.SelectorExpr:
		return f.Sel.Name == "amount"
	}
	return false
}

// What the code reads of a unit is wanted, or it would never arrive; what is wanted is read.
func TestWhatIsReadIsWanted(t *testing.T) {
	ofManager := map[string]bool{"UserspaceTimestampMonotonic": true, "SystemState": true, "Version": true} // never thinned
	names := read(t)
	for name := range names {
		if !wanted[name] && !ofManager[name] {
			t.Errorf("%s is read and not wanted: it never arrives", name)
		}
	}
	for name := range wanted {
		if !names[name] {
			t.Errorf("%s is wanted and nobody reads it", name)
		}
	}
}

// many are properties of all the shapes that systemd's have, among them all that are wanted.
func many() map[string]dbus.Variant {
	m := map[string]dbus.Variant{}
	for name := range wanted {
		m[name] = dbus.MakeVariant("is " + name)
	}
	type command struct {
		Path   string
		Args   []string
		Ignore bool
		At     [4]uint64
		PID    uint32
	}
	for name, value := range map[string]any{
		"InvocationID": []byte{1, 2, 3}, "MainPID": uint32(7), "ExecMainCode": int32(1), "CPUUsageNSec": uint64(9), "LogExtraFields": [][]byte{{65}, {66, 61}},
		"A": true, "B": byte(3), "C": int16(-1), "D": 2.5, "E": int64(-9), "F": []string{"a", "bc"}, "G": []string{}, "H": dbus.ObjectPath("/a"),
		"I": map[string]string{"a": "b"}, "J": []map[string]dbus.Variant{{"x": dbus.MakeVariant([]uint64{1})}}, "K": sig("a{sv}"),
		"L": dbus.MakeVariant(dbus.MakeVariant(uint16(1))), "M": []command{}, "N": []command{{Path: "/a", Args: []string{"/a", "b"}, PID: 3}},
		"P": []uint64{}, "Q": []uint64{1, 2},
	} {
		m[name] = dbus.MakeVariant(value)
	}
	m["Job"] = dbus.MakeVariantWithSignature(struct {
		ID   uint32
		Path dbus.ObjectPath
	}{3, "/job/3"}, sig("(uo)"))
	return m
}

func sig(s string) dbus.Signature {
	parsed, err := dbus.ParseSignature(s)
	if err != nil {
		panic(err)
	}
	return parsed
}

func encoded(t testing.TB, m *dbus.Message) []byte {
	t.Helper()
	m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(m.Body...))
	var out bytes.Buffer
	if err := m.EncodeTo(&out, binary.LittleEndian); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func reply(t testing.TB, body ...any) []byte {
	return encoded(t, &dbus.Message{Type: dbus.TypeMethodReply, Body: body, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(uint32(4)), dbus.FieldSender: dbus.MakeVariant(":1.22"),
	}})
}

func sent(t testing.TB, path, iface, member string, body ...any) []byte {
	return encoded(t, &dbus.Message{Type: dbus.TypeSignal, Body: body, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath(path)), dbus.FieldInterface: dbus.MakeVariant(iface),
		dbus.FieldMember: dbus.MakeVariant(member), dbus.FieldSender: dbus.MakeVariant(":1.1"),
	}})
}

func decoded(t testing.TB, message []byte) *dbus.Message {
	t.Helper()
	m, err := dbus.DecodeMessage(bytes.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func some(m map[string]dbus.Variant) map[string]dbus.Variant {
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(name string, _ dbus.Variant) bool { return !wanted[name] })
	return m
}

// Of the properties of a unit those arrive that somebody reads, as they were sent.
func TestPropertiesAreThinned(t *testing.T) {
	all := decoded(t, reply(t, many())).Body[0].(map[string]dbus.Variant)
	got := decoded(t, thin(reply(t, many())))
	if want := []any{some(all)}; !reflect.DeepEqual(got.Body, want) {
		t.Errorf("%v\narrives instead of\n%v", got.Body, want)
	}
	changed := sent(t, string(objectPath("gpujob-3.service")), propertyIface, "PropertiesChanged", unitIface, many(), []string{"x", "yz"})
	got = decoded(t, thin(changed))
	if want := []any{unitIface, some(all), []string{"x", "yz"}}; !reflect.DeepEqual(got.Body, want) {
		t.Errorf("%v\narrives instead of\n%v", got.Body, want)
	}
	if status, whole := properties(some(all)).status("x"), properties(all).status("x"); status != whole {
		t.Errorf("%+v is read instead of %+v", status, whole)
	}
	if o, whole := properties(some(all)).origin(), properties(all).origin(); !reflect.DeepEqual(o, whole) {
		t.Errorf("%+v is read instead of %+v", o, whole)
	}
	if o := (properties{"ExecStart": all["N"]}).origin(); o.SpecPath != "b" {
		t.Errorf("the command's last argument is read as %q", o.SpecPath)
	}
}

// What nobody reads does not arrive; what is something else arrives as it is.
func TestSignalsAreThinned(t *testing.T) {
	none := map[string]dbus.Variant{}
	other := string(objectPath("ssh.service"))
	for _, c := range []struct {
		message []byte
		arrives bool
	}{
		{sent(t, other, propertyIface, "PropertiesChanged", unitIface, none, []string{}), false},
		{sent(t, managerPath, managerIface, "JobRemoved", uint32(1), dbus.ObjectPath("/j"), "ssh.service", "done"), false},
		{sent(t, managerPath, managerIface, "UnitRemoved", "ssh.service", dbus.ObjectPath(other)), false},
		{sent(t, managerPath, managerIface, "JobRemoved", uint32(1), dbus.ObjectPath("/j"), job1, "done"), true},
		{sent(t, managerPath, managerIface, "UnitRemoved", job1, objectPath(job1)), true},
		{sent(t, managerPath, managerIface, "Reloading", false), true},
		{sent(t, "/org/freedesktop/DBus", busIface, "NameOwnerChanged", destination, ":1.1", ":1.2"), true},
		{reply(t, "a string"), true},
		{reply(t), true},
	} {
		before := bytes.Clone(c.message)
		switch got := thin(c.message); {
		case !c.arrives && got != nil:
			t.Errorf("%v arrives", decoded(t, before))
		case c.arrives && !bytes.Equal(got, before):
			t.Errorf("%v does not arrive as it was sent", decoded(t, before))
		}
	}
}

// A message of any bytes is thinned to no more than itself, and what no part of it was
// understood of is the same as before.
// A body that ends too early, at any byte, makes no harm; the bus lets none through.
func TestThinOfCutMessages(t *testing.T) {
	// Each is wanted, of a length that is no multiple of 4.
	for _, list := range []map[string]dbus.Variant{{"User": dbus.MakeVariant(byte(1))}, {"User": dbus.MakeVariant("ab"), "Job": dbus.MakeVariant(byte(1))}, many()} {
		whole := sent(t, string(objectPath(job1)), propertyIface, "PropertiesChanged", unitIface, list, []string{"x"})
		body := len(whole) - int(binary.LittleEndian.Uint32(whole[4:]))
		for end := body; end < len(whole); end++ {
			cut := bytes.Clone(whole[:end:end])
			binary.LittleEndian.PutUint32(cut[4:], uint32(end-body))
			got := thin(cut)
			if len(got) > end || int(binary.LittleEndian.Uint32(got[4:])) != len(got)-body {
				t.Fatalf("cut at %d of %d: %x", end, len(whole), got)
			}
		}
	}
}

func FuzzThin(f *testing.F) {
	f.Add(reply(f, many()))
	f.Add(sent(f, string(objectPath(job1)), propertyIface, "PropertiesChanged", unitIface, many(), []string{"x"}))
	f.Add(sent(f, managerPath, managerIface, "JobRemoved", uint32(1), dbus.ObjectPath("/j"), job1, "done"))
	f.Fuzz(func(t *testing.T, message []byte) {
		if len(message) < headLength {
			return
		}
		before := message // which is the fuzzer's: thin works in its own
		got := thin(bytes.Clone(message))
		if len(got) > len(before) {
			t.Fatalf("%x became %x", before, got)
		}
		for i := headLength; len(got) == len(before) && i < len(got); i++ {
			if got[i] != before[i] && got[i] != 0 { // what fills up may have been anything
				t.Fatalf("%x became %x", before, got)
			}
		}
		m, err := dbus.DecodeMessage(bytes.NewReader(before))
		if err != nil || len(got) == 0 {
			return
		}
		if _, err := dbus.DecodeMessage(bytes.NewReader(got)); err != nil {
			t.Fatalf("%v became %x: %v", m, got, err)
		}
	})
}
