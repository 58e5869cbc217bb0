/* Walking from this process's control groups to their roots. Only reads files
 * that may be absent; what cannot be read sets no limit. */
#define _GNU_SOURCE
#include "engine/dev/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_SIZE 4096

int
rlf_cgroup_read(const char *dir, const char *name, rlf_cgroup_words words)
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

/* The smallest limit from mount/path up to mount. */
static double
path_least(const char *mount, const char *path, rlf_cgroup_limit *limit)
{
    char dir[2 * PATH_SIZE];
    size_t stop = strlen(mount);
    snprintf(dir, sizeof dir, "%s%s", mount, path);
    double least = 0;
    for (;;) {
        double here = limit(dir);
        if (here > 0 && (least <= 0 || here < least))
            least = here;
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
rlf_cgroup_least(const char *root, const char *self, const char *controller,
                 rlf_cgroup_limit *limit)
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
        const char *places[] = {"", "/unified", controller, list};
        bool v2 = *list == 0;
        if (!v2 && !has_controller(list, controller))
            continue;
        for (int i = v2 ? 0 : 2; i < (v2 ? 2 : 4); i++) {
            snprintf(mount, sizeof mount, "%s%s%s", root, v2 ? "" : "/",
                     places[i]);
            double here = path_least(mount, path, limit);
            if (here > 0 && (least <= 0 || here < least))
                least = here;
        }
    }
    fclose(file);
    return least;
}
