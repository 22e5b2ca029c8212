package client

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestHostileScripts: whatever a file is, looking for options in it ends at once and
// says what is wrong.
func TestHostileScripts(t *testing.T) {
	dir := t.TempDir()
	a := &app{startedWith: startedWith{environ: []string{"PATH=/usr/bin:/bin"}}}
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	huge := write("huge", "#!/bin/sh\n#GPUSCHED -g 2\n")
	if err := os.Truncate(filepath.Join(dir, huge), 1<<30); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"fifo":                          "no script",
		".":                             "no script",
		"nothere":                       "no script",
		write("empty", ""):              "no script",
		write("binary", "\x7fELF\x00"):  "no script",
		write("text", "#GPUSCHED -g 2"): "no script",
		huge:                            "comments before its first command",
		write("comments", "#!/bin/sh\n"+strings.Repeat("# a comment\n", maxScriptHead/10)): "comments before its first command",
		write("long", "#!/bin/sh\n#GPUSCHED -n "+strings.Repeat("x", 1<<20)):               "comments before its first command",
		write("nul", "#!/bin/sh\n#GPUSCHED -n a\x00b"):                                     "line 2: there is a NUL byte in it",
		write("utf8", "#!/bin/sh\n\n#GPUSCHED -n \xff"):                                    "line 3: \"\\xff\" is not text in UTF-8",
		write("windows", "#!/bin/sh\n#SBATCH -t 5\r\nls"):                                  "line 2: it has the line end of Windows",
		write("command", "#!/bin/sh\n#GPUSCHED ls"):                                        "the command is the script itself",
		write("plain", "#!/bin/sh\nls"):                                                    "",
		write("noend", "#!/bin/sh"):                                                        "",
	} {
		s, err := a.scriptOf(dir, "./"+name)
		if err == nil && s != nil {
			p, failed := newSubmitParser()
			if failed != nil {
				t.Fatal(failed)
			}
			_, err = s.options(p, false)
		}
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case s == nil:
			got = "no script"
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}

// TestInterpreterLine: the first line is read as the kernel does.
func TestInterpreterLine(t *testing.T) {
	for line, want := range map[string]string{
		"#!/bin/sh": "/bin/sh", "#! /bin/sh -e ": "/bin/sh|-e", "#!/usr/bin/env -S python -u": "/usr/bin/env|-S python -u",
		"#!\t/bin/sh\t-e x": "/bin/sh|-e x", "#!": "", "#!/bin/sh\r": "/bin/sh\r",
	} {
		var s scriptFile
		if s.readInterpreter(line); strings.Join(s.interpreter, "|") != want {
			t.Errorf("%q: %q, not %q", line, s.interpreter, want)
		}
	}
}

// FuzzScript reads any script: it is none, it is wrong, or its options are those of a
// submission.
func FuzzScript(f *testing.F) {
	for _, text := range []string{"#!/bin/sh\n#SBATCH -t 5 --gres=gpu:2\n#GPUSCHED -n x\nls", "#!x\n#GPUSCHED '", "#!/bin/sh\r\n#SBATCH -H\r\n", "#!\n\n#GPUSCHED"} {
		f.Add(text)
	}
	p, err := newSubmitParser()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := scriptFile{name: "x"}
		is, err := s.read(strings.NewReader(text))
		if is != strings.HasPrefix(text, "#!") {
			t.Fatalf("%q is a script: %v", text, is)
		}
		if !is || err != nil {
			return
		}
		if o, err := s.options(p, false); err == nil {
			if err := checkOwn(p, o.words); err != nil {
				t.Fatalf("%q gives %q: %v", text, o.words, err)
			}
		}
	})
}
