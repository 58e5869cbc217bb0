/* A map from names to pointers: open addressing over insertion order. */
#include "engine/base/map.h"

#include "engine/base/hash.h"

#include <string.h>

static size_t
find(const rlf_map *map, const char *key)
{
    size_t i = rlf_hash_text(key) & (map->n_slots - 1);
    while (map->slots[i] &&
           strcmp(map->entries[map->slots[i] - 1].key, key) != 0)
        i = (i + 1) & (map->n_slots - 1);
    return i;
}

void *
rlf_map_get(const rlf_map *map, const char *key)
{
    if (!map->n_slots)
        return NULL;
    size_t i = find(map, key);
    return map->slots[i] ? map->entries[map->slots[i] - 1].value : NULL;
}

static void
grow(rlf_map *map)
{
    size_t room = map->room ? 2 * map->room : 8;
    rlf_map_entry *entries = RLF_NEW_ARRAY(map->arena, rlf_map_entry, room);
    if (map->count)
        memcpy(entries, map->entries, map->count * sizeof *entries);
    map->entries = entries;
    map->room = room;
    map->n_slots = 2 * room;
    map->slots = RLF_NEW_ARRAY(map->arena, uint32_t, map->n_slots);
    for (size_t i = 0; i < map->count; i++)
        map->slots[find(map, entries[i].key)] = (uint32_t)i + 1;
}

void *
rlf_map_put(rlf_map *map, const char *key, void *value)
{
    if (map->count == map->room)
        grow(map);
    size_t i = find(map, key);
    if (map->slots[i]) {
        rlf_map_entry *e = &map->entries[map->slots[i] - 1];
        void *old = e->value;
        e->value = value;
        return old;
    }
    map->entries[map->count++] =
        (rlf_map_entry){rlf_arena_strdup(map->arena, key), value};
    map->slots[i] = (uint32_t)map->count;
    return NULL;
}
