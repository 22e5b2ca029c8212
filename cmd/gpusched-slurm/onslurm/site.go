package onslurm

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
)

// siteKept is for how long what is known of a site counts: asking for it takes longer than a submission.
const siteKept = 10 * time.Minute

// site is what a request is said by: from the file of an earlier call, or else, or if it is to be fresh,
// asked for.
func (e *Engine) site(ctx context.Context, anew bool) (s sbatch.Site, fresh bool, err error) {
	path := e.siteFile()
	if !anew && readSite(path, e.uid, &s) {
		s.Options = e.slurm.Options
		return s, false, nil
	}
	if s, err = e.askSite(ctx); err != nil {
		return s, true, err
	}
	writeSite(path, &s)
	s.Options = e.slurm.Options
	return s, true, nil
}

// siteFile is where that is kept, "" where there is no place: in the user's cache, by the cluster. Root has
// none: its HOME may be that of the user who called sudo, and a link there leads anywhere.
func (e *Engine) siteFile() string {
	if e.uid == 0 {
		return ""
	}
	dir := e.slurm.Variable("XDG_CACHE_HOME")
	if dir == "" {
		dir = filepath.Join(e.slurm.Variable("HOME"), ".cache")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(e.slurm.Variable("SLURM_CONF") + "\x00" + e.slurm.Variable("PATH")))
	return filepath.Join(dir, "gpusched", fmt.Sprintf("slurm-%016x.json", h.Sum64()))
}

// readSite reports whether a file of the user's own, and not an old one, had it.
func readSite(path string, uid int, s *sbatch.Site) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if path == "" || err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return false
	}
	age := time.Since(info.ModTime())
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != uid || age < 0 || age > siteKept {
		return false
	}
	return json.NewDecoder(f).Decode(s) == nil
}

// writeSite keeps it for the next call. Where that fails, the next one asks again.
func writeSite(path string, s *sbatch.Site) {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".slurm-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	err = json.NewEncoder(f).Encode(s)
	if f.Close() == nil && err == nil {
		_ = os.Rename(f.Name(), path)
	}
}

// askSite asks Slurm. Of what its accounting knows nothing is needed.
func (e *Engine) askSite(ctx context.Context) (sbatch.Site, error) {
	config, err := e.slurm.Config(ctx)
	if err != nil {
		return sbatch.Site{}, err
	}
	nodes, err := e.nodes(ctx)
	if err != nil {
		return sbatch.Site{}, err
	}
	s := siteOf(config, nodes)
	s.Home, s.Admin = e.slurm.Variable("HOME"), e.uid == 0
	if qos, err := e.slurm.Ask(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "assoc", "where",
		"user="+e.slurm.Variable("USER"), "format=QOS"); err == nil {
		for line := range strings.Lines(string(qos)) {
			s.QOS = append(s.QOS, strings.Split(strings.TrimSpace(line), ",")...)
		}
		slices.Sort(s.QOS)
		s.QOS = slices.Compact(s.QOS)
	}
	return s, nil
}

func siteOf(config map[string]string, nodes []node) (s sbatch.Site) {
	s.Version, _ = sbatch.ParseVersion(config["SLURM_VERSION"])
	s.MaxArraySize, _ = strconv.Atoi(config["MaxArraySize"])
	if n, err := strconv.Atoi(strings.TrimSuffix(config["KillWait"], " sec")); err == nil {
		s.KillWait = time.Duration(n) * time.Second
	}
	for _, n := range nodes {
		for _, g := range n.gpus {
			if g.kind != "" {
				s.GPUTypes = append(s.GPUTypes, g.kind)
			}
		}
		s.Features = append(s.Features, n.features...)
		if len(n.gpus) > 0 {
			s.MPS = least(s.MPS, gresCount(n.gres, "mps")/len(n.gpus))
		}
	}
	s.Shards, s.MostShards, s.ShardBytes = shardsOf(nodes)
	slices.Sort(s.GPUTypes)
	slices.Sort(s.Features)
	s.GPUTypes, s.Features = slices.Compact(s.GPUTypes), slices.Compact(s.Features)
	return s
}

// shardsOf are how many shards a GPU has at least and at most, and what one of them is. Where nodes say both what a
// shard and what a GPU has, not every GPU of theirs need have shards.
func shardsOf(nodes []node) (fewest, most int, bytes int64) {
	known := true
	for _, n := range nodes {
		count := gresCount(n.gres, "shard")
		if count == 0 || len(n.gpus) == 0 {
			continue
		}
		shard, gpu := n.memory(sbatch.ShardMem), n.memory(sbatch.FeatureMem)
		per := count / len(n.gpus)
		if shard > 0 && gpu > 0 {
			per = min(count, int(gpu/shard))
		}
		fewest, most = least(fewest, per), max(most, per)
		if known = known && shard > 0; known && (bytes == 0 || shard < bytes) {
			bytes = shard
		}
	}
	if !known {
		bytes = 0
	}
	return fewest, most, bytes
}

// memory is what the first feature of a node says that is about one, 0 where none is.
func (n *node) memory(of func(feature string) (int64, bool)) int64 {
	for _, f := range n.features {
		if bytes, ok := of(f); ok {
			return bytes
		}
	}
	return 0
}

// least is the smaller one of two amounts, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// gresCount counts a resource in "gpu:a100:4,shard:a100:16".
func gresCount(gres, name string) (total int) {
	for part := range strings.SplitSeq(gres, ",") {
		part, _, _ = strings.Cut(part, "(")
		words := strings.Split(part, ":")
		if n, err := strconv.Atoi(words[len(words)-1]); err == nil && words[0] == name {
			total += n
		}
	}
	return total
}
