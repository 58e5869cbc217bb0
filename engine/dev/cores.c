/* Affinity and control groups: how many cores are really ours. */
#define _GNU_SOURCE
#include "engine/dev/cores.h"

#include "engine/dev/cgroup.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The quota of one group directory in cores; 0: none. */
static double
group_quota(const char *dir)
{
    rlf_cgroup_words quota, period;
    if (rlf_cgroup_read(dir, "cpu.max", quota) == 2) {
        double per = atof(quota[1]);
        if (strcmp(quota[0], "max") != 0 && per > 0)
            return atof(quota[0]) / per;
        return 0;
    }
    if (rlf_cgroup_read(dir, "cpu.cfs_quota_us", quota) >= 1 &&
        rlf_cgroup_read(dir, "cpu.cfs_period_us", period) >= 1) {
        double per = atof(period[0]), have = atof(quota[0]);
        if (have > 0 && per > 0)
            return have / per;
    }
    return 0;
}

double
rlf_cores_quota(const char *root, const char *self)
{
    return rlf_cgroup_least(root, self, "cpu", group_quota);
}

int
rlf_cores_count(void)
{
    cpu_set_t set;
    int cores = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
    double quota = rlf_cores_quota("/sys/fs/cgroup", "/proc/self/cgroup");
    if (quota > 0 && quota < cores)
        cores = (int)quota;
    return cores < 1 ? 1 : cores;
}
