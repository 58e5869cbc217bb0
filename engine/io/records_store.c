/* Where the rows of a data set are once they were read, and how one is read
 * again: its texts and chats, column by column, as bytes in a row of their own.
 * Numbers are not here: they stand in their columns. */
#include "engine/io/records_inside.h"
#include "engine/io/spool.h"

#include <string.h>

enum { BLOCK = 512 }; /* rows */

/* What is known of so many rows: 24 bytes of each. */
typedef struct block {
    uint64_t at[BLOCK];   /* in memory, in the file, in the spool */
    uint64_t mark[BLOCK]; /* a digest; in memory none */
    uint32_t bytes[BLOCK], line[BLOCK];
} block;

struct rlf_record_store {
    rlf_arena *arena; /* of the records */
    rlf_arena *kept;  /* rows in memory */
    struct {
        block **data;
        size_t count, room;
    } blocks;
    size_t count;
    size_t *first;           /* row of each file */
    size_t n_files;          /* that have begun */
    rlf_record_again *again; /* NULL: no file is read again */
    rlf_spool *spool;        /* NULL: all else is in memory */
    size_t in_memory;        /* bytes, at most */
    rlf_spools *spools;
    const char *name; /* of the spool */
    uint64_t spooled; /* bytes */
};

static void
free_store(void *store_)
{
    rlf_record_store *store = store_;
    rlf_arena_free(store->kept);
    rlf_spool_close(store->spool);
    free(store);
}

rlf_record_store *
rlf_record_store_new(rlf_arena *arena, const rlf_records_spec *spec,
                     size_t n_files, rlf_record_again *again)
{
    rlf_record_store *store = rlf_calloc(1, sizeof *store);
    store->arena = arena;
    store->kept = rlf_arena_new();
    store->first = RLF_NEW_ARRAY(arena, size_t, n_files);
    store->again = again;
    store->in_memory = spec->in_memory ? spec->in_memory : RLF_RECORD_IN_MEMORY;
    store->spools = spec->spools;
    store->name = rlf_arena_strdup(arena, spec->name ? spec->name : "");
    rlf_arena_defer(arena, free_store, store);
    return store;
}

uint64_t
rlf_record_mark(const void *p, size_t n)
{
    return rlf_digest_of(p, n).low;
}

/* ---- bytes of a row ---- */

static bool
put_bytes(rlf_buf *out, const char *p, size_t n)
{
    uint32_t length = (uint32_t)n;
    if (n > UINT32_MAX - 1 || !rlf_buf_try(out, n + sizeof length + 1))
        return false;
    rlf_buf_add(out, &length, sizeof length);
    if (n)
        rlf_buf_add(out, p, n);
    rlf_buf_putc(out, 0);
    return true;
}

/* Is a message two texts and nothing else? */
static bool
is_plain(const json_t *message)
{
    return json_object_size(message) == 2 &&
           json_is_string(json_object_get(message, "content"));
}

/* All of a message, its keys in their order. */
static bool
put_json(rlf_buf *out, const json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    bool good = text && put_bytes(out, text, strlen(text));
    free(text);
    return good;
}

static bool
put_chat(rlf_buf *out, const json_t *list)
{
    uint32_t n = (uint32_t)json_array_size(list);
    bool good = rlf_buf_try(out, sizeof n);
    if (good)
        rlf_buf_add(out, &n, sizeof n);
    for (uint32_t i = 0; i < n && good; i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *role = json_object_get(item, "role");
        const json_t *content = json_object_get(item, "content");
        good =
            put_bytes(out, json_string_value(role), json_string_length(role)) &&
            put_bytes(out, json_string_value(content),
                      json_string_length(content)) &&
            (is_plain(item) ? put_bytes(out, "", 0) : put_json(out, item));
    }
    return good;
}

rlf_status
rlf_record_put_value(rlf_record_reader *r, const rlf_record_cell *cell,
                     rlf_buf *out)
{
    bool good = true;
    if (cell->kind == RLF_RECORD_CHAT)
        good = put_chat(out, cell->chat);
    else if (cell->kind == RLF_RECORD_TEXT)
        good = put_bytes(out, cell->text.p, cell->text.n);
    return good ? RLF_OK
                : rlf_fail_memory(r->err, 2 * out->n, "the rows of data");
}

static rlf_str
take_bytes(const char **p)
{
    uint32_t n;
    memcpy(&n, *p, sizeof n);
    rlf_str text = {*p + sizeof n, n};
    *p += sizeof n + n + 1;
    return text;
}

static rlf_status
take_chat(const char **p, rlf_arena *pool, rlf_err *err, rlf_chat *out)
{
    uint32_t n;
    rlf_message *messages;
    memcpy(&n, *p, sizeof n);
    *p += sizeof n;
    RLF_TRY(rlf_arena_try(pool, n * sizeof *messages, "a chat of data", err,
                          &messages));
    for (uint32_t i = 0; i < n; i++) {
        messages[i].role = take_bytes(p);
        messages[i].content = take_bytes(p);
        messages[i].json = take_bytes(p);
    }
    *out = (rlf_chat){messages, n};
    return RLF_OK;
}

rlf_status
rlf_record_take_value(const char **p, rlf_record_kind kind, rlf_arena *pool,
                      rlf_err *err, rlf_record_value *out)
{
    *out = (rlf_record_value){0};
    if (kind == RLF_RECORD_CHAT)
        return take_chat(p, pool, err, &out->chat);
    out->text = take_bytes(p);
    return RLF_OK;
}

/* ---- rows ---- */

static block *
block_of(const rlf_record_store *store, size_t row)
{
    return store->blocks.data[row / BLOCK];
}

static bool
is_again(const rlf_record_store *store, size_t file)
{
    return store->again && rlf_record_again_is(store->again, file);
}

/* The values of a row to the end of the spool. */
static rlf_status
spool_row(rlf_record_store *store, size_t row, rlf_str values, rlf_err *err)
{
    block *b = block_of(store, row);
    store->spooled += values.n;
    b->mark[row % BLOCK] = rlf_record_mark(values.p, values.n);
    return rlf_spool_add(store->spool, values.p, values.n, err,
                         &b->at[row % BLOCK]);
}

/* All that is in memory goes there. */
static rlf_status
begin_spool(rlf_record_store *store, rlf_err *err)
{
    RLF_TRY(rlf_spool_open(store->spools, store->name, err, &store->spool));
    for (size_t i = 0; i < store->count; i++) {
        const block *b = block_of(store, i);
        const char *p = (const char *)(uintptr_t)b->at[i % BLOCK];
        if (!is_again(store, rlf_record_store_file(store, i)))
            RLF_TRY(
                spool_row(store, i, (rlf_str){p, b->bytes[i % BLOCK]}, err));
    }
    rlf_arena_free(store->kept);
    store->kept = rlf_arena_new();
    return RLF_OK;
}

static rlf_status
keep_row(rlf_record_store *store, size_t row, rlf_str values, rlf_err *err)
{
    if (store->spool)
        return spool_row(store, row, values, err);
    RLF_TRY(rlf_arena_room(store->kept, values.n + 1, "the rows of data", err));
    const char *p = rlf_arena_strndup(store->kept, values.p, values.n);
    block_of(store, row)->at[row % BLOCK] = (uintptr_t)p;
    return RLF_OK;
}

rlf_status
rlf_record_store_add(rlf_record_store *store, size_t file, uint32_t line,
                     rlf_str values, const rlf_record_spot *spot, rlf_err *err)
{
    static const char what[] = "the rows of data";
    size_t row = store->count, i = row % BLOCK;
    if (i == 0) {
        block *more;
        RLF_TRY(rlf_arena_try(store->arena, sizeof *more, what, err, &more));
        RLF_TRY_PUSH_IN(store->arena, &store->blocks, what, more);
    }
    while (store->n_files <= file)
        store->first[store->n_files++] = row;
    block *b = block_of(store, row);
    b->line[i] = line;
    if (values.n > UINT32_MAX)
        return rlf_fail_memory(err, values.n, "%s", what);
    b->bytes[i] = (uint32_t)(spot ? spot->bytes : values.n);
    if (spot) {
        b->at[i] = spot->at;
        b->mark[i] = spot->mark;
    } else {
        RLF_TRY(keep_row(store, row, values, err));
    }
    store->count++;
    return store->spool || rlf_arena_used(store->kept) <= store->in_memory
               ? RLF_OK
               : begin_spool(store, err);
}

rlf_status
rlf_record_store_end(rlf_record_store *store, rlf_err *err)
{
    return store->spool ? rlf_spool_end(store->spool, err) : RLF_OK;
}

rlf_records_sizes
rlf_record_store_size(const rlf_record_store *store)
{
    return (rlf_records_sizes){
        .memory = rlf_arena_used(store->kept),
        .files = store->again ? rlf_record_again_size(store->again) : 0,
        .spool = store->spooled,
        .directory = store->spool ? rlf_spool_directory(store->spool) : NULL};
}

size_t
rlf_record_store_file(const rlf_record_store *store, size_t row)
{
    size_t low = 0, high = store->n_files; /* the last that begins before */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (store->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t
rlf_record_store_line(const rlf_record_store *store, size_t row)
{
    return block_of(store, row)->line[row % BLOCK];
}

static rlf_status
read_spool(const rlf_record_store *store, const rlf_record_spot *spot,
           rlf_arena *pool, rlf_err *err, const char **out)
{
    char *p;
    RLF_TRY(rlf_arena_try(pool, spot->bytes + 1, "a row of data", err, &p));
    RLF_TRY(rlf_spool_read(store->spool, spot->at, p, spot->bytes, err));
    *out = p;
    if (rlf_record_mark(p, spot->bytes) == spot->mark)
        return RLF_OK;
    return rlf_fail(err, RLF_ENV,
                    "rows of data that were written in %s are not read as they "
                    "were written",
                    rlf_spool_directory(store->spool));
}

rlf_status
rlf_record_store_read(const rlf_record_store *store, size_t row,
                      rlf_arena *pool, rlf_err *err, const char **out)
{
    const block *b = block_of(store, row);
    size_t i = row % BLOCK;
    rlf_record_spot spot = {b->at[i], b->bytes[i], b->mark[i]};
    size_t file = store->again ? rlf_record_store_file(store, row) : 0;
    if (is_again(store, file))
        return rlf_record_again_read(store->again, file, b->line[i], &spot,
                                     pool, err, out);
    if (store->spool)
        return read_spool(store, &spot, pool, err, out);
    *out = (const char *)(uintptr_t)b->at[i];
    return RLF_OK;
}
