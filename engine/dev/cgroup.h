/* Limits of the control groups that a process is in, versions 1 and 2. */
#ifndef RLF_DEV_CGROUP_H
#define RLF_DEV_CGROUP_H

typedef char rlf_cgroup_words[2][32];

/* The first two words of DIR/NAME; how many there were, 0 if there is no such
 * file. */
int rlf_cgroup_read(const char *dir, const char *name, rlf_cgroup_words words);

/* The limit that one group directory sets; 0: none. */
typedef double rlf_cgroup_limit(const char *dir);

/* The least limit of the groups under `root` (normally "/sys/fs/cgroup") that
 * `self` (normally "/proc/self/cgroup") names, each from its own directory to
 * the root; 0: none. `controller` is version 1's name of the kind of limit. */
double rlf_cgroup_least(const char *root, const char *self,
                        const char *controller, rlf_cgroup_limit *limit);

#endif
