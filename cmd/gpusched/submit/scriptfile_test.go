package submit

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
)

// The options of any file are read in a short time. If they can't be read, the error is clear.
func TestReadingAnyScriptEnds(t *testing.T) {
	dir := t.TempDir()
	a := &cli.App{Env: cli.Env{Environ: []string{"PATH=/usr/bin:/bin"}}}
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
		write("comments", "#!/bin/sh\n"+strings.Repeat("# a comment\n", MaxScriptHead/10)): "comments before its first command",
		write("long", "#!/bin/sh\n#GPUSCHED -n "+strings.Repeat("x", 1<<20)):               "comments before its first command",
		write("nul", "#!/bin/sh\n#GPUSCHED -n a\x00b"):                                     "line 2: it contains a NUL byte",
		write("utf8", "#!/bin/sh\n\n#GPUSCHED -n \xff"):                                    "line 3: \"\\xff\" is not text in UTF-8",
		write("windows", "#!/bin/sh\n#SBATCH -t 5\r\nls"):                                  "line 2: it has a Windows line ending",
		write("command", "#!/bin/sh\n#GPUSCHED ls"):                                        "the command is the script itself",
		write("indented", "#!/bin/sh\n  # a comment\n \n#GPUSCHED ls"):                     "line 4: ",
		write("close", "#!/bin/sh\n#SBATCH--bogus"):                                        "line 2: ",
		write("plain", "#!/bin/sh\nls"):                                                    "",
		write("noend", "#!/bin/sh"):                                                        "",
	} {
		s, err := scriptOf(a, dir, "./"+name)
		if err == nil && s != nil {
			p, failed := NewSubmitParser()
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

// The first line is parsed as the kernel parses it.
func TestReadInterpreter(t *testing.T) {
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

// FuzzScript reads arbitrary files. Each file is no script, is refused, or contains valid options.
func FuzzScript(f *testing.F) {
	for _, text := range []string{"#!/bin/sh\n#SBATCH -t 5 --gres=gpu:2\n#GPUSCHED -n x\nls", "#!x\n#GPUSCHED '", "#!/bin/sh\r\n#SBATCH -H\r\n", "#!\n\n#GPUSCHED"} {
		f.Add(text)
	}
	p, err := NewSubmitParser()
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

// A file is not trusted if other users may have written or replaced it. The caller's file in a
// directory such as /tmp is trusted.
func TestStrangersIn(t *testing.T) {
	own := &cli.App{Env: cli.Env{UID: os.Getuid(), Environ: []string{"PATH=/usr/bin:/bin"}}}
	other := &cli.App{Env: cli.Env{UID: os.Getuid() + 1, Environ: own.Environ}}
	if os.Getuid() == 0 { // root's files are always trusted, so give them to another user
		other.UID = 4711
	}
	for name, c := range map[string]struct {
		file, dir os.FileMode
		a         *cli.App
		want      string // "" means that the file is trusted
	}{
		"own":                      {0o644, 0o755, own, ""},
		"all write":                {0o646, 0o755, own, "can be written by others"},
		"all write the directory":  {0o644, 0o757, own, "directory that others can write"},
		"a directory such as /tmp": {0o644, 0o777 | os.ModeSticky, own, ""},
		"another's":                {0o644, 0o755, other, "belongs to "},
		"another's in /tmp":        {0o755, 0o777 | os.ModeSticky, other, "belongs to "},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		path, link := filepath.Join(dir, "pyhton"), filepath.Join(filepath.Dir(dir), "link")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 && c.a == other {
			_ = os.Chown(path, 4712, 4712)
		}
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		for at, mode := range map[string]os.FileMode{path: c.file, dir: c.dir} {
			if err := os.Chmod(at, mode); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{path, link} {
			got := jobenv.StrangersIn(c.a, at, info)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) && !strings.Contains(got, "belongs to ") {
				t.Errorf("%s, as %s: %q, not %q", name, filepath.Base(at), got, c.want)
			}
		}
		s, err := scriptOf(c.a, dir, "pyhton")
		if err != nil || (s != nil) != (c.want == "") {
			t.Errorf("%s: as a program %v, %v", name, s, err)
		}
		if s, err := scriptOf(c.a, dir, "./pyhton"); s == nil || err != nil {
			t.Errorf("%s: with a path %v, %v", name, s, err)
		}
	}
}
