// The state directory that the fake library and simcuda share: the GPUs, and the processes that hold
// memory on them. See doc.go of the Go package.
#pragma once

#define FAKE_MAX_GPUS 64
#define FAKE_MAX_CLAIMS 4096
#define FAKE_MIB (1024ULL * 1024ULL)

enum { KIND_COMPUTE = 1, KIND_GRAPHICS = 2, KIND_MPS = 4 };

struct fake_gpu {
	char uuid[80], name[96], pci[32];
	int minor, temp, util, mig, mode;
	long long mem_mib, reserved_mib, used_mib;
	long long power_mw, limit_mw, energy_mj; // energy_mj < 0: power times uptime
	int rows_pending, rows_failed;
	int recovery;  // what the driver says that it needs; -1: it does not say
	int lost;    // 1: calls say so, 2: even the handle is refused
	int hang;    // calls on it never return
	int energy_ms; // how long the call for the energy takes besides
	int error;   // calls on it return this code
	int unified; // its memory is the host's, and calls do not tell of it
	int mem_node; // NUMA node that its memory is; 0: none
	int slow_ms; // each call on it takes this long

	int island, lanes, nvswitch;      // NVLinks to each GPU of its island, or all of them to a switch; island 0: none
	int numa, bridge, pcie;           // node, host bridge and PCIe switch; below 0 (and 0 of the last two): its own
	char cpus[256];                   // next to it; "": the driver does not tell
};

struct fake_claim {
	int pid, minor, kinds, ghost, unknown, util;
	unsigned long long bytes;
};

// Both return the number of elements read, or -1 with a message on stderr.
int fake_gpus(struct fake_gpu *out, int max);
int fake_claims(struct fake_claim *out, int max, int minor); // of that GPU; -1: of all

// Sets the bits of the CPUs in a list such as "0-3,8". Returns -1 if it is invalid or too large.
int fake_cpus(const char *list, unsigned long *mask, unsigned int words);

// Bytes of gpu that are neither reserved nor used nor claimed.
unsigned long long fake_free(const struct fake_gpu *gpu, const struct fake_claim *claims, int n);
unsigned long long fake_used(const struct fake_gpu *gpu, const struct fake_claim *claims, int n);

const char *fake_dir(void);

// The start time of a live process, or 0 if it has ended or is a zombie.
unsigned long long fake_start_time(int pid);
