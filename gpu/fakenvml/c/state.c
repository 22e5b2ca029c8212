#define _GNU_SOURCE
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

const char *fake_dir(void)
{
	const char *dir = getenv("FAKENVML_DIR");
	return dir && *dir ? dir : "/run/fakenvml";
}

static void gpu_default(struct fake_gpu *g, int index)
{
	memset(g, 0, sizeof *g);
	snprintf(g->uuid, sizeof g->uuid, "GPU-fa4e0000-0000-4000-8000-%012d", index);
	snprintf(g->name, sizeof g->name, "NVIDIA A100-SXM4-80GB");
	snprintf(g->pci, sizeof g->pci, "00000000:%02X:00.0", 7 + 8 * index);
	g->minor = index;
	g->mem_mib = 81920;
	g->reserved_mib = 700;
	g->temp = 34;
	g->power_mw = 62000;
	g->limit_mw = 400000;
	g->energy_mj = -1;
	g->lanes = 4;
	g->numa = -1;
	g->recovery = -1;
}

static int set_text(char *to, size_t size, const char *value)
{
	return snprintf(to, size, "%s", value) < (int)size;
}

static int set_int(int *to, const char *value)
{
	char *end;
	long n = strtol(value, &end, 10);
	*to = (int)n;
	return *value && !*end;
}

static int set_size(long long *to, const char *value)
{
	char *end;
	*to = strtoll(value, &end, 10);
	return *value && !*end;
}

int fake_cpus(const char *list, unsigned long *mask, unsigned int words)
{
	const unsigned int bits = 8 * sizeof *mask;
	memset(mask, 0, words * sizeof *mask);
	for (const char *p = list; *p;) {
		char *end;
		unsigned long from = strtoul(p, &end, 10), to = from;
		if (end == p)
			return -1;
		if (*end == '-') {
			p = end + 1;
			to = strtoul(p, &end, 10);
			if (end == p)
				return -1;
		}
		if (to < from || to >= words * bits || (*end && *end != ','))
			return -1;
		for (; from <= to; from++)
			mask[from / bits] |= 1UL << from % bits;
		p = *end ? end + 1 : end;
	}
	return 0;
}

static int set_cpus(char *to, size_t size, const char *value)
{
	unsigned long mask[128];
	return set_text(to, size, value) && fake_cpus(value, mask, 128) == 0;
}

static int gpu_set(struct fake_gpu *g, const char *key, const char *value)
{
	if (!strcmp(key, "uuid")) return set_text(g->uuid, sizeof g->uuid, value);
	if (!strcmp(key, "name")) return set_text(g->name, sizeof g->name, value);
	if (!strcmp(key, "pci")) return set_text(g->pci, sizeof g->pci, value);
	if (!strcmp(key, "minor")) return set_int(&g->minor, value);
	if (!strcmp(key, "temp")) return set_int(&g->temp, value);
	if (!strcmp(key, "util")) return set_int(&g->util, value);
	if (!strcmp(key, "slices")) return set_text(g->slices, sizeof g->slices, value);
	if (!strcmp(key, "mig")) return set_int(&g->mig, value);
	if (!strcmp(key, "mode")) return set_int(&g->mode, value);
	if (!strcmp(key, "rows_pending")) return set_int(&g->rows_pending, value);
	if (!strcmp(key, "rows_failed")) return set_int(&g->rows_failed, value);
	if (!strcmp(key, "recovery")) return set_int(&g->recovery, value);
	if (!strcmp(key, "lost")) return set_int(&g->lost, value);
	if (!strcmp(key, "energy_ms")) return set_int(&g->energy_ms, value);
	if (!strcmp(key, "hang")) return set_int(&g->hang, value);
	if (!strcmp(key, "error")) return set_int(&g->error, value);
	if (!strcmp(key, "cuda")) return set_int(&g->cuda, value);
	if (!strcmp(key, "unified")) return set_int(&g->unified, value);
	if (!strcmp(key, "mem_node")) return set_int(&g->mem_node, value);
	if (!strcmp(key, "slow_ms")) return set_int(&g->slow_ms, value);
	if (!strcmp(key, "island")) return set_int(&g->island, value);
	if (!strcmp(key, "lanes")) return set_int(&g->lanes, value);
	if (!strcmp(key, "nvswitch")) return set_int(&g->nvswitch, value);
	if (!strcmp(key, "numa")) return set_int(&g->numa, value);
	if (!strcmp(key, "bridge")) return set_int(&g->bridge, value);
	if (!strcmp(key, "pcie")) return set_int(&g->pcie, value);
	if (!strcmp(key, "cpus")) return set_cpus(g->cpus, sizeof g->cpus, value);
	if (!strcmp(key, "mem_mib")) return set_size(&g->mem_mib, value);
	if (!strcmp(key, "reserved_mib")) return set_size(&g->reserved_mib, value);
	if (!strcmp(key, "used_mib")) return set_size(&g->used_mib, value);
	if (!strcmp(key, "power_mw")) return set_size(&g->power_mw, value);
	if (!strcmp(key, "limit_mw")) return set_size(&g->limit_mw, value);
	if (!strcmp(key, "energy_mj")) return set_size(&g->energy_mj, value);
	return 0;
}

// Cuts key=value or key="a value" off the front of *line. Returns 0 at the end, -1 for anything else.
static int next_pair(char **line, char **key, char **value)
{
	char *p = *line + strspn(*line, " \t\r\n");
	if (!*p)
		return 0;
	*key = p;
	p += strcspn(p, "= \t\r\n");
	if (*p != '=')
		return -1;
	*p++ = 0;
	int quoted = *p == '"';
	*value = p += quoted;
	p += strcspn(p, quoted ? "\"" : " \t\r\n");
	if (quoted && !*p)
		return -1;
	if (*p)
		*p++ = 0;
	*line = p;
	return 1;
}

static int gpu_parse(struct fake_gpu *g, char *line)
{
	char *key, *value;
	int more;
	while ((more = next_pair(&line, &key, &value)) > 0) {
		if (!gpu_set(g, key, value)) {
			fprintf(stderr, "fakenvml: %s/gpus: bad setting %s=%s\n", fake_dir(), key, value);
			return 0;
		}
	}
	if (more < 0)
		fprintf(stderr, "fakenvml: %s/gpus: not key=value: %s\n", fake_dir(), line);
	return more == 0;
}

int fake_gpus(struct fake_gpu *out, int max)
{
	char path[4096], line[1024];
	snprintf(path, sizeof path, "%s/gpus", fake_dir());
	FILE *f = fopen(path, "re");
	if (!f && errno != ENOENT) {
		fprintf(stderr, "fakenvml: %s: %s\n", path, strerror(errno));
		return -1;
	}
	if (!f) {
		int n = max < 4 ? max : 4;
		for (int i = 0; i < n; i++)
			gpu_default(&out[i], i);
		return n;
	}
	int n = 0;
	while (n < max && fgets(line, sizeof line, f)) {
		char *p = line + strspn(line, " \t\r\n");
		if (!*p || *p == '#')
			continue;
		gpu_default(&out[n], n);
		if (!gpu_parse(&out[n++], p)) {
			n = -1;
			break;
		}
	}
	fclose(f);
	return n;
}

int fake_slice(struct fake_gpu *g, int position)
{
	char list[256], profile[32], *save, *word;
	int compute, gib;
	snprintf(list, sizeof list, "%s", g->slices);
	for (word = strtok_r(list, ",", &save); word && position > 0; word = strtok_r(NULL, ",", &save))
		position--;
	if (!word || sscanf(word, "%31[^:]:%d:%d", profile, &g->gi, &g->ci) != 3 || sscanf(profile, "%dg.%dgb", &compute, &gib) != 2)
		return 0;
	char name[96];
	snprintf(name, sizeof name, "%s MIG %s", g->name, profile);
	snprintf(g->name, sizeof g->name, "%s", name);
	snprintf(g->uuid, sizeof g->uuid, "MIG-fa4e0000-%04d-4%03d-8%03d-000000000000", g->minor, g->gi, g->ci);
	g->mem_mib = 1024LL * gib;
	g->reserved_mib = 64;
	g->used_mib = 0;
	g->minor = 1000 * (g->minor + 1) + 10 * g->gi + g->ci; // in the names of claims
	return 1;
}

static void read_text(char *text, size_t size, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
}

unsigned long long fake_start_time(int pid)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	read_text(text, sizeof text, path);
	char *p = strrchr(text, ')'); // the name before ')' may contain anything
	if (!p || strlen(p) < 3 || p[2] == 'Z' || p[2] == 'X')
		return 0;
	unsigned long long start = 0;
	for (int field = 3; field <= 22 && p; field++) {
		p = strchr(p, ' ');
		if (p && field == 22)
			start = strtoull(p + 1, NULL, 10);
		else if (p)
			p++;
	}
	return start ? start : 1;
}

int fake_frozen(int pid)
{
	char path[4096], text[4096], events[512], *group;
	snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
	read_text(text, sizeof text, path);
	if (!(group = strstr(text, "0::")))
		return 0;
	group[strcspn(group, "\n")] = 0;
	snprintf(path, sizeof path, "/sys/fs/cgroup%s/cgroup.events", group + 3);
	read_text(events, sizeof events / 2, path);
	snprintf(path, sizeof path, "/sys/fs/cgroup/unified%s/cgroup.events", group + 3);
	read_text(events + strlen(events), sizeof events / 2, path);
	return strstr(events, "frozen 1") != NULL;
}

// A state counts only for the process that it was set for, and not for a later one with the same pid.
int fake_state(int pid)
{
	char path[4096], text[64];
	int state;
	unsigned long long start;
	snprintf(path, sizeof path, "%s/claims/.%d.state", fake_dir(), pid);
	read_text(text, sizeof text, path);
	return sscanf(text, "%d %llu", &state, &start) == 2 && start == fake_start_time(pid) ? state : RUNNING;
}

int fake_set_state(int pid, int state)
{
	char path[4096], temp[4096];
	snprintf(path, sizeof path, "%s/claims/.%d.state", fake_dir(), pid);
	snprintf(temp, sizeof temp, "%s/claims/.%d.next", fake_dir(), pid);
	if (state == RUNNING)
		return unlink(path) && errno != ENOENT ? -1 : 0;
	FILE *f = fopen(temp, "we");
	if (!f || fprintf(f, "%d %llu\n", state, fake_start_time(pid)) < 0 || fclose(f))
		return -1;
	return rename(temp, path);
}

int fake_lock(void)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/claims", fake_dir());
	int lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock >= 0 && !flock(lock, LOCK_EX))
		return lock;
	fprintf(stderr, "fakenvml: %s: %s\n", path, strerror(errno));
	return -1;
}

int fake_open(const struct fake_gpu *gpu)
{
	const char *dev = getenv("SIMCUDA_DEV");
	char path[4096];
	snprintf(path, sizeof path, "%s/nvidia%d", dev && *dev ? dev : "/dev", gpu->minor);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

int fake_opens(const struct fake_gpu *gpu)
{
	int err = fake_open(gpu);
	return err == 0 || err == ENXIO || err == ENODEV;
}

static int kinds_of(const char *value)
{
	int kinds = 0;
	kinds |= strstr(value, "compute") ? KIND_COMPUTE : 0;
	kinds |= strstr(value, "graphics") ? KIND_GRAPHICS : 0;
	kinds |= strstr(value, "mps") ? KIND_MPS : 0;
	return kinds;
}

// Reads one claim. Returns 0 if it does not count: for a process, all of its claims do.
static int claim_read(int dirfd, const char *name, int minor, int pid, struct fake_claim *c)
{
	char text[256], state[32], end;
	unsigned long long start = 0;
	memset(c, 0, sizeof *c);
	if (sscanf(name, "%d-%d%c", &c->pid, &c->minor, &end) != 2 || c->pid <= 0)
		return 0;
	if ((minor >= 0 && c->minor != minor) || (pid > 0 && c->pid != pid))
		return 0;
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	c->kinds = KIND_COMPUTE;
	for (char *save, *word = strtok_r(text, " \t\r\n", &save); word; word = strtok_r(NULL, " \t\r\n", &save)) {
		if (!strcmp(word, "ghost")) c->ghost = 1;
		else if (!strcmp(word, "unknown")) c->unknown = 1;
		else if (!strncmp(word, "util=", 5)) c->util = atoi(word + 5);
		else if (!strncmp(word, "start=", 6)) start = strtoull(word + 6, NULL, 10);
		else if (!strncmp(word, "kind=", 5)) c->kinds = kinds_of(word + 5);
		else c->bytes = strtoull(word, NULL, 10);
	}
	if (c->ghost)
		return 1;
	unsigned long long now = fake_start_time(c->pid);
	if (now && (!start || start == now))
		return pid > 0 || fake_state(c->pid) < PARKED;
	unlinkat(dirfd, name, 0); // its process is gone; only its owner and root can remove it
	snprintf(state, sizeof state, ".%d.state", c->pid);
	unlinkat(dirfd, state, 0);
	return 0;
}

static int claims(struct fake_claim *out, int max, int minor, int pid)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/claims", fake_dir());
	DIR *d = opendir(path);
	if (!d)
		return 0;
	int n = 0;
	for (struct dirent *e; n < max && (e = readdir(d));)
		if (e->d_name[0] != '.')
			n += claim_read(dirfd(d), e->d_name, minor, pid, &out[n]);
	closedir(d);
	return n;
}

int fake_claims(struct fake_claim *out, int max, int minor) { return claims(out, max, minor, 0); }
int fake_claims_of(struct fake_claim *out, int max, int pid) { return claims(out, max, -1, pid); }

unsigned long long fake_used(const struct fake_gpu *gpu, const struct fake_claim *claims, int n)
{
	unsigned long long used = gpu->used_mib * FAKE_MIB;
	for (int i = 0; i < n; i++)
		if (claims[i].minor == gpu->minor)
			used += claims[i].bytes;
	return used;
}

unsigned long long fake_free(const struct fake_gpu *gpu, const struct fake_claim *claims, int n)
{
	unsigned long long taken = gpu->reserved_mib * FAKE_MIB + fake_used(gpu, claims, n);
	unsigned long long total = gpu->mem_mib * FAKE_MIB;
	return taken < total ? total - taken : 0;
}
