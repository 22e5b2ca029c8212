package jobsfile

import (
	"fmt"
	"strings"
	"testing"
)

// summary returns a short text for an entry.
func summary(e Entry) string {
	if e.Err != nil {
		return fmt.Sprintf("%d! %v", e.Number, e.Err)
	}
	text := fmt.Sprintf("%d p%d", e.Number, e.Priority)
	for _, f := range []struct{ name, value string }{{"run", e.Command}, {"script", e.Script}, {"args", e.Args}, {"conda", e.Conda}, {"gpus", e.GPUs}, {"from", e.From}} {
		if f.value != "" {
			text += " " + f.name + "[" + f.value + "]"
		}
	}
	if e.Open {
		text += " open"
	}
	return text
}

// Each format is read in the way that the tools' documentation shows.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
		want   []string
	}{
		{Commands, "# comments start with #\npython train_resnet.py\n\npython process_data.py --workers 4\n", []string{
			"2 p0 run[python train_resnet.py]", "4 p0 run[python process_data.py --workers 4]",
		}},
		{Commands, "\r\npython a.py\r\npython b.py", []string{"2 p0 run[python a.py]", "3 p0 run[python b.py] open"}},
		{Columns, "# Comments start with #\n" +
			"0,/path/to/train.py,pytorch_env,--llm qwen2.5-7b-inst --epochs 100,0-3\n" +
			"1,/path/to/eval.py,pytorch_env,--llm qwen2.5-3b-inst --dataset test,\n" +
			"2,/path/to/inference.py,,--llm qwen2.5-32b-inst --batch_size 1,4,5,6,7\n", []string{
			"2 p0 script[/path/to/train.py] args[--llm qwen2.5-7b-inst --epochs 100] conda[pytorch_env] from[0-3]",
			"3 p1 script[/path/to/eval.py] args[--llm qwen2.5-3b-inst --dataset test] conda[pytorch_env]",
			"4 p2 script[/path/to/inference.py] args[--llm qwen2.5-32b-inst --batch_size 1] from[4,5,6,7]",
		}},
		{Columns, "# Priority, Script, Conda_Env, Arguments, Allowed_GPUs\n" +
			"0,/data3/experiments/evaluate.py,ml_env,--llm qwen2.5-3b-inst --mode test,0-3\n" +
			"2,/data3/experiments/inference.py,,--model large --batch_size 32,\n", []string{
			"2 p0 script[/data3/experiments/evaluate.py] args[--llm qwen2.5-3b-inst --mode test] conda[ml_env] from[0-3]",
			"3 p2 script[/data3/experiments/inference.py] args[--model large --batch_size 32]",
		}},
		{Columns, "priority,script_path,conda_env\n 3 , a.py \n0,b.py,,,,,,\n1,c.py,,\"--name \"\"a, b\"\"\", 0-3,\n" +
			"1,d.py,,--name \"a, b\" --x 1,\"0,1\"\n-5,e.py\n", []string{
			"2 p3 script[a.py]", "3 p0 script[b.py]", `4 p1 script[c.py] args[--name "a, b"] from[0-3]`,
			`5 p1 script[d.py] args[--name "a, b" --x 1] from[0,1]`, "6 p-5 script[e.py]",
		}},
		{Columns, "0,a.py\nx,b.py\n1\n1,\n1,c.py,\"x\n1,d.py,e,--x 'y\n1,e.py,\"x\"y\n99999999,f.py\n1,g\x00.py\n", []string{
			"1 p0 script[a.py]", `2! "x" is not a priority: use a number`,
			"3! it has no script: a line is priority,script,conda,arguments,allowed_gpus",
			"4! it has no script: a line is priority,script,conda,arguments,allowed_gpus",
			"5! a quotation mark is not closed", "6! a quotation mark is not closed",
			`7! a quoted column must end with a comma, not with "y"`, `8! "99999999" is not a priority: use a number`,
			"9! there is a NUL byte in it",
		}},
		{Spec, "command: python train.py\nnum_gpus: 2\npriority: 5\n", []string{"1 p5 run[python train.py] gpus[2] open"}},
		{Spec, "# two\n- command: \"python a.py\"\n  num_gpus: 1 # one\n- command: python -c 'x: 1'\n\n---\npriority: 1\ncommand: b\ncommand: c\n\n", []string{
			"2 p0 run[python a.py] gpus[1]", "4 p0 run[python -c 'x: 1']", "7 p1 run[b]", "9 p0 run[c]",
		}},
		{Spec, "num_gpus: 1\n\ncommand: a\ngpus: 2\n\ncommand: b\npriority: high\n\nhello\n", []string{
			"1! there is no command: here", `3! "gpus" is not known: there are command, num_gpus, priority`,
			`6! "high" is not a priority: use a number`, `9! "hello" is not KEY: VALUE`,
		}},
	} {
		if got := Detect(c.text); got != c.format {
			t.Errorf("%q is %s, not %s", c.text, got, c.format)
		}
		var got []string
		for _, e := range Parse(c.format, c.text) {
			got = append(got, summary(e))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%q is\n%s\nnot\n%s", c.text, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	if Detect("") != Commands || Detect("command -v python\n") != Commands || Detect("echo 1, 2\n") != Commands {
		t.Error("any other text should be commands")
	}
}

// Entries that run the same thing are the same job, wherever they are in the file.
func TestIdentity(t *testing.T) {
	one := func(line string) string {
		list := Parse(Detect(line), line)
		return list[0].Identity()
	}
	for _, same := range [][2]string{{"0,a.py,e,--x 1,0-3", "7,a.py,e,--x 1"}, {"0,a.py", "0, a.py,,,"}, {"command: a\npriority: 5", "command: a"}, {"ls", " ls "}} {
		if one(same[0]) != one(same[1]) {
			t.Errorf("%q is not %q", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{"0,a.py,e", "0,a.py,,e"}, {"0,a.py", "0,b.py"}, {"command: a\nnum_gpus: 2", "command: a"}} {
		if one(other[0]) == one(other[1]) {
			t.Errorf("%q is %q", other[0], other[1])
		}
	}
}

// FuzzParse checks that each entry of any file is a job or has an error, and that the line of the
// entry is in the file. A line that Column has written must be read back unchanged.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"0,a.py,e,--x \"1, 2\",0-3\n", "command: x\nnum_gpus: 2\n", "ls | wc\n# c\n", "1,\"a\"\"b\",,\n", "- command: 'x'\n---\n", "\xff\x00,", "0,a.py,,,\" 2\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		last := 0
		for _, e := range Parse(Detect(text), text) {
			if e.Number <= last || e.Number > lines {
				t.Fatalf("%q: line %d after %d", text, e.Number, last)
			}
			last = e.Number
			if e.Err == nil && (e.Command == "") == (e.Script == "") {
				t.Fatalf("%q: %+v", text, e)
			}
			if e.Err != nil || e.Script == "" || strings.Contains(e.From, `"`) {
				continue
			}
			again := Parse(Columns, Column(e))
			if len(again) != 1 || again[0].Err != nil || again[0].Identity() != e.Identity() || again[0].From != e.From {
				t.Fatalf("%q: %+v is written %q and read %+v", text, e, Column(e), again)
			}
		}
	})
}
