/* Limits of memory: see memory.h. */
#include "engine/dev/memory.h"

#include "engine/dev/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Version 1 says "none" by a number that no machine has. */
#define NO_LIMIT 1e18

static double
group_limit(const char *dir)
{
    rlf_cgroup_words words;
    double bytes = 0;
    if (rlf_cgroup_read(dir, "memory.max", words) >= 1)
        bytes = strcmp(words[0], "max") == 0 ? 0 : atof(words[0]);
    else if (rlf_cgroup_read(dir, "memory.limit_in_bytes", words) >= 1)
        bytes = atof(words[0]);
    return bytes < NO_LIMIT ? bytes : 0;
}

/* The groups' limit alone, as rlf_cgroup_least; 0: none. */
static uint64_t
memory_quota(const char *root, const char *self)
{
    return (uint64_t)rlf_cgroup_least(root, self, "memory", group_limit);
}

uint64_t
rlf_host_memory_limit(void)
{
    uint64_t least = UINT64_MAX;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0)
        least = (uint64_t)pages * (uint64_t)size;
    uint64_t quota = memory_quota("/sys/fs/cgroup", "/proc/self/cgroup");
    if (quota && quota < least)
        least = quota;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < least)
        least = limit.rlim_cur;
    return least;
}

/* What getrusage says has the peak of whatever the process was before it was
 * this program. */
uint64_t
rlf_host_memory_peak(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && !kilobytes && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %llu", &kilobytes) != 1)
            kilobytes = 0;
    if (status)
        fclose(status);
    return (uint64_t)kilobytes << 10;
}
