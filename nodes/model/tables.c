/* See tables.h. */
#include "nodes/model/tables.h"

#include <string.h>

typedef struct entry {
    const rlf_table *table; /* NULL: free */
    uint64_t key;           /* mixed, of head and cut */
} entry;

struct rlf_tables {
    const rlf_model_config *config;
    const rlf_program *program; /* NULL: nobody asked for a table */
    rlf_arena *arena;
    entry *entries; /* open addressing */
    size_t count, room;
};

rlf_tables *
rlf_tables_new(const rlf_model_config *config, rlf_arena *arena)
{
    rlf_tables *t = RLF_NEW(arena, rlf_tables);
    *t = (rlf_tables){.config = config, .arena = arena, .room = 64};
    t->entries = RLF_NEW_ARRAY(arena, entry, t->room);
    return t;
}

static uint64_t
key_of(rlf_model_head head, const rlf_cut *cut)
{
    const int parts[] = {(int)head,   cut->shards, cut->ranks,  cut->rank,
                         cut->stages, cut->stage,  cut->chunks, cut->vee};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        key = (key ^ (uint64_t)parts[i]) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

static bool
is_it(const entry *e, uint64_t key, rlf_model_head head, const rlf_cut *cut)
{
    const rlf_cut *of = &e->table->cut;
    return e->key == key && e->table->head == head &&
           of->shards == cut->shards && rlf_table_cut_alike(of, cut);
}

static void
put(rlf_tables *t, const rlf_table *table, uint64_t key)
{
    size_t i = key & (t->room - 1);
    while (t->entries[i].table)
        i = (i + 1) & (t->room - 1);
    t->entries[i] = (entry){table, key};
}

static void
grow(rlf_tables *t)
{
    const entry *old = t->entries;
    size_t n = t->room;
    t->entries = RLF_NEW_ARRAY(t->arena, entry, 2 * n);
    t->room = 2 * n;
    for (size_t i = 0; i < n; i++)
        if (old[i].table)
            put(t, old[i].table, old[i].key);
}

/* `cut` without zeros. */
static const rlf_table *
get(rlf_tables *t, rlf_model_head head, const rlf_cut *cut)
{
    uint64_t key = key_of(head, cut);
    for (size_t i = key & (t->room - 1); t->entries[i].table;
         i = (i + 1) & (t->room - 1))
        if (is_it(&t->entries[i], key, head, cut))
            return t->entries[i].table;
    const rlf_cut all = rlf_table_whole_cut(cut);
    const rlf_table *whole = cut->stages > 1 ? get(t, head, &all) : NULL;
    const rlf_table *table =
        rlf_table_stage(t->program, head, cut, whole, t->arena);
    if (2 * ++t->count > t->room)
        grow(t);
    put(t, table, key);
    return table;
}

const rlf_table *
rlf_tables_get(rlf_tables *tables, const rlf_model_config *config,
               rlf_model_head head, const rlf_cut *cut, rlf_arena *arena)
{
    if (!tables)
        return rlf_table_new(config, head, cut, arena);
    rlf_cut c = rlf_table_whole_cut(cut);
    c.chunks = cut->chunks + !cut->chunks;
    c.stages = cut->stages + !cut->stages;
    c.stage = cut->stage;
    c.vee = cut->vee;
    if (!tables->program)
        tables->program = rlf_program_new(tables->config, tables->arena);
    return get(tables, head, &c);
}
