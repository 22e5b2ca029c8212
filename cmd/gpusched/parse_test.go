package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// scriptLines are the command lines of gpusched in the scripts.
func scriptLines(t *testing.T) (list [][]string) {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if words, err := splitWords(strings.TrimRight(line, "\n")); err == nil {
				if i := slices.Index(words, "gpusched"); i >= 0 && i < 4 {
					list = append(list, words[i+1:])
				}
			}
		}
	}
	return list
}

// agree holds the short parser against the whole grammar: what it takes the other takes, too, and
// means the same by it. It reports whether it took it.
func agree(t *testing.T, args []string) bool {
	t.Helper()
	args = withCommand(args)
	short := usual(args[0])
	if short == nil || !parse(short, args[1:]) {
		return false
	}
	helped := false
	p, err := newParser(grammarFor(args), io.Discard, func(int) { helped = true })
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.Parse(args)
	if err != nil || helped {
		t.Fatalf("%q is taken, and the grammar says %v, help: %v", args, err, helped)
	}
	if err := legible(k, args); err != nil {
		t.Errorf("%q is taken, and %v", args, err)
	}
	whole := k.Selected().Target.Addr().Interface()
	moment := func(w string) bool {
		return strings.HasPrefix(w, "--since") || strings.HasPrefix(w, "--until") || strings.HasPrefix(w, "--begin")
	}
	if !slices.ContainsFunc(args, moment) && !reflect.DeepEqual(whole, any(short)) {
		t.Errorf("%q is\n%+v\nand to the grammar\n%+v", args, short, whole)
	}
	return true
}

func TestTheShortParserAgrees(t *testing.T) {
	lines := scriptLines(t)
	taken := 0
	for _, args := range lines {
		if agree(t, args) {
			taken++
		}
	}
	if len(lines) < 500 || taken < len(lines)/2 {
		t.Errorf("%d of %d lines are taken", taken, len(lines))
	}
}

// The forms in which options are written, alone and before others.
func TestTheShortParserAgreesOnForms(t *testing.T) {
	forms := strings.Split(`-a|-aw|--all|--all=false|-w -a|-o|-o ids|-oids|-o=ids|--output|--output=ids|--output ids|-o -|-o nosuch|--json|--sort|--sort -elapsed|--sort=-elapsed|--waiting 3|--waiting=0x10|--waiting -1|--waiting=-1|--waiting x|-n a|-na|-n=a|--name=|--mine|--user bob|-u bob|--tag a=b|--tag a,b|--tag=|--jobs-only|--gpus-only|--nosuch|-Z|--help|-h|--help-all|--|-|5|5 6|x,y|-g2|-g 0.5|-t 90m|-t|--time=2h|-c 4|--gpu-ids 0,2|--exclude-gpus=1|--gpu-mem auto|--mem 3G|-p low|-p -5|-p5|--priority=-5|--requeue|--no-requeue|--requeue=false|--hold|--retries 0|--env clean|--env nosuch|-e A=b|-eA|-e|-q|-v|--signal USR1@60s|--gpu-visible uuid|-C /tmp|--after 3|--once|--no-hold|--detailed|--plan|--follow|-f|echo|-- echo -x|echo -- y|é|-é`, "|")
	words := strings.Fields("list submit run exec show why cancel wait logs status history update version nosuch")
	taken := 0
	for _, word := range words {
		for _, a := range forms {
			for _, b := range []string{"", "-a", "-o ids", "5", "--", "echo -x", "--mine", "-q"} {
				if agree(t, slices.Concat([]string{word}, strings.Fields(a), strings.Fields(b))) {
					taken++
				}
			}
		}
	}
	if taken < 500 {
		t.Errorf("%d are taken", taken)
	}
}

// Of each usual command the short parser knows all options and arguments.
func TestTheShortParserKnowsAllOptions(t *testing.T) {
	for _, n := range model(t).Children {
		c := usual(n.Name)
		if c == nil {
			continue
		}
		for _, word := range n.Aliases {
			if reflect.TypeOf(usual(word)) != reflect.TypeOf(c) {
				t.Errorf("%s is not %s", word, n.Name)
			}
		}
		if reflect.TypeOf(c).Elem() != n.Target.Type() {
			t.Errorf("%s is %T, and to the grammar %s", n.Name, c, n.Target.Type())
		}
		var p parser
		p.add(reflect.ValueOf(c).Elem())
		var short, whole []string
		for _, f := range p.flags {
			short = append(short, f.name+" "+f.short)
		}
		for _, f := range n.Flags {
			letter := ""
			if f.Short != 0 {
				letter = string(f.Short)
			}
			whole = append(whole, f.Name+" "+letter)
		}
		if !slices.Equal(short, whole) || len(p.args) != len(n.Positional) {
			t.Errorf("%s has %q, and to the grammar %q", n.Name, short, whole)
		}
	}
}

func TestWhatIsUsualNeedsNoGrammar(t *testing.T) {
	for _, line := range []string{
		"", "--json", "version", "list", "ls -a", "queue --mine -o ids", "list --state failed --since 2h", "status --detailed", "show 5", "show",
		"why 7_3", "wait 5 6", "cancel --mine", "logs -f 5", "submit -g 2 -t 12h -n big -- torchrun --standalone train.py", "submit echo x",
		"submit --after-ok @ --tag a=b -e A=b -e C -q true", "run -g1 python train.py", "update 5 --priority high", "gpus", "history --since 7d",
	} {
		args := withCommand(strings.Fields(line))
		if c := usual(args[0]); c == nil || !parse(c, args[1:]) {
			t.Errorf("%q needs the whole grammar", line)
		}
	}
}
