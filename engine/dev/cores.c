/* Affinity and control groups: how many cores are really ours. Only reads
 * files that may be absent; what cannot be read sets no limit. */
#define _GNU_SOURCE
#include "engine/dev/cores.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 4096

/* The first two words of a small file; how many there were. */
static int
read_words(const char *dir, const char *name, char words[2][32])
{
    char path[2 * PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    int n = fscanf(file, "%31s %31s", words[0], words[1]);
    fclose(file);
    return n < 0 ? 0 : n;
}

/* The quota of one group directory in cores; 0: none. */
static double
group_quota(const char *dir)
{
    char quota[2][32], period[2][32];
    if (read_words(dir, "cpu.max", quota) == 2) {
        double per = atof(quota[1]);
        if (strcmp(quota[0], "max") != 0 && per > 0)
            return atof(quota[0]) / per;
        return 0;
    }
    if (read_words(dir, "cpu.cfs_quota_us", quota) >= 1 &&
        read_words(dir, "cpu.cfs_period_us", period) >= 1) {
        double per = atof(period[0]), have = atof(quota[0]);
        if (have > 0 && per > 0)
            return have / per;
    }
    return 0;
}

/* The smallest quota from mount/path up to mount. */
static double
path_quota(const char *mount, const char *path)
{
    char dir[2 * PATH_SIZE];
    size_t stop = strlen(mount);
    snprintf(dir, sizeof dir, "%s%s", mount, path);
    double least = 0;
    for (;;) {
        double quota = group_quota(dir);
        if (quota > 0 && (least <= 0 || quota < least))
            least = quota;
        char *slash = strrchr(dir, '/');
        if (strlen(dir) <= stop || !slash)
            return least;
        *slash = 0;
    }
}

/* Is `name` one of the comma-separated controllers? */
static bool
has_controller(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, name, n) == 0 && (p[n] == 0 || p[n] == ','))
            return true;
    }
    return false;
}

double
rlf_cores_quota(const char *root, const char *self)
{
    FILE *file = fopen(self, "re");
    if (!file)
        return 0;
    double least = 0;
    char line[PATH_SIZE];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'),
             *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        list++;
        /* version 2 has no controllers in its line; version 1 mounts them
         * under their name, or under the whole list */
        char mount[PATH_SIZE];
        const char *places[] = {"", "/unified", "/cpu", "/cpu,cpuacct"};
        bool v2 = *list == 0;
        if (!v2 && !has_controller(list, "cpu"))
            continue;
        for (int i = v2 ? 0 : 2; i < (v2 ? 2 : 4); i++) {
            snprintf(mount, sizeof mount, "%s%s", root, places[i]);
            double quota = path_quota(mount, path);
            if (quota > 0 && (least <= 0 || quota < least))
                least = quota;
        }
    }
    fclose(file);
    return least;
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
