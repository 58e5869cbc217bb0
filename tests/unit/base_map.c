/* Maps and hashes. */
#include "engine/base/hash.h"
#include "engine/base/map.h"

#include "tests/tap.h"

/* FNV-1a's own test vectors (Noll's table), before the final mix. */
static void
hashes(void)
{
    is_int((int64_t)rlf_hash(RLF_HASH_INIT, "", 0),
           (int64_t)UINT64_C(0xcbf29ce484222325), "FNV-1a of nothing");
    is_int((int64_t)rlf_hash(RLF_HASH_INIT, "a", 1),
           (int64_t)UINT64_C(0xaf63dc4c8601ec8c), "FNV-1a of a");
    is_int((int64_t)rlf_hash(RLF_HASH_INIT, "foobar", 6),
           (int64_t)UINT64_C(0x85944171f73967e8), "FNV-1a of foobar");
    uint64_t two = rlf_hash(rlf_hash(RLF_HASH_INIT, "foo", 3), "bar", 3);
    is_int((int64_t)rlf_hash_mix(two), (int64_t)rlf_hash_text("foobar"),
           "in pieces, mixed");
}

int
main(void)
{
    enum { N = 5000 };
    hashes();
    rlf_arena *arena = rlf_arena_new();
    rlf_map map = {.arena = arena};
    static int values[N];
    char key[32];
    ok(rlf_map_get(&map, "x") == NULL, "an empty map has nothing");
    bool fresh = true;
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "key%d", i * 7919 % N);
        fresh = fresh && rlf_map_put(&map, key, &values[i]) == NULL;
    }
    ok(fresh, "five thousand new keys");
    is_int((int64_t)map.count, N, "are counted");
    bool found = true, ordered = true;
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "key%d", i * 7919 % N);
        found = found && rlf_map_get(&map, key) == &values[i];
        ordered = ordered && strcmp(map.entries[i].key, key) == 0;
    }
    ok(found, "each is found");
    ok(ordered, "entries are in the order of insertion");
    ok(rlf_map_get(&map, "key5000") == NULL, "another is not");
    ok(rlf_map_put(&map, "key3", &values[0]) != NULL &&
           rlf_map_get(&map, "key3") == &values[0] && map.count == N,
       "a second value replaces the first");
    rlf_arena_free(arena);
    return done();
}
