/* The footer of parquet files: see parquet_inside.h. */
#include "engine/io/parquet_inside.h"

#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/io/thrift.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_FOOTER = 256 << 20, /* bytes */
    DEEPEST = 64,            /* columns in columns */
};

typedef RLF_VEC(rlf_parquet_node) node_list;

/* A schema on its way into a tree, and what is read of the rest. */
typedef struct footer {
    rlf_arena *arena;
    rlf_thrift t;
    node_list nodes; /* depth first, as in the file; n_children is set */
    size_t next;     /* of nodes, to be put into the tree */
    const char *why; /* why it is refused, or NULL */
    rlf_parquet_schema *out;
} footer;

/* ---- thrift ---- */

/* Reads a logical type by its number; a later one overrides converted types. */
static void
read_logical(rlf_thrift *t, rlf_parquet_node *node)
{
    static const rlf_parquet_means means[] = {
        [1] = RLF_PARQUET_ITSELF,  [2] = RLF_PARQUET_MAP,
        [3] = RLF_PARQUET_LIST,    [4] = RLF_PARQUET_ITSELF,
        [5] = RLF_PARQUET_DECIMAL, [6] = RLF_PARQUET_DATE,
        [7] = RLF_PARQUET_TIME,    [8] = RLF_PARQUET_TIMESTAMP,
        [9] = RLF_PARQUET_OTHER,   [10] = RLF_PARQUET_ITSELF,
        [11] = RLF_PARQUET_ITSELF, [12] = RLF_PARQUET_ITSELF,
        [13] = RLF_PARQUET_OTHER,  [14] = RLF_PARQUET_OTHER,
        [15] = RLF_PARQUET_HALF};
    static const int digits[] = {0, 3, 6, 9}; /* by the number of the unit */
    int id = 0, type, of;
    while (rlf_thrift_field(t, &id, &type)) {
        int kind = id, unit = 0;
        node->means =
            kind < (int)RLF_COUNT(means) ? means[kind] : RLF_PARQUET_OTHER;
        if (!rlf_thrift_struct(t, type))
            continue;
        for (int part = 0; rlf_thrift_field(t, &part, &of);) {
            bool time = kind == 7 || kind == 8;
            if (time && part == 2 && rlf_thrift_struct(t, of)) {
                for (unit = 0; rlf_thrift_field(t, &unit, &of);) {
                    node->scale = unit <= 3 ? digits[unit] : 0;
                    rlf_thrift_skip(t, of);
                }
            } else if (time && part == 1) {
                node->utc = rlf_thrift_int(t, of) != 0;
            } else if (kind == 10 && part == 2) {
                if (!rlf_thrift_int(t, of))
                    node->means = RLF_PARQUET_UNSIGNED;
            } else if (!(time && part == 2)) {
                rlf_thrift_skip(t, of);
            }
        }
    }
}

/* Sets the meaning by the converted type, which older files have instead of a
 * logical one. */
static void
set_converted(rlf_parquet_node *node, int64_t kind)
{
    switch (kind) {
    case 1:
    case 2:
        node->means = RLF_PARQUET_MAP;
        break;
    case 3:
        node->means = RLF_PARQUET_LIST;
        break;
    case 5:
        node->means = RLF_PARQUET_DECIMAL;
        break;
    case 6:
        node->means = RLF_PARQUET_DATE;
        break;
    case 7:
    case 8:
        node->means = RLF_PARQUET_TIME;
        node->scale = kind == 7 ? 3 : 6;
        break;
    case 9:
    case 10:
        node->means = RLF_PARQUET_TIMESTAMP;
        node->scale = kind == 9 ? 3 : 6;
        node->utc = true;
        break;
    case 11:
    case 12:
    case 13:
    case 14:
        node->means = RLF_PARQUET_UNSIGNED;
        break;
    case 20:
    case 21:
        node->means = RLF_PARQUET_OTHER;
        break;
    default: /* texts, signed integers */
        break;
    }
}

static void
read_element(footer *f)
{
    rlf_thrift *t = &f->t;
    rlf_parquet_node node = {.name = "", .type = -1};
    int64_t scale = 0, converted = -1, children = 0;
    bool logical = false;
    for (int id = 0, type; rlf_thrift_field(t, &id, &type);)
        switch (id) {
        case 1:
            node.type = (int)rlf_thrift_int(t, type);
            break;
        case 2:
            node.width = (int)rlf_thrift_int(t, type);
            break;
        case 3:
            node.repetition = (int)rlf_thrift_int(t, type);
            break;
        case 4: {
            rlf_str name = rlf_thrift_text(t, type);
            node.name = rlf_arena_strndup(f->arena, name.p, name.n);
            break;
        }
        case 5:
            children = rlf_thrift_int(t, type);
            break;
        case 6:
            converted = rlf_thrift_int(t, type);
            break;
        case 7:
            scale = rlf_thrift_int(t, type);
            break;
        case 10:
            logical = rlf_thrift_struct(t, type);
            if (logical)
                read_logical(t, &node);
            break;
        default:
            rlf_thrift_skip(t, type);
        }
    if (!logical)
        set_converted(&node, converted);
    if (node.means == RLF_PARQUET_DECIMAL)
        node.scale = (int)scale;
    if (node.type < -1 || node.type >= RLF_PARQUET_TYPES || children < 0 ||
        children > INT32_MAX || node.repetition < 0 || node.repetition > 2 ||
        node.width < 0 || node.scale < 0 || node.scale > 400)
        t->bad = true;
    if (node.type == RLF_PARQUET_FIXED && !node.width)
        t->bad = true;
    if (children)
        node.type = -1;
    node.n_children = (size_t)children;
    RLF_PUSH(&f->nodes, node);
}

static void
read_chunk(footer *f, rlf_parquet_chunk *out)
{
    rlf_thrift *t = &f->t;
    int of;
    int64_t data = 0, dictionary = 0, bytes = 0, values = 0;
    for (int id = 0, type; rlf_thrift_field(t, &id, &type);) {
        if (id == 1)
            f->why = "has columns in other files";
        if (id == 8 || id == 9)
            f->why = "is encrypted";
        if (id != 3 || !rlf_thrift_struct(t, type)) {
            if (id != 3)
                rlf_thrift_skip(t, type);
            continue;
        }
        for (int part = 0; rlf_thrift_field(t, &part, &of);) {
            int64_t *to = part == 5    ? &values
                          : part == 7  ? &bytes
                          : part == 9  ? &data
                          : part == 11 ? &dictionary
                                       : NULL;
            if (to)
                *to = rlf_thrift_int(t, of);
            else if (part == 4)
                out->codec = (int)rlf_thrift_int(t, of);
            else
                rlf_thrift_skip(t, of);
        }
    }
    if (dictionary > 0 && dictionary < data)
        data = dictionary;
    if (data < (values ? 4 : 0) || bytes < 0 || values < 0)
        t->bad = true;
    *out = (rlf_parquet_chunk){.at = (uint64_t)data,
                               .bytes = (uint64_t)bytes,
                               .values = (uint64_t)values,
                               .codec = out->codec};
}

static void
read_group(footer *f, rlf_parquet_group *out)
{
    rlf_thrift *t = &f->t;
    int of;
    for (int id = 0, type; rlf_thrift_field(t, &id, &type);) {
        if (id == 3) {
            out->rows = (uint64_t)rlf_thrift_int(t, type);
        } else if (id == 1) {
            size_t n = rlf_thrift_list(t, type, &of);
            if (n != f->out->n_leaves)
                t->bad = true;
            out->chunks = RLF_NEW_ARRAY(f->arena, rlf_parquet_chunk, n);
            for (size_t i = 0; i < n && !t->bad && !t->cut; i++)
                if (rlf_thrift_struct(t, of))
                    read_chunk(f, &out->chunks[i]);
        } else {
            rlf_thrift_skip(t, type);
        }
    }
    if (!out->chunks || out->rows > INT64_MAX)
        t->bad = true;
}

/* ---- the tree ---- */

/* Columns of one name cannot be told apart. */
static void
check_names(footer *f, const rlf_parquet_node *node)
{
    rlf_map names = {.arena = f->arena};
    for (size_t i = 0; i < node->n_children && !f->t.bad && !f->why; i++)
        if (rlf_map_put(&names, node->children[i].name, &node->children[i]))
            f->why = rlf_arena_printf(f->arena, "has the column \"%.*s\" twice",
                                      RLF_CUT(200, node->children[i].path));
}

static void
grow(footer *f, rlf_parquet_node *node, const rlf_parquet_node *parent,
     int depth)
{
    int rep = parent ? parent->rep : 0, def = parent ? parent->def : 0;
    rlf_parquet_schema *s = f->out;
    if (depth > DEEPEST || f->next >= f->nodes.count) {
        f->t.bad = true;
        return;
    }
    *node = f->nodes.data[f->next++];
    node->path = node->name;
    if (depth > 1)
        node->path =
            rlf_arena_printf(f->arena, "%s.%s", parent->path, node->name);
    if (depth) {
        rep += node->repetition == RLF_PARQUET_REPEATED;
        def += node->repetition != RLF_PARQUET_REQUIRED;
    }
    node->rep = rep;
    node->def = def;
    node->leaf = s->n_leaves;
    if (node->n_children > f->nodes.count) {
        f->t.bad = true;
        return;
    }
    if (node->type >= 0) {
        s->leaves[s->n_leaves++] = node;
    } else {
        node->children =
            RLF_NEW_ARRAY(f->arena, rlf_parquet_node, node->n_children);
        for (size_t i = 0; i < node->n_children && !f->t.bad; i++)
            grow(f, &node->children[i], node, depth + 1);
        check_names(f, node);
    }
    node->n_leaves = s->n_leaves - node->leaf;
    if (!node->n_leaves && depth) /* nothing could tell its rows */
        f->t.bad = true;
}

static void
read_schema(footer *f, int type)
{
    int of;
    size_t n = rlf_thrift_list(&f->t, type, &of);
    for (size_t i = 0; i < n && !f->t.bad && !f->t.cut; i++)
        if (rlf_thrift_struct(&f->t, of))
            read_element(f);
    f->out->leaves =
        RLF_NEW_ARRAY(f->arena, const rlf_parquet_node *, f->nodes.count);
    grow(f, &f->out->root, NULL, 0);
    if (f->next != f->nodes.count)
        f->t.bad = true;
}

static void
read_all(footer *f)
{
    rlf_thrift *t = &f->t;
    rlf_parquet_schema *s = f->out;
    int of;
    for (int id = 0, type; rlf_thrift_field(t, &id, &type);) {
        if (id == 2) {
            read_schema(f, type);
        } else if (id == 4) {
            s->n_groups = rlf_thrift_list(t, type, &of);
            s->groups = RLF_NEW_ARRAY(f->arena, rlf_parquet_group, s->n_groups);
            for (size_t i = 0; i < s->n_groups && !t->bad && !t->cut; i++)
                if (rlf_thrift_struct(t, of))
                    read_group(f, &s->groups[i]);
                else
                    t->bad = true; /* it would have no chunks */
        } else {
            if (id == 8)
                f->why = "is encrypted";
            rlf_thrift_skip(t, type);
        }
    }
    if (!s->leaves)
        t->bad = true;
}

static rlf_status
fail_file(const char *path, const char *why, rlf_err *err)
{
    return rlf_fail(err, RLF_USER,
                    "%s is no parquet file that can be read: it "
                    "%s",
                    path, why);
}

rlf_status
rlf_parquet_schema_read(const char *path, const rlf_infile *file,
                        rlf_arena *arena, rlf_err *err, rlf_parquet_schema *out)
{
    uint8_t tail[8] = {0};
    uint64_t size = rlf_infile_size(file);
    *out = (rlf_parquet_schema){0};
    if (size < 12)
        return fail_file(path, "is too short", err);
    RLF_TRY(rlf_infile_read(file, size - 8, tail, 8, err));
    uint32_t n = (uint32_t)tail[0] | (uint32_t)tail[1] << 8 |
                 (uint32_t)tail[2] << 16 | (uint32_t)tail[3] << 24;
    if (memcmp(&tail[4], "PARE", 4) == 0)
        return fail_file(path, "is encrypted", err);
    if (memcmp(&tail[4], "PAR1", 4) != 0)
        return fail_file(path, "does not end with PAR1, so it was cut", err);
    if (n > size - 12 || n > MOST_FOOTER)
        return fail_file(path, "has a footer of an impossible length", err);
    uint8_t *bytes = malloc(n ? n : 1);
    if (!bytes)
        return rlf_fail_memory(err, n, "the footer of %s", path);
    rlf_status status = rlf_infile_read(file, size - 8 - n, bytes, n, err);
    footer f = {.arena = arena,
                .t = {.p = bytes, .end = bytes + n},
                .out = out};
    if (status >= 0)
        read_all(&f);
    RLF_VEC_FREE(&f.nodes);
    free(bytes);
    if (status >= 0 && (f.t.bad || f.t.cut))
        status = fail_file(path, "has a footer that is damaged", err);
    if (status >= 0 && f.why)
        status = fail_file(path, f.why, err);
    return status;
}
