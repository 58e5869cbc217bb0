/* The store of a data set's rows once they were read, and how one is read
 * again: its texts and chats, column by column, as bytes in a row of their own.
 * Numbers are not here: they stand in their columns. */
#include "engine/io/records_inside.h"
#include "engine/io/spool.h"

#include <string.h>

enum {
    BLOCK = 32,     /* rows */
    MOST_CODE = 24, /* bytes */
};

/* The location of a row: in memory, in its file or in the spool. */
typedef struct location {
    uint64_t at;
    uint32_t bytes, line;
    uint32_t mark; /* a digest; in memory none */
} location;

/* The locations of BLOCK rows: that of the first, and for each its difference
 * from the end of the row before, some 7 bytes. */
typedef struct block {
    uint64_t at;
    uint32_t line;
    const uint8_t *code;
} block;

/* The locations of all rows. */
typedef struct row_index {
    rlf_arena *codes;
    struct {
        block *data;
        size_t count, room;
    } blocks;
    size_t count;
    location last;
    uint8_t open[BLOCK * MOST_CODE], *end; /* the code of the last block */
} row_index;

struct rlf_record_store {
    rlf_arena *kept; /* rows in memory */
    row_index *index;
    size_t *first;           /* row of each file */
    size_t n_files;          /* that have begun */
    rlf_record_again *again; /* NULL: no file is read again */
    rlf_spool *spool;        /* NULL: all else is in memory */
    size_t in_memory;        /* bytes, at most */
    rlf_spools *spools;
    const char *name; /* of the spool */
    uint64_t spooled; /* bytes */
};

static row_index *
new_index(void)
{
    row_index *all = rlf_calloc(1, sizeof *all);
    all->codes = rlf_arena_new();
    return all;
}

static void
free_index(row_index *all)
{
    rlf_arena_free(all->codes);
    RLF_VEC_FREE(&all->blocks);
    free(all);
}

static void
free_store(void *store_)
{
    rlf_record_store *store = store_;
    free_index(store->index);
    rlf_arena_free(store->kept);
    rlf_spool_close(store->spool);
    free(store);
}

rlf_record_store *
rlf_record_store_new(rlf_arena *arena, const rlf_records_spec *spec,
                     size_t n_files, rlf_record_again *again)
{
    rlf_record_store *store = rlf_calloc(1, sizeof *store);
    store->kept = rlf_arena_new();
    store->index = new_index();
    store->first = RLF_NEW_ARRAY(arena, size_t, n_files);
    store->again = again;
    store->in_memory = spec->in_memory ? spec->in_memory : RLF_RECORD_IN_MEMORY;
    store->spools = spec->spools;
    store->name = rlf_arena_strdup(arena, spec->name ? spec->name : "");
    rlf_arena_defer(arena, free_store, store);
    return store;
}

uint32_t
rlf_record_mark(const void *p, size_t n)
{
    return (uint32_t)rlf_digest_of(p, n).low;
}

/* ---- where rows are ---- */

static uint8_t *
put_number(uint8_t *p, uint64_t x)
{
    for (; x > 127; x >>= 7)
        *p++ = (uint8_t)(x | 128);
    *p++ = (uint8_t)x;
    return p;
}

/* Small, of whichever sign, is few bytes. */
static uint8_t *
put_step(uint8_t *p, int64_t x)
{
    return put_number(p, (uint64_t)x << 1 ^ (uint64_t)(x >> 63));
}

static uint64_t
take_number(const uint8_t **p)
{
    uint64_t x = 0;
    unsigned shift = 0;
    for (; **p > 127; shift += 7)
        x |= (uint64_t)(*(*p)++ & 127) << shift;
    return x | (uint64_t) * (*p)++ << shift;
}

static int64_t
take_step(const uint8_t **p)
{
    uint64_t x = take_number(p);
    return (int64_t)(x >> 1 ^ -(x & 1));
}

/* Returns the location that the first row of a block is stored relative to. */
static location
before(uint64_t at, uint32_t line)
{
    return (location){.at = at, .line = line - 1};
}

static rlf_status
add_row(row_index *all, const location *s, rlf_err *err)
{
    static const char what[] = "the rows of data";
    if (all->count % BLOCK == 0) {
        RLF_TRY_ROOM(&all->blocks, 1, what);
        RLF_PUSH(&all->blocks, ((block){s->at, s->line, all->open}));
        all->last = before(s->at, s->line);
        all->end = all->open;
    }
    const location *last = &all->last;
    uint8_t *p = put_number(all->end, s->bytes);
    p = put_step(p, (int64_t)(s->at - last->at - last->bytes));
    p = put_step(p, (int64_t)s->line - last->line - 1);
    memcpy(p, &s->mark, sizeof s->mark);
    all->end = p + sizeof s->mark;
    all->last = *s;
    if (++all->count % BLOCK)
        return RLF_OK;
    size_t n = (size_t)(all->end - all->open);
    uint8_t *code;
    RLF_TRY(rlf_arena_try(all->codes, n, what, err, &code));
    memcpy(code, all->open, n);
    all->blocks.data[all->blocks.count - 1].code = code;
    return RLF_OK;
}

static location
find_row(const row_index *all, size_t row)
{
    const block *b = &all->blocks.data[row / BLOCK];
    const uint8_t *p = b->code;
    location s = before(b->at, b->line);
    for (size_t i = 0; i <= row % BLOCK; i++) {
        uint32_t bytes = (uint32_t)take_number(&p);
        s.at += s.bytes + (uint64_t)take_step(&p);
        s.bytes = bytes;
        s.line = (uint32_t)(s.line + 1 + take_step(&p));
        memcpy(&s.mark, p, sizeof s.mark);
        p += sizeof s.mark;
    }
    return s;
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

static bool
is_again(const rlf_record_store *store, size_t file)
{
    return store->again && rlf_record_again_is(store->again, file);
}

/* The values of a row to the end of the spool. */
static rlf_status
spool_row(rlf_record_store *store, rlf_str values, rlf_err *err, location *out)
{
    store->spooled += values.n;
    out->mark = rlf_record_mark(values.p, values.n);
    return rlf_spool_add(store->spool, values.p, values.n, err, &out->at);
}

/* All that is in memory goes there. */
static rlf_status
begin_spool(rlf_record_store *store, rlf_err *err)
{
    RLF_TRY(rlf_spool_open(store->spools, store->name, err, &store->spool));
    row_index *old = store->index, *new = new_index();
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < old->count && status >= 0; i++) {
        location s = find_row(old, i);
        const char *p = (const char *)(uintptr_t)s.at;
        if (!is_again(store, rlf_record_store_file(store, i)))
            status = spool_row(store, (rlf_str){p, s.bytes}, err, &s);
        if (status >= 0)
            status = add_row(new, &s, err);
    }
    store->index = new;
    free_index(old);
    rlf_arena_free(store->kept);
    store->kept = rlf_arena_new();
    return status;
}

static rlf_status
keep_row(rlf_record_store *store, rlf_str values, rlf_err *err, location *out)
{
    if (store->spool)
        return spool_row(store, values, err, out);
    RLF_TRY(rlf_arena_room(store->kept, values.n + 1, "the rows of data", err));
    out->at = (uintptr_t)rlf_arena_strndup(store->kept, values.p, values.n);
    return RLF_OK;
}

rlf_status
rlf_record_store_add(rlf_record_store *store, size_t file, uint32_t line,
                     rlf_str values, const rlf_record_spot *spot, rlf_err *err)
{
    location s = {.line = line, .bytes = (uint32_t)values.n};
    while (store->n_files <= file)
        store->first[store->n_files++] = store->index->count;
    if (values.n > UINT32_MAX)
        return rlf_fail_memory(err, values.n, "the rows of data");
    if (spot)
        s = (location){spot->at, (uint32_t)spot->bytes, line, spot->mark};
    else
        RLF_TRY(keep_row(store, values, err, &s));
    RLF_TRY(add_row(store->index, &s, err));
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
        .index = rlf_arena_used(store->index->codes) +
                 store->index->blocks.room * sizeof(block),
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
    return find_row(store->index, row).line;
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
    const location s = find_row(store->index, row);
    rlf_record_spot spot = {s.at, s.bytes, s.mark};
    size_t file = store->again ? rlf_record_store_file(store, row) : 0;
    if (is_again(store, file))
        return rlf_record_again_read(store->again, file, s.line, &spot, pool,
                                     err, out);
    if (store->spool)
        return read_spool(store, &spot, pool, err, out);
    *out = (const char *)(uintptr_t)s.at;
    return RLF_OK;
}
