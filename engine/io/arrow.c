/* Arrow files: see arrow.h. Messages one after the other, each with metadata in
 * a flatbuffer and a body of buffers; the first is the schema, the others are
 * batches of rows. Nothing of it is trusted: places outside of what was read
 * make a file that is damaged. */
#include "engine/io/arrow.h"

#include "engine/base/arena.h"
#include "engine/io/file.h"
#include "engine/io/parquet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH = 64,                /* of columns in columns */
    MOST_META = 64 << 20,      /* bytes of a message's metadata */
    MOST_COLUMNS = 1 << 16,    /* of all depths */
    MOST_EMPTY_ROWS = 1 << 20, /* of a batch without bytes */
};

/* Arrow's types (Schema.fbs), and headers of messages. */
enum {
    OF_NULL = 1,
    OF_INT,
    OF_FLOAT,
    OF_BINARY,
    OF_UTF8,
    OF_BOOL,
    OF_DECIMAL,
    OF_DATE,
    OF_TIME,
    OF_TIMESTAMP,
    OF_INTERVAL,
    OF_LIST,
    OF_STRUCT,
    OF_UNION,
    OF_FIXED_BINARY,
    OF_FIXED_LIST,
    OF_MAP,
    OF_DURATION,
    OF_LARGE_BINARY,
    OF_LARGE_UTF8,
    OF_LARGE_LIST,
    OF_TYPES
};
enum { HAS_SCHEMA = 1, HAS_DICTIONARY, HAS_ROWS };

/* Of each type: its name, its buffers behind that of what is null (-1: it has
 * none of these either), and whether it is read. */
static const struct {
    const char *name;
    int buffers;
    bool read;
} types[OF_TYPES] = {
    [0] = {"none", -1, false},
    [OF_NULL] = {"null", -1, true},
    [OF_INT] = {"integers", 1, true},
    [OF_FLOAT] = {"floats", 1, true},
    [OF_BINARY] = {"bytes", 2, true},
    [OF_UTF8] = {"texts", 2, true},
    [OF_BOOL] = {"truth values", 1, true},
    [OF_DECIMAL] = {"decimals", 1, false},
    [OF_DATE] = {"dates", 1, false},
    [OF_TIME] = {"times", 1, false},
    [OF_TIMESTAMP] = {"timestamps", 1, false},
    [OF_INTERVAL] = {"intervals", 1, false},
    [OF_LIST] = {"lists", 1, true},
    [OF_STRUCT] = {"structs", 0, true},
    [OF_UNION] = {"unions", -1, false},
    [OF_FIXED_BINARY] = {"bytes of a fixed length", 1, false},
    [OF_FIXED_LIST] = {"lists of a fixed length", 0, false},
    [OF_MAP] = {"maps", 1, true},
    [OF_DURATION] = {"durations", 1, false},
    [OF_LARGE_BINARY] = {"bytes", 2, true},
    [OF_LARGE_UTF8] = {"texts", 2, true},
    [OF_LARGE_LIST] = {"lists", 1, true},
};

typedef struct column {
    const char *name;
    unsigned type, width;            /* bits of a number */
    bool is_signed, wanted, encoded; /* by a dictionary */
    struct column *child;
    size_t n;
    /* In the batch at hand. */
    uint64_t length;
    const uint8_t *valid; /* bits; NULL: none is null */
    const uint8_t *data;  /* of numbers and texts */
    uint64_t bytes;
    const uint8_t *offset; /* of texts and lists */
} column;

/* Bytes of metadata; `bad`: something lay outside. */
typedef struct flat {
    const uint8_t *p;
    size_t n;
    bool bad;
} flat;

struct rlf_arrow {
    rlf_arena *arena;
    rlf_infile *input;
    const char *path;
    uint64_t at, size;
    column root; /* its children are the columns */
    size_t n_columns;
    rlf_buf meta, body;
    uint64_t row, rows; /* of the batch */
    bool damaged;
    char why[160];
};

static rlf_status
fail_damaged(const rlf_arrow *a, rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "%s is damaged, or no file of Arrow",
                    a->path);
}

/* ---- flatbuffers ---- */

static uint64_t
number(flat *f, size_t at, size_t bytes)
{
    uint64_t x = 0;
    if (at > f->n || f->n - at < bytes) {
        f->bad = true;
        return 0;
    }
    memcpy(&x, f->p + at, bytes);
    return x;
}

/* The place of field k of a table; 0: it has none. */
static size_t
field(flat *f, size_t table, unsigned k)
{
    size_t names = table - (size_t)(int32_t)number(f, table, 4);
    size_t slot = 4 + 2 * (size_t)k;
    if (f->bad || number(f, names, 2) < slot + 2)
        return 0;
    size_t off = number(f, names + slot, 2);
    return off && !f->bad ? table + off : 0;
}

/* The place that field k of a table refers to; 0: it has none. */
static size_t
refer(flat *f, size_t table, unsigned k)
{
    size_t at = field(f, table, k);
    return at ? at + number(f, at, 4) : 0;
}

static uint64_t
value(flat *f, size_t table, unsigned k, size_t bytes)
{
    size_t at = field(f, table, k);
    return at ? number(f, at, bytes) : 0;
}

/* Elements of a vector, `size` bytes each, which are behind *at. */
static size_t
vector(flat *f, size_t table, unsigned k, size_t size, size_t *at)
{
    size_t place = refer(f, table, k);
    size_t n = place ? number(f, place, 4) : 0;
    *at = place + 4;
    if (n && (f->bad || *at > f->n || (f->n - *at) / size < n))
        f->bad = true;
    return f->bad ? 0 : n;
}

/* ---- messages ---- */

static rlf_status
read_bytes(rlf_arrow *a, uint64_t n, rlf_err *err, rlf_buf *out)
{
    rlf_buf_clear(out);
    if (n > a->size - a->at)
        return fail_damaged(a, err);
    if (!rlf_buf_try(out, n))
        return rlf_fail_memory(err, n, "a part of %s", a->path);
    RLF_TRY(rlf_infile_read(a->input, a->at, out->p, n, err));
    out->n = n;
    a->at += n;
    return RLF_OK;
}

/* The next message: its header, and its body in a->body. *kind 0: there is
 * none. */
static rlf_status
next_message(rlf_arrow *a, rlf_err *err, flat *f, unsigned *kind,
             size_t *header)
{
    uint32_t n = 0;
    *kind = 0;
    for (int i = 0; i < 2 && (i == 0 || n == UINT32_MAX); i++) {
        if (i == 0 && a->size - a->at < sizeof n)
            return RLF_OK;
        RLF_TRY(read_bytes(a, sizeof n, err, &a->meta));
        memcpy(&n, a->meta.p, sizeof n);
    }
    if (!n)
        return RLF_OK; /* a file's index stands behind */
    if (n > MOST_META)
        return fail_damaged(a, err);
    RLF_TRY(read_bytes(a, n, err, &a->meta));
    *f = (flat){(const uint8_t *)a->meta.p, a->meta.n, false};
    size_t root = number(f, 0, 4);
    unsigned is = (unsigned)value(f, root, 1, 1);
    *header = refer(f, root, 2);
    uint64_t bytes = value(f, root, 3, 8);
    if (f->bad || !*header || bytes > a->size - a->at)
        return fail_damaged(a, err);
    *kind = is ? is : UINT32_MAX;
    if (is != HAS_ROWS) {
        a->at += bytes;
        return RLF_OK;
    }
    return read_bytes(a, bytes, err, &a->body);
}

/* ---- the schema ---- */

static rlf_status read_columns(rlf_arrow *a, flat *f, size_t table, unsigned k,
                               int depth, column *of, rlf_err *err);

static rlf_status
read_column(rlf_arrow *a, flat *f, size_t table, int depth, column *out,
            rlf_err *err)
{
    size_t at, n = vector(f, table, 0, 1, &at), type = refer(f, table, 3);
    out->name =
        rlf_arena_strndup(a->arena, n ? (const char *)f->p + at : "", n);
    out->type = (unsigned)value(f, table, 2, 1);
    out->encoded = refer(f, table, 4) != 0;
    if (out->type == OF_INT && type) {
        out->width = (unsigned)value(f, type, 0, 4);
        out->is_signed = value(f, type, 1, 1) != 0;
    } else if (out->type == OF_FLOAT && type) {
        out->width = 16u << (value(f, type, 0, 2) & 3);
    }
    if (f->bad)
        return fail_damaged(a, err);
    return read_columns(a, f, table, 5, depth + 1, out, err);
}

/* The columns that vector k of the table has. */
static rlf_status
read_columns(rlf_arrow *a, flat *f, size_t table, unsigned k, int depth,
             column *of, rlf_err *err)
{
    size_t at, n = vector(f, table, k, 4, &at);
    a->n_columns += n;
    if (f->bad || depth > DEPTH || a->n_columns > MOST_COLUMNS)
        return fail_damaged(a, err);
    of->child = RLF_NEW_ARRAY(a->arena, column, n + 1);
    of->n = n;
    for (size_t i = 0; i < n; i++) {
        size_t place = at + 4 * i;
        RLF_TRY(read_column(a, f, place + number(f, place, 4), depth,
                            &of->child[i], err));
    }
    return RLF_OK;
}

/* Checks that a wanted column can be read, and one that is not passed over. */
static rlf_status
check_column(const rlf_arrow *a, const column *c, const char *name,
             rlf_err *err)
{
    bool lists =
        c->type == OF_LIST || c->type == OF_LARGE_LIST || c->type == OF_MAP;
    bool pairs =
        c->type != OF_MAP ||
        (c->n == 1 && c->child[0].type == OF_STRUCT && c->child[0].n == 2);
    bool odd =
        (lists && c->n != 1) || !pairs ||
        (c->type == OF_INT && (c->width > 64 || c->width % 8 || !c->width ||
                               (c->width & (c->width - 1))));
    if (odd)
        return fail_damaged(a, err);
    const char *is = c->type < OF_TYPES ? types[c->type].name : NULL;
    bool reads = is && types[c->type].read && !c->encoded &&
                 !(c->type == OF_FLOAT && c->width < 32);
    if (!is || c->type == OF_UNION || (c->wanted && !reads)) {
        rlf_fail(err, RLF_USER,
                 "%s: column \"%.*s\" has %s, which are not read", a->path,
                 RLF_CUT(60, name),
                 !is          ? "values of a newer type"
                 : c->encoded ? "values by a dictionary"
                              : is);
        rlf_err_hint(err, "to_parquet(\"FILE.parquet\") of the library "
                          "datasets writes what parquet(...) reads");
        return RLF_USER;
    }
    for (size_t i = 0; i < c->n; i++)
        RLF_TRY(check_column(a, &c->child[i], name, err));
    return RLF_OK;
}

static void
want(column *c, bool wanted)
{
    c->wanted = wanted;
    for (size_t i = 0; i < c->n; i++)
        want(&c->child[i], wanted);
}

/* If all columns are wanted, takes those that can be read. */
static rlf_status
choose_column(const rlf_arrow *a, column *c, const char *const *fields,
              size_t n, rlf_err *err)
{
    size_t m = strlen(c->name);
    bool all = false, named = false;
    for (size_t k = 0; k < n; k++) {
        all |= strcmp(fields[k], RLF_PARQUET_ALL) == 0;
        named |= strncmp(fields[k], c->name, m) == 0 &&
                 (!fields[k][m] || fields[k][m] == '.');
    }
    want(c, all || named);
    rlf_err why = RLF_ERR_NONE;
    if (all && !named && check_column(a, c, c->name, &why) < 0)
        want(c, false);
    return check_column(a, c, c->name, err);
}

static rlf_status
read_schema(rlf_arrow *a, const char *const *fields, size_t n, rlf_err *err)
{
    flat f;
    unsigned kind;
    size_t header;
    RLF_TRY(next_message(a, err, &f, &kind, &header));
    if (kind != HAS_SCHEMA || value(&f, header, 0, 2) != 0)
        return fail_damaged(a, err);
    RLF_TRY(read_columns(a, &f, header, 1, 0, &a->root, err));
    for (size_t i = 0; i < a->root.n; i++)
        RLF_TRY(choose_column(a, &a->root.child[i], fields, n, err));
    return RLF_OK;
}

/* ---- a batch ---- */

typedef struct batch {
    flat *f;
    size_t nodes, n_nodes, buffers, n_buffers;
    size_t node, buffer; /* the next ones */
    const uint8_t *body;
    uint64_t bytes;
} batch;

/* The next buffer, of at least so many bytes; NULL: it is not there. */
static const uint8_t *
take_buffer(batch *b, uint64_t least, uint64_t *bytes, bool *good)
{
    size_t at = b->buffers + 16 * b->buffer;
    *bytes = 0;
    if (b->buffer++ >= b->n_buffers) {
        *good = false;
        return NULL;
    }
    uint64_t from = number(b->f, at, 8), n = number(b->f, at + 8, 8);
    *good = *good && n <= b->bytes && from <= b->bytes - n && n >= least;
    *bytes = *good ? n : 0;
    return *good && n ? b->body + from : NULL;
}

static bool
is_large(const column *c)
{
    return c->type == OF_LARGE_UTF8 || c->type == OF_LARGE_BINARY ||
           c->type == OF_LARGE_LIST;
}

static bool
is_text(const column *c)
{
    return c->type == OF_UTF8 || c->type == OF_BINARY ||
           c->type == OF_LARGE_UTF8 || c->type == OF_LARGE_BINARY;
}

static bool
has_offsets(const column *c)
{
    return is_text(c) || c->type == OF_LIST || c->type == OF_LARGE_LIST ||
           c->type == OF_MAP;
}

static uint64_t
offset_at(const column *c, uint64_t i)
{
    uint64_t x = 0;
    size_t size = is_large(c) ? 8 : 4;
    memcpy(&x, c->offset + size * i, size);
    return x;
}

/* Do offsets of n elements never fall, so that no element is in two? */
static bool
rise(const column *c, uint64_t n)
{
    bool good = true;
    for (uint64_t i = 0; i < n && good; i++)
        good = offset_at(c, i) <= offset_at(c, i + 1);
    return good;
}

/* Bytes that n elements have at least behind what is null. */
static uint64_t
least_of(const column *c, uint64_t n)
{
    if (c->encoded)
        return 0;
    return c->type == OF_BOOL                         ? (n + 7) / 8
           : c->type == OF_INT || c->type == OF_FLOAT ? n * (c->width / 8)
                                                      : 0;
}

/* Lays the buffers of a column and those in it; false: they are not there. */
static bool
lay(batch *b, column *c)
{
    bool good = b->node < b->n_nodes;
    uint64_t bytes, nulls = 0, n = 0;
    if (good) {
        n = number(b->f, b->nodes + 16 * b->node, 8);
        nulls = number(b->f, b->nodes + 16 * b->node++ + 8, 8);
    }
    /* elements without a byte cost nothing to lie about */
    good = good && n <= 8 * b->bytes + MOST_EMPTY_ROWS;
    int buffers = c->encoded ? 1 : types[c->type].buffers;
    c->length = good ? n : 0;
    c->valid = c->data = c->offset = NULL;
    if (good && buffers >= 0)
        c->valid = take_buffer(b, nulls ? (n + 7) / 8 : 0, &bytes, &good);
    if (!nulls)
        c->valid = NULL;
    if (good && !c->encoded && has_offsets(c)) {
        uint64_t least = n ? (n + 1) * (is_large(c) ? 8 : 4) : 0;
        c->offset = take_buffer(b, least, &bytes, &good);
        good = good && (!n || rise(c, n));
        buffers--;
    }
    for (; buffers > 0 && good; buffers--)
        c->data = take_buffer(b, least_of(c, n), &c->bytes, &good);
    for (size_t i = 0; i < c->n && good && !c->encoded; i++)
        good = lay(b, &c->child[i]) &&
               (c->type != OF_STRUCT || c->child[i].length == n);
    return good && !b->f->bad;
}

/* *more is false: there is no batch with rows any more. */
static rlf_status
next_batch(rlf_arrow *a, rlf_err *err, bool *more)
{
    flat f;
    unsigned kind = UINT32_MAX;
    size_t header;
    *more = false;
    a->row = a->rows = 0;
    while (kind && !a->rows) {
        RLF_TRY(next_message(a, err, &f, &kind, &header));
        if (kind != HAS_ROWS)
            continue;
        batch b = {
            .f = &f, .body = (const uint8_t *)a->body.p, .bytes = a->body.n};
        a->rows = value(&f, header, 0, 8);
        b.n_nodes = vector(&f, header, 1, 16, &b.nodes);
        b.n_buffers = vector(&f, header, 2, 16, &b.buffers);
        if (refer(&f, header, 3))
            return rlf_fail(err, RLF_USER,
                            "%s has compressed buffers, which are not read",
                            a->path);
        bool good = !f.bad && a->rows <= 8 * b.bytes + MOST_EMPTY_ROWS;
        for (size_t i = 0; i < a->root.n && good; i++)
            good = lay(&b, &a->root.child[i]) &&
                   a->root.child[i].length == a->rows;
        if (!good)
            return fail_damaged(a, err);
    }
    *more = a->rows > 0;
    return RLF_OK;
}

/* ---- values ---- */

static void
note(rlf_arrow *a, const column *c, const char *what)
{
    if (!a->why[0])
        snprintf(a->why, sizeof a->why, "\"%.*s\" %s", RLF_CUT(60, c->name),
                 what);
}

static bool
bit(const uint8_t *bits, uint64_t i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

/* Elements [*from, *to) of what row i of a list or text has, of `most`; false:
 * the file is damaged. */
static bool
range(rlf_arrow *a, const column *c, uint64_t i, uint64_t most, uint64_t *from,
      uint64_t *to)
{
    *from = c->offset ? offset_at(c, i) : 0;
    *to = c->offset ? offset_at(c, i + 1) : 0;
    bool good = c->offset && *from <= *to && *to <= most;
    a->damaged |= !good;
    return good;
}

static json_t *
integer_of(rlf_arrow *a, const column *c, uint64_t i)
{
    uint64_t x = 0;
    size_t bytes = c->width / 8;
    memcpy(&x, c->data + bytes * i, bytes);
    if (c->is_signed && bytes < 8 && x >> (8 * bytes - 1))
        x |= ~(uint64_t)0 << 8 * bytes;
    if (!c->is_signed && x > INT64_MAX)
        note(a, c, "is an integer of more than 63 bits");
    return json_integer((json_int_t)x);
}

static json_t *
real_of(rlf_arrow *a, const column *c, uint64_t i)
{
    float narrow;
    double x;
    if (c->width == 32) {
        memcpy(&narrow, c->data + 4 * i, 4);
        x = (double)narrow;
    } else {
        memcpy(&x, c->data + 8 * i, 8);
    }
    if (isfinite(x))
        return json_real(x);
    note(a, c, "is no finite number");
    return json_null();
}

static json_t *
text_of(rlf_arrow *a, const column *c, uint64_t i)
{
    uint64_t from, to;
    if (!range(a, c, i, c->bytes, &from, &to))
        return json_null();
    json_t *text =
        json_stringn(to > from ? (const char *)c->data + from : "", to - from);
    if (text)
        return text;
    note(a, c, "is no text in UTF-8");
    return json_null();
}

static json_t *value_of(rlf_arrow *a, const column *c, uint64_t i);

static json_t *
list_of(rlf_arrow *a, const column *c, uint64_t i)
{
    json_t *list = json_array();
    uint64_t from, to;
    if (range(a, c, i, c->child[0].length, &from, &to))
        for (uint64_t k = from; k < to && !a->damaged; k++)
            json_array_append_new(list, value_of(a, &c->child[0], k));
    return list;
}

static json_t *
map_of(rlf_arrow *a, const column *c, uint64_t i)
{
    json_t *object = json_object();
    const column *pair = &c->child[0];
    uint64_t from, to;
    if (range(a, c, i, pair->length, &from, &to))
        for (uint64_t k = from; k < to && !a->damaged; k++) {
            json_t *key = value_of(a, &pair->child[0], k),
                   *of = value_of(a, &pair->child[1], k);
            if (!json_is_string(key))
                note(a, c, "has a key that is no text");
            else if (json_object_get(object, json_string_value(key)))
                note(a, c, "has a key twice");
            else
                json_object_set(object, json_string_value(key), of);
            json_decref(key);
            json_decref(of);
        }
    return object;
}

static json_t *
struct_of(rlf_arrow *a, const column *c, uint64_t i)
{
    json_t *object = json_object();
    for (size_t k = 0; k < c->n; k++) {
        const column *of = &c->child[k];
        if (json_object_get(object, of->name))
            note(a, of, "is the name of two fields");
        json_object_set_new(object, of->name, value_of(a, of, i));
    }
    return object;
}

/* The value of element i, which the column has; a new reference. */
static json_t *
value_of(rlf_arrow *a, const column *c, uint64_t i)
{
    bool reads = c->data || c->type == OF_STRUCT || c->offset;
    if (!c->wanted || c->type == OF_NULL || i >= c->length ||
        (c->valid && !bit(c->valid, i)))
        return json_null();
    a->damaged |= !reads;
    if (!reads)
        return json_null();
    switch (c->type) {
    case OF_INT:
        return integer_of(a, c, i);
    case OF_FLOAT:
        return real_of(a, c, i);
    case OF_BOOL:
        return json_boolean(bit(c->data, i));
    case OF_LIST:
    case OF_LARGE_LIST:
        return list_of(a, c, i);
    case OF_MAP:
        return map_of(a, c, i);
    case OF_STRUCT:
        return struct_of(a, c, i);
    default:
        return text_of(a, c, i);
    }
}

/* ---- the whole ---- */

static const char magic[] = "ARROW1\0\0";

bool
rlf_arrow_is(const char *path)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_infile *input;
    uint32_t head[2] = {0};
    if (!rlf_file_exists(path) || rlf_infile_open(path, &err, &input) < 0)
        return false;
    bool is = rlf_infile_size(input) >= sizeof head &&
              rlf_infile_read(input, 0, head, sizeof head, &err) >= 0 &&
              (memcmp(head, magic, sizeof head) == 0 ||
               (head[0] == UINT32_MAX && head[1] && head[1] <= MOST_META));
    rlf_infile_close(input);
    return is;
}

rlf_status
rlf_arrow_open(const char *path, const char *const *fields, size_t n,
               rlf_err *err, rlf_arrow **out)
{
    rlf_infile *input;
    char head[8] = "";
    RLF_TRY(rlf_infile_open(path, err, &input));
    rlf_arrow *a = *out = rlf_calloc(1, sizeof *a);
    a->arena = rlf_arena_new();
    a->path = rlf_arena_strdup(a->arena, path);
    a->input = input;
    a->size = rlf_infile_size(input);
    rlf_status status = RLF_OK;
    if (a->size >= sizeof head)
        status = rlf_infile_read(input, 0, head, sizeof head, err);
    a->at = memcmp(head, magic, sizeof head) == 0 ? sizeof head : 0;
    if (status >= 0)
        status = read_schema(a, fields, n, err);
    if (status < 0) {
        rlf_arrow_close(a);
        *out = NULL;
    }
    return status;
}

rlf_status
rlf_arrow_next(rlf_arrow *a, rlf_err *err, json_t **row, const char **why)
{
    bool more = true;
    *row = NULL;
    *why = NULL;
    if (a->row == a->rows)
        RLF_TRY(next_batch(a, err, &more));
    if (!more)
        return RLF_OK;
    a->why[0] = 0;
    json_t *object = struct_of(a, &a->root, a->row++);
    if (a->damaged) {
        json_decref(object);
        return fail_damaged(a, err);
    }
    *row = object;
    *why = a->why[0] ? a->why : NULL;
    return RLF_OK;
}

void
rlf_arrow_close(rlf_arrow *a)
{
    if (!a)
        return;
    rlf_infile_close(a->input);
    rlf_buf_free(&a->meta);
    rlf_buf_free(&a->body);
    rlf_arena_free(a->arena);
    free(a);
}
