/* The memory that a process holds. */
#ifndef RLF_TESTS_UNIT_RESIDENT_H
#define RLF_TESTS_UNIT_RESIDENT_H

#include "tests/tap.h"

/* The largest resident size that it has had, in bytes. */
TAP_FUNCTION uint64_t
resident_peak(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kb = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb * 1024;
}

#endif
