package estimate

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
)

// These bounds are far above the values of any real model.
const (
	maxHeader = 100 << 20 // bytes of a safetensors header; the same bound as in the format
	maxShards = 4096
)

// weights are the sizes of a model's weights, as its files declare them.
type weights struct {
	bytes  int64
	params int64 // 0 if only the number of bytes is known
}

// weightsOf reads the headers of a model's safetensors files. If some of the files are missing, it
// reads only their index.
func weightsOf(dir string) (w weights, err error) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if index, err := readIndex(dir); err == nil && index.Metadata.TotalSize > 0 {
		shards := map[string]bool{}
		for _, name := range index.WeightMap {
			shards[filepath.Base(name)] = true
		}
		present := slices.DeleteFunc(files, func(f string) bool { return !shards[filepath.Base(f)] })
		if len(present) < len(shards) { // some files have not been downloaded
			return weights{bytes: int64(index.Metadata.TotalSize)}, nil
		}
		files = present
	}
	if len(files) == 0 || len(files) > maxShards {
		return w, fmt.Errorf("there is no safetensors file and no index of them in %q", dir)
	}
	for _, file := range files {
		if err := w.add(file); err != nil {
			return w, fmt.Errorf("%q: %w", file, err)
		}
	}
	return w, nil
}

// weightIndex is the content of model.safetensors.index.json.
type weightIndex struct {
	Metadata struct {
		TotalSize float64 `json:"total_size"`
	} `json:"metadata"`
	WeightMap map[string]string `json:"weight_map"`
}

func readIndex(dir string) (index weightIndex, err error) {
	err = readJSON(filepath.Join(dir, "model.safetensors.index.json"), &index)
	if err == nil && (index.Metadata.TotalSize > 1<<60 || len(index.WeightMap) == 0) {
		err = fmt.Errorf("it lists no files")
	}
	return index, err
}

// readJSON reads a JSON file. It refuses files that are not regular, since a pipe could block.
func readJSON(path string, to any) error {
	if info, err := os.Stat(path); err != nil {
		return err
	} else if !info.Mode().IsRegular() || info.Size() > maxHeader {
		return fmt.Errorf("it is not a JSON file that can be read")
	}
	text, err := jobenv.ReadAtMost(path, maxHeader)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// add adds the tensors that a file's header declares.
func (w *weights) add(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var size [8]byte
	if _, err := io.ReadFull(f, size[:]); err != nil {
		return fmt.Errorf("it is shorter than a safetensors file")
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > maxHeader || int64(n) > info.Size()-8 {
		return fmt.Errorf("it is not a safetensors file, or damaged")
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(f, header); err != nil {
		return err
	}
	var tensors map[string]struct {
		Shape []int64 `json:"shape"`
		DType string  `json:"dtype"`
	}
	if err := json.Unmarshal(header, &tensors); err != nil {
		return fmt.Errorf("its header is damaged: %w", err)
	}
	for name, t := range tensors {
		if name == "__metadata__" {
			continue
		}
		count := int64(1)
		for _, side := range t.Shape {
			if side < 0 || side > 0 && count > 1<<50/side {
				return fmt.Errorf("its tensor %q has an impossible size", name)
			}
			count *= side
		}
		w.params += count
		w.bytes += int64(float64(count) * dtypeBytes(t.DType))
	}
	return nil
}

// dtypeBytes returns how many bytes a number of this type takes. The type is named as in
// safetensors or config.json. An unknown type counts as 2 bytes, as in most models.
func dtypeBytes(name string) float64 {
	switch strings.ToLower(strings.TrimPrefix(name, "torch.")) {
	case "f64", "i64", "u64", "float64", "int64":
		return 8
	case "f32", "i32", "u32", "float32", "int32":
		return 4
	case "i8", "u8", "bool", "f8_e4m3", "f8_e5m2", "float8_e4m3fn", "int8", "uint8":
		return 1
	}
	return 2
}
