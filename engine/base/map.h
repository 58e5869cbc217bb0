/* A map from names to pointers, in insertion order, living in an arena. */
#ifndef RLF_BASE_MAP_H
#define RLF_BASE_MAP_H

#include "engine/base/arena.h"

#include <stddef.h>
#include <stdint.h>

typedef struct rlf_map_entry {
    const char *key;
    void *value;
} rlf_map_entry;

/* {.arena = a} is an empty map. `entries` are in the order of insertion. */
typedef struct rlf_map {
    rlf_arena *arena;
    rlf_map_entry *entries;
    size_t count, room;
    uint32_t *slots; /* index + 1 into entries, 0 = free */
    size_t n_slots;
} rlf_map;

/* The value of `key`, or NULL. */
void *rlf_map_get(const rlf_map *map, const char *key);
/* Set `key` (copied into the arena); returns the value it had, or NULL. */
void *rlf_map_put(rlf_map *map, const char *key, void *value);

#endif
