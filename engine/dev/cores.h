/* Counts how many cores this process may really use: the smaller of its
 * affinity mask and the CPU quota of its control groups (v2 cpu.max, v1
 * cfs_quota_us), looked up in every group from its own to the root. Read anew
 * at every call.
 */
#ifndef RLF_DEV_CORES_H
#define RLF_DEV_CORES_H

/* Returns at least 1. A quota of 1.5 cores counts as 1: two spinning threads
 * would be throttled. */
int rlf_cores_count(void);

/* The quota alone under `root` (normally "/sys/fs/cgroup") for the groups
 * that `self` (normally "/proc/self/cgroup") names, in cores; 0: no quota. */
double rlf_cores_quota(const char *root, const char *self);

#endif
