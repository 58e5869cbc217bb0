/* Where the rows of a data set are once they were read, and how one is read
 * again: its texts and chats, column by column, as bytes in a row of their own.
 * Numbers are not here: they stand in their columns. */
#include "engine/io/records_inside.h"

#include <string.h>

enum { BLOCK = 512 }; /* rows */

/* What is known of so many rows. */
typedef struct block {
    const char *at[BLOCK];
    uint32_t line[BLOCK];
} block;

struct rlf_record_store {
    rlf_arena *arena; /* of the records */
    rlf_arena *kept;  /* rows in memory */
    struct {
        block **data;
        size_t count, room;
    } blocks;
    size_t count;
    size_t *first;  /* row of each file, where there are several */
    size_t n_files; /* that have begun */
};

static void
free_store(void *store_)
{
    rlf_record_store *store = store_;
    rlf_arena_free(store->kept);
    free(store);
}

rlf_record_store *
rlf_record_store_new(rlf_arena *arena, size_t n_files)
{
    rlf_record_store *store = rlf_calloc(1, sizeof *store);
    store->arena = arena;
    store->kept = rlf_arena_new();
    store->first = RLF_NEW_ARRAY(arena, size_t, n_files);
    rlf_arena_defer(arena, free_store, store);
    return store;
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
    bool good = cell->kind == RLF_RECORD_CHAT
                    ? put_chat(out, cell->chat)
                    : put_bytes(out, cell->text.p, cell->text.n);
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

rlf_status
rlf_record_store_add(rlf_record_store *store, size_t file, uint32_t line,
                     rlf_str bytes, rlf_err *err)
{
    static const char what[] = "the rows of data";
    size_t i = store->count % BLOCK;
    if (i == 0) {
        block *more;
        RLF_TRY(rlf_arena_try(store->arena, sizeof *more, what, err, &more));
        RLF_TRY_PUSH_IN(store->arena, &store->blocks, what, more);
    }
    while (store->n_files <= file)
        store->first[store->n_files++] = store->count;
    block *b = block_of(store, store->count);
    RLF_TRY(rlf_arena_room(store->kept, bytes.n + 1, what, err));
    b->at[i] = rlf_arena_strndup(store->kept, bytes.p, bytes.n);
    b->line[i] = line;
    store->count++;
    return RLF_OK;
}

rlf_records_sizes
rlf_record_store_size(const rlf_record_store *store)
{
    return (rlf_records_sizes){.memory = rlf_arena_used(store->kept)};
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

rlf_status
rlf_record_store_read(const rlf_record_store *store, size_t row,
                      rlf_arena *pool, rlf_err *err, const char **out)
{
    (void)pool, (void)err;
    *out = block_of(store, row)->at[row % BLOCK];
    return RLF_OK;
}
