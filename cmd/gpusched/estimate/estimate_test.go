package estimate

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
)

// modelDir makes a model of 7 billion parameters of 16 bits. Its only weight file has a header and
// a hole instead of data.
func modelDir(t *testing.T, config, header string) string {
	t.Helper()
	dir := t.TempDir()
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	for name, text := range map[string]string{"config.json": config, "model.safetensors": string(file)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	smallConfig = `{"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "vocab_size": 32000, "torch_dtype": "bfloat16"}`
	smallHeader = `{"__metadata__": {"format": "pt"}, "w": {"dtype": "BF16", "shape": [7000, 1000, 1000], "data_offsets": [0, 14000000000]}}`
)

// The terms follow the formulas, for inference and for training. It makes no difference whether all
// files or only the index are there.
func TestEstimate(t *testing.T) {
	dir := modelDir(t, smallConfig, smallHeader)
	check := func(c Cmd, dir string, want map[string]int64) {
		t.Helper()
		doc, err := c.estimate(dir)
		if err != nil || doc.Params != 7e9 || len(doc.Terms) == 0 {
			t.Fatalf("%+v, %v", doc, err)
		}
		for _, e := range doc.Terms {
			if n, ok := want[e.Name]; ok && n != e.Bytes {
				t.Errorf("%s: %d, want %d", e.Name, e.Bytes, n)
			}
		}
	}
	inference := map[string]int64{"weights": 14e9, "KV cache": 2 * 4096 * 32 * 2 * 8 * 128 * 2}
	check(Cmd{Context: 4096, Batch: 2}, dir, inference)
	check(Cmd{Context: 4096, Batch: 2, Train: true}, dir, map[string]int64{
		"weights": 14e9, "gradients": 14e9, "optimizer": 84e9, "activations": 2 * 4096 * (2*4096*32 + 6*32000),
	})
	index := `{"metadata": {"total_size": 14000000000}, "weight_map": {"w": "model-1.safetensors", "v": "model-2.safetensors"}}`
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(index), 0o644); err != nil {
		t.Fatal(err)
	}
	check(Cmd{Context: 4096, Batch: 2}, dir, inference)
	check(Cmd{Context: 4096, Batch: 2}, modelDir(t, `{"text_config": `+smallConfig+`}`, smallHeader), inference)
}

// Damaged and malicious files are refused with clear errors.
func TestEstimateRefuses(t *testing.T) {
	for want, dir := range map[string]string{
		"config.json":                   modelDir(t, `{`, smallHeader),
		"the number of layers":          modelDir(t, `{}`, smallHeader),
		"its header is damaged":         modelDir(t, smallConfig, `[`),
		"has an impossible size":        modelDir(t, smallConfig, `{"w": {"dtype": "F16", "shape": [1125899906842624, 1048576]}}`),
		"impossible values":             modelDir(t, `{"num_hidden_layers": 1e300, "num_attention_heads": 1, "hidden_size": 1e300}`, smallHeader),
		"there is no safetensors file":  t.TempDir(),
		"it is not a safetensors file,": modelDir(t, smallConfig, ""),
	} {
		if want == "there is no safetensors file" {
			os.WriteFile(filepath.Join(dir, "config.json"), []byte(smallConfig), 0o644)
		}
		if want == "it is not a safetensors file," {
			os.WriteFile(filepath.Join(dir, "model.safetensors"), []byte("\xff\xff\xff\xff\xff\xff\xff\x7f"), 0o644)
		}
		c := Cmd{Context: 4096, Batch: 1}
		if doc, err := c.estimate(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, doc, err)
		}
	}
}

func TestFlagsFor(t *testing.T) {
	for _, c := range []struct {
		bytes, size int64
		want        string
	}{
		{10 << 30, 0, "-g 1 --gpu-mem 10G"}, {10<<30 + 1, 0, "-g 1 --gpu-mem 11G"}, {20 << 30, 80 << 30, "-g 0.25 --gpu-mem 20G"},
		{79 << 30, 80 << 30, "-g 1 --gpu-mem 79G"}, {100 << 30, 80 << 30, "-g 2 --gpu-mem 50G"},
		{95 << 29, 3<<34 - 1<<28, "-g 1 --gpu-mem 47.5G"}, {3*(3<<34-1<<28) - 5, 3<<34 - 1<<28, "-g 3 --gpu-mem 47.7G"},
	} {
		if got := flagsFor(c.bytes, c.size); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.bytes, c.size, got, c.want)
		}
	}
}

func TestAModelIsFoundInTheCache(t *testing.T) {
	home := t.TempDir()
	snapshot := filepath.Join(home, "hub/models--Qwen--Q-7B/snapshots/abc")
	if err := os.MkdirAll(snapshot, 0o755); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(snapshot, "config.json"), []byte("{}"), 0o644)
	at := jobenv.Surroundings{Dir: ".", Getenv: func(name string) string { return map[string]string{"HF_HOME": home}[name] }}
	if dir, err := model(at, "Qwen/Q-7B"); err != nil || dir != snapshot {
		t.Errorf("%q, %v", dir, err)
	}
	if _, err := model(at, "Qwen/Q-8B"); err == nil || !strings.Contains(err.Error(), "did you mean Qwen/Q-7B?") {
		t.Error(err)
	}
	if _, err := model(at, "../../etc"); err == nil {
		t.Error("found")
	}
}
