// The calls that report how the GPUs are connected, and which nodes and CPUs are near them.
#define _GNU_SOURCE
#include "device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINKS_PER_GPU 18 // the last ones may be down

static int same_gpu(const struct fake_gpu *a, const struct fake_gpu *b)
{
	return !strcmp(a->uuid, b->uuid);
}

// Blocks as long as the content of the file "topology" is "hang".
static void compare(void)
{
	char path[4096], word[8] = "";
	snprintf(path, sizeof path, "%s/topology", fake_dir());
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	int got = fscanf(f, "%7s", word);
	fclose(f);
	while (got == 1 && !strcmp(word, "hang"))
		pause();
}

// Returns where NVLink number link of g leads: 1 to the GPU peer, 2 to a switch, 0 nowhere.
static int other_end(const struct fake_gpu *g, unsigned int link, struct fake_gpu *peer)
{
	if (g->island <= 0 || g->lanes <= 0)
		return 0;
	if (g->nvswitch)
		return link < (unsigned int)g->lanes ? 2 : 0;
	unsigned int count, first = 0;
	if (nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
		return 0;
	for (unsigned int i = 0; i < count; i++) {
		if (fake_at(i, peer) != NVML_SUCCESS || peer->island != g->island || same_gpu(peer, g))
			continue;
		first += g->lanes;
		if (link < first)
			return 1;
	}
	return 0;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned int link, nvmlEnableState_t *up)
{
	ENTER(g);
	struct fake_gpu peer;
	if (g.island <= 0)
		return NVML_ERROR_NOT_SUPPORTED;
	if (link >= LINKS_PER_GPU)
		return NVML_ERROR_INVALID_ARGUMENT;
	*up = other_end(&g, link, &peer) ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t d, unsigned int link, nvmlIntNvLinkDeviceType_t *type)
{
	ENTER(g);
	struct fake_gpu peer;
	int end = link < LINKS_PER_GPU ? other_end(&g, link, &peer) : 0;
	*type = end == 2 ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU;
	return end ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, unsigned int link, nvmlPciInfo_t *v)
{
	ENTER(g);
	struct fake_gpu peer;
	int end = link < LINKS_PER_GPU ? other_end(&g, link, &peer) : 0;
	memset(v, 0, sizeof *v);
	snprintf(v->busId, sizeof v->busId, "%s", end == 1 ? peer.pci : "00000000:C5:00.0");
	snprintf(v->busIdLegacy, sizeof v->busIdLegacy, "%s", strlen(v->busId) > 4 ? v->busId + 4 : v->busId);
	return end ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

// Version 1 of the call fills in fewer fields.
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t d, unsigned int link, nvmlPciInfo_t *v)
{
	nvmlReturn_t r = nvmlDeviceGetNvLinkRemotePciInfo_v2(d, link, v);
	v->busId[0] = 0;
	return r;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t d, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *status)
{
	ENTER(g);
	ENTER_AS(other, h, also);
	compare();
	if (same_gpu(&g, &h) || index != NVML_P2P_CAPS_INDEX_NVLINK)
		return NVML_ERROR_INVALID_ARGUMENT;
	*status = g.island > 0 && g.island == h.island && g.lanes > 0 && h.lanes > 0 ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t d, nvmlDevice_t other, nvmlGpuTopologyLevel_t *level)
{
	ENTER(g);
	ENTER_AS(other, h, also);
	compare();
	if (same_gpu(&g, &h))
		*level = NVML_TOPOLOGY_INTERNAL;
	else if (g.pcie > 0 && g.pcie == h.pcie)
		*level = NVML_TOPOLOGY_SINGLE;
	else if (g.bridge > 0 && g.bridge == h.bridge)
		*level = NVML_TOPOLOGY_HOSTBRIDGE;
	else
		*level = g.numa == h.numa ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t d, unsigned int words, unsigned long *mask)
{
	ENTER(g);
	if (!*g.cpus)
		return NVML_ERROR_NOT_SUPPORTED;
	return fake_cpus(g.cpus, mask, words) == 0 ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t d, unsigned int *node)
{
	ENTER(g);
	*node = g.mem_node;
	return g.mem_node > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t d, unsigned int words, unsigned long *mask, nvmlAffinityScope_t scope)
{
	ENTER(g);
	char node[16];
	if (g.numa < 0 || scope != NVML_AFFINITY_SCOPE_NODE)
		return NVML_ERROR_NOT_SUPPORTED;
	snprintf(node, sizeof node, "%d", g.numa);
	return fake_cpus(node, mask, words) == 0 ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}
