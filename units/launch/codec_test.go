package launch

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/units/contract"
)

// hardArguments returns arguments that any expansion, decoding or quoting would change.
func hardArguments() []string {
	all := make([]byte, 255)
	for i := range all {
		all[i] = byte(i + 1)
	}
	return []string{
		"$HOME", "${HOME}", "$$", "%n", "%%", "%i", "a b", "", " ", "\t", "line\nline\n", `"quoted"`, `'quoted'`, `back\slash\`, "`id`", "$(id)",
		"*", "~", ";", "&", "|", "-c", "--", "-", "größe", "\xff\xfe\xc0", string(all), strings.Repeat("x", 100<<10), "K=V", "{}", "!", "#",
	}
}

func fullSpec() *Spec {
	return &Spec{
		JobID: 42, Attempt: 3, Program: contract.Program{
			Argv: append([]string{"prog"}, hardArguments()...), EnvMode: contract.EnvLogin, Env: []string{"A=1", "B=\xff", "C="},
			Dir: "/tmp/\xe4", Umask: 0o27,
		}, Home: "/home/alice", User: "alice", Shell: "/bin/bash",
		GPUs:       []contract.GPU{{Index: 1, Minor: 7, UUID: "GPU-aa"}, {Index: 3, Minor: 0, UUID: "GPU-bb"}},
		ShareMilli: 1500, GPUMemMiB: 20480, Visible: VisibleUUID, RequireFilter: true, ProbePath: "/dev/gpusched-probe",
		SoftLimits: []contract.Limit{{Name: "NOFILE", Soft: 1024, Hard: 4096}, {Name: "AS", Soft: math.MaxUint64, Hard: math.MaxUint64}},
	}
}

// taskSpec returns the spec of a task of an array.
func taskSpec() *Spec {
	s := fullSpec()
	s.ArrayJob, s.ArrayTask = 7, 300
	return s
}

// setupSpec returns the spec of a job with a set-up.
func setupSpec() *Spec {
	s := fullSpec()
	s.Setup = contract.Setup{Modules: []string{"cuda/12", "a b"}, Conda: "/opt/\xff", Venv: "/v", Command: "source x\n"}
	return s
}

// Decode returns byte for byte what Encode got (invariants 1 and 7).
func TestCodecRoundTrip(t *testing.T) {
	for _, s := range []*Spec{{}, fullSpec(), taskSpec(), setupSpec()} {
		got, err := Decode(Encode(s))
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("got %+v, %v", got, err)
		}
		s.Setup.CUDAArg, s.TTY, s.Variables = true, true, []string{"A=", "B=\xff"}
		s.Aimed, s.Ignored = []int{10, 15}, 12
		if got, err := Decode(Encode(s)); err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
		s := &Spec{
			ArrayJob: rapid.Int64().Draw(t, "array"), JobID: rapid.Int64().Draw(t, "id"), Attempt: rapid.Int().Draw(t, "attempt"), Program: contract.Program{
				Dir:  text.Draw(t, "dir"),
				Argv: rapid.SliceOfN(text, 1, 5).Draw(t, "argv"), Umask: rapid.Int().Draw(t, "umask"),
			}, RequireFilter: rapid.Bool().Draw(t, "filter"),
			SoftLimits: []contract.Limit{{Name: text.Draw(t, "name"), Soft: rapid.Uint64().Draw(t, "soft"), Hard: rapid.Uint64().Draw(t, "hard")}},
			GPUs:       []contract.GPU{{Index: rapid.Int().Draw(t, "index"), Minor: rapid.Int().Draw(t, "minor"), UUID: text.Draw(t, "uuid")}},
		}
		got, err := Decode(Encode(s))
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

// Decode notices every truncation, and its error reveals nothing of the content.
func TestDamagedSpec(t *testing.T) {
	damaged(t, Encode(taskSpec()))
	damaged(t, Encode(setupSpec()))
}

func damaged(t *testing.T, whole []byte) {
	t.Helper()
	step := 1
	for n := 0; n < len(whole); n += step {
		if n > 1000 && n < len(whole)-300 {
			step = 997
		} else {
			step = 1
		}
		if _, err := Decode(whole[:n]); !errors.Is(err, ErrSpec) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	if _, err := Decode(append(whole, 0, 1)); !errors.Is(err, ErrSpec) || strings.Contains(err.Error(), "alice") {
		t.Fatal(err)
	}
}

func FuzzDecode(f *testing.F) {
	small := fullSpec()
	small.Argv = []string{"prog", "", "\xff"}
	small.ArrayJob, small.Setup = 9, setupSpec().Setup
	f.Add(Encode(small))
	f.Add(Encode(&Spec{}))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrSpec) {
				t.Fatal(err)
			}
			return
		}
		again, err := Decode(Encode(s))
		if err != nil || string(Encode(again)) != string(Encode(s)) { // an empty list equals a missing one
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}

// The file of another version is refused.
func TestOtherVersions(t *testing.T) {
	body := strings.TrimPrefix(string(Encode(fullSpec())), magic)
	for _, text := range []string{"gpusched-spec 2\n" + body, "gpusched-spec 3", ""} {
		if s, err := Decode([]byte(text)); !errors.Is(err, ErrSpec) {
			t.Errorf("read %+v, %v", s, err)
		}
	}
}

// shape spells out a type with the fields of its structs.
func shape(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "[]" + shape(t.Elem())
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, t.Field(i).Name+" "+shape(t.Field(i).Type))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return t.Kind().String()
}

// The version changes with the fields, since an older launcher would ignore a field that it does
// not know.
func TestTheVersionIsOfTheseFields(t *testing.T) {
	const want = magic + "{JobID int64, Attempt int, ArrayJob int64, ArrayTask int, Program {Argv []string, " +
		"EnvMode string, Env []string, Dir string, Umask int, Setup {Modules []string, Conda string, " +
		"Venv string, Command string, CUDAArg bool, Compat string}, " +
		"Container {Engine string, Image string, Mounts []{Source string, Target string, ReadOnly bool}, " +
		"Args []string, KeepIDs bool, Driver string, Store string, CDI bool}, Log {Path string, Truncate bool}, " +
		"TTY bool}, Home string, User string, Shell string, " +
		"GPUs []{UUID string, Index int, Minor int, GICap int, CICap int, Milli int, PromiseBytes int64, HintMilli int}, ShareMilli int, " +
		"GPUMemMiB int64, Visible string, Scratch string, Screen string, Aimed []int, Ignored int, Variables []string, " +
		"RequireFilter bool, ProbePath string, SoftLimits []{Name string, Soft uint64, Hard uint64}}"
	if got := magic + shape(reflect.TypeFor[Spec]()); got != want {
		t.Errorf("Spec is\n%s\nraise the number in magic, and write that here", got)
	}
}
