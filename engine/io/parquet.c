/* Rows of parquet files: see parquet.h and parquet_inside.h. */
#include "engine/io/parquet_inside.h"

#include "engine/base/half.h"
#include "engine/base/regular.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rlf_parquet {
    const char *path;
    rlf_infile *file;
    rlf_arena *arena;
    rlf_parquet_schema schema;
    bool *wanted; /* by child of the root */
    rlf_parquet_cursor *cursors;
    size_t group;
    uint64_t left; /* rows of the group at hand */
    char why[256]; /* why the row at hand cannot be used, or empty */
};

/* ---- values ---- */

/* The row cannot be used: what is put instead. */
static json_t *
refuse(rlf_parquet *p, const rlf_parquet_node *node, const char *why)
{
    if (!p->why[0])
        snprintf(p->why, sizeof p->why, "\"%.*s\" %s", RLF_CUT(100, node->path),
                 why);
    return json_null();
}

static json_t *
text_of(rlf_parquet *p, const rlf_parquet_node *node, rlf_str text)
{
    json_t *out = json_stringn(text.p, text.n);
    return out ? out : refuse(p, node, "is no text in UTF-8");
}

static json_t *
number_of(rlf_parquet *p, const rlf_parquet_node *node, double x)
{
    return isfinite(x) ? json_real(x) : refuse(p, node, "is no finite number");
}

/* Days since 1970-01-01 as year, month and day (the Gregorian calendar, whose
 * years begin in March here, so that the day more is the last). */
static void
date_of(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t z = days + 719468; /* since 0000-03-01 */
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097; /* 400 years */
    int64_t y =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = y + era * 400 + (*month <= 2);
}

static int64_t
floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t
power_of_ten(int n)
{
    int64_t out = 1;
    for (; n > 0; n--)
        out *= 10;
    return out;
}

/* `clock`: "12:34:56.789" of so many parts of a second since midnight. */
static void
put_clock(rlf_buf *out, int64_t parts, int digits)
{
    int64_t unit = power_of_ten(digits), s = floor_div(parts, unit);
    rlf_buf_printf(out, "%02d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60),
                   (int)(s % 60));
    if (digits)
        rlf_buf_printf(out, ".%0*" PRId64, digits, parts - s * unit);
}

static json_t *
time_of(rlf_parquet *p, const rlf_parquet_node *node, int64_t x)
{
    int64_t year, day_parts = 86400 * power_of_ten(node->scale);
    int month, day;
    rlf_buf out = {0};
    int64_t days = node->means == RLF_PARQUET_DATE   ? x
                   : node->means == RLF_PARQUET_TIME ? 0
                                                     : floor_div(x, day_parts);
    if (node->means != RLF_PARQUET_TIME) {
        date_of(days, &year, &month, &day);
        rlf_buf_printf(&out, "%04" PRId64 "-%02d-%02d", year, month, day);
    }
    if (node->means == RLF_PARQUET_TIMESTAMP)
        rlf_buf_putc(&out, 'T');
    if (node->means != RLF_PARQUET_DATE)
        put_clock(&out, x - days * day_parts, node->scale);
    if (node->utc)
        rlf_buf_putc(&out, 'Z');
    json_t *text = text_of(p, node, (rlf_str){out.p, out.n});
    rlf_buf_free(&out);
    return text;
}

/* The digits of x, of which `scale` stand behind the point. */
static json_t *
decimal_of(rlf_parquet *p, const rlf_parquet_node *node, int64_t x)
{
    char digits[512];
    uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    int n =
        snprintf(digits, sizeof digits, "%0*" PRIu64, node->scale + 1, size);
    rlf_buf out = {0};
    if (x < 0)
        rlf_buf_putc(&out, '-');
    rlf_buf_add(&out, digits, (size_t)(n - node->scale));
    if (node->scale) {
        rlf_buf_putc(&out, '.');
        rlf_buf_puts(&out, digits + n - node->scale);
    }
    json_t *text = text_of(p, node, (rlf_str){out.p, out.n});
    rlf_buf_free(&out);
    return text;
}

/* Of bytes, the first of which is the highest; false: it has more than 64
 * bits. */
static bool
as_integer(rlf_str bytes, int64_t *out)
{
    uint64_t x = bytes.n && (bytes.p[0] & 0x80) ? UINT64_MAX : 0;
    int64_t sign = x ? -1 : 0;
    for (size_t i = 0; i < bytes.n; i++) {
        if (i + 8 < bytes.n && (uint8_t)bytes.p[i] != (uint8_t)sign)
            return false;
        x = x << 8 | (uint8_t)bytes.p[i];
    }
    *out = (int64_t)x;
    return (*out < 0) == (sign < 0);
}

static json_t *
integer_of(rlf_parquet *p, const rlf_parquet_node *node, int64_t x)
{
    if (node->means != RLF_PARQUET_UNSIGNED)
        return json_integer(x);
    if (node->type == RLF_PARQUET_INT32)
        return json_integer((int64_t)(uint32_t)x);
    return x >= 0 ? json_integer(x)
                  : refuse(p, node,
                           "is an integer of more than 53 bits, whose "
                           "digits a number does not keep");
}

static json_t *
bytes_of(rlf_parquet *p, const rlf_parquet_node *node, rlf_str bytes)
{
    int64_t x;
    if (node->means == RLF_PARQUET_DECIMAL)
        return as_integer(bytes, &x)
                   ? decimal_of(p, node, x)
                   : refuse(p, node, "is a decimal of more than 64 bits");
    if (node->means == RLF_PARQUET_HALF && bytes.n == 2)
        return number_of(
            p, node,
            (double)rlf_f16_to_f32(
                (uint16_t)((uint8_t)bytes.p[0] | (uint8_t)bytes.p[1] << 8)));
    return text_of(p, node, bytes);
}

static json_t *
value_of(rlf_parquet *p, const rlf_parquet_node *node,
         const rlf_parquet_value *v)
{
    switch (node->type) {
    case RLF_PARQUET_BOOLEAN:
        return json_boolean(v->i);
    case RLF_PARQUET_INT32:
    case RLF_PARQUET_INT64:
        if (node->means == RLF_PARQUET_DECIMAL)
            return decimal_of(p, node, v->i);
        if (node->means == RLF_PARQUET_DATE ||
            node->means == RLF_PARQUET_TIME ||
            node->means == RLF_PARQUET_TIMESTAMP)
            return time_of(p, node, v->i);
        return integer_of(p, node, v->i);
    case RLF_PARQUET_FLOAT:
    case RLF_PARQUET_DOUBLE:
        return number_of(p, node, v->d);
    default:
        return bytes_of(p, node, v->text);
    }
}

/* ---- rows ---- */

/* After an error *out may be a part, which is the caller's. */
static rlf_status read_node(rlf_parquet *p, const rlf_parquet_node *node,
                            rlf_err *err, json_t **out);

/* The levels at which what is next of the node is there. */
static rlf_status
look(rlf_parquet *p, const rlf_parquet_node *node, rlf_err *err,
     const rlf_parquet_cursor **out)
{
    *out = &p->cursors[node->leaf];
    return rlf_parquet_cursor_look(&p->cursors[node->leaf], err);
}

/* It is not there: each of its leaves says so. */
static rlf_status
pass(rlf_parquet *p, const rlf_parquet_node *node, rlf_err *err)
{
    rlf_parquet_value ignored;
    for (size_t i = 0; i < node->n_leaves; i++) {
        rlf_parquet_cursor *c = &p->cursors[node->leaf + i];
        RLF_TRY(rlf_parquet_cursor_look(c, err));
        if (c->def >= node->def)
            return rlf_fail(err, RLF_USER,
                            "%s: the parts of column \"%s\" do not agree on "
                            "where it is null",
                            p->path, node->path);
        RLF_TRY(rlf_parquet_cursor_take(c, err, &ignored));
    }
    return RLF_OK;
}

/* Does a list stand in three columns, the list, its elements and what they are?
 * In two, the elements are what is repeated: by the format's rules for files of
 * older writers. */
static bool
has_wrapper(const rlf_parquet_node *list)
{
    const rlf_parquet_node *elements = list->children;
    size_t n = strlen(list->name);
    bool tuple = strncmp(elements->name, list->name, n) == 0 &&
                 strcmp(elements->name + n, "_tuple") == 0;
    return elements->n_children == 1 && strcmp(elements->name, "array") != 0 &&
           !tuple;
}

static rlf_status
read_struct(rlf_parquet *p, const rlf_parquet_node *node, rlf_err *err,
            json_t **out)
{
    *out = json_object();
    for (size_t i = 0; i < node->n_children; i++) {
        json_t *part = NULL;
        rlf_status status = read_node(p, &node->children[i], err, &part);
        if (status < 0) {
            json_decref(part);
            return status;
        }
        if (json_object_set_new(*out, node->children[i].name, part) != 0)
            return rlf_fail(err, RLF_USER,
                            "%s: the name of a column is no text in UTF-8",
                            p->path);
    }
    return RLF_OK;
}

/* Once: a value, or a struct. */
static rlf_status
read_one(rlf_parquet *p, const rlf_parquet_node *node, rlf_err *err,
         json_t **out)
{
    rlf_parquet_value value;
    if (node->type < 0)
        return read_struct(p, node, err, out);
    RLF_TRY(rlf_parquet_cursor_take(&p->cursors[node->leaf], err, &value));
    *out = value_of(p, node, &value);
    return RLF_OK;
}

/* As often as it is there. `of`: what is put into the list, itself or its only
 * child. */
static rlf_status
read_repeated(rlf_parquet *p, const rlf_parquet_node *node,
              const rlf_parquet_node *of, rlf_err *err, json_t **out)
{
    const rlf_parquet_cursor *c;
    *out = json_array();
    RLF_TRY(look(p, node, err, &c));
    if (c->def < node->def)
        return pass(p, node, err);
    do {
        json_t *element = NULL;
        rlf_status status = of == node ? read_one(p, node, err, &element)
                                       : read_node(p, of, err, &element);
        if (status < 0) {
            json_decref(element);
            return status;
        }
        json_array_append_new(*out, element);
        RLF_TRY(look(p, node, err, &c));
    } while (!c->over && c->rep == node->rep);
    return RLF_OK;
}

/* A map is a list of keys and values. */
static void
as_object(rlf_parquet *p, const rlf_parquet_node *node, json_t **list)
{
    const rlf_parquet_node *pair = node->children;
    json_t *out = json_object(), *item;
    size_t i;
    json_array_foreach(*list, i, item)
    {
        const json_t *key = json_object_get(item, pair->children[0].name);
        if (!json_is_string(key) ||
            json_object_setn(out, json_string_value(key),
                             json_string_length(key),
                             json_object_get(item, pair->children[1].name)))
            json_decref(refuse(p, node, "is a map whose keys are no texts"));
    }
    json_decref(*list);
    *list = out;
}

static bool
is_map(const rlf_parquet_node *node)
{
    return node->means == RLF_PARQUET_MAP && node->n_children == 1 &&
           node->children->n_children == 2 &&
           node->children->repetition == RLF_PARQUET_REPEATED;
}

static bool
is_list(const rlf_parquet_node *node)
{
    return node->means == RLF_PARQUET_LIST && node->n_children == 1 &&
           node->children->repetition == RLF_PARQUET_REPEATED;
}

static rlf_status
read_node(rlf_parquet *p, const rlf_parquet_node *node, rlf_err *err,
          json_t **out)
{
    const rlf_parquet_cursor *c;
    if (node->repetition == RLF_PARQUET_REPEATED)
        return read_repeated(p, node, node, err, out);
    if (node->repetition == RLF_PARQUET_OPTIONAL) {
        RLF_TRY(look(p, node, err, &c));
        if (c->def < node->def) {
            *out = json_null();
            return pass(p, node, err);
        }
    }
    const rlf_parquet_node *first = node->children;
    if (is_list(node))
        return read_repeated(
            p, first, has_wrapper(node) ? first->children : first, err, out);
    if (is_map(node)) {
        RLF_TRY(read_repeated(p, first, first, err, out));
        as_object(p, node, out);
        return RLF_OK;
    }
    return read_one(p, node, err, out);
}

static void
next_group(rlf_parquet *p)
{
    const rlf_parquet_schema *s = &p->schema;
    const rlf_parquet_group *group = &s->groups[p->group++];
    p->left = group->rows;
    for (size_t i = 0; i < s->n_leaves; i++)
        rlf_parquet_cursor_begin(&p->cursors[i], &group->chunks[i]);
}

bool
rlf_parquet_step(rlf_parquet *p)
{
    while (!p->left && p->group < p->schema.n_groups)
        next_group(p);
    if (!p->left)
        return false;
    p->left--;
    return true;
}

size_t
rlf_parquet_text_column(const rlf_parquet *p, const char *field)
{
    const rlf_parquet_node *root = &p->schema.root;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < root->n_children; i++) {
        const rlf_parquet_node *node = &root->children[i];
        if (strcmp(node->name, field) != 0)
            continue;
        if (found != SIZE_MAX || node->type != RLF_PARQUET_BYTES ||
            node->means != RLF_PARQUET_ITSELF ||
            node->repetition == RLF_PARQUET_REPEATED)
            return SIZE_MAX;
        found = i;
    }
    return found;
}

rlf_status
rlf_parquet_take_text(rlf_parquet *p, size_t column, rlf_err *err, rlf_str *out)
{
    const rlf_parquet_node *node = &p->schema.root.children[column];
    rlf_parquet_cursor *c = &p->cursors[node->leaf];
    rlf_parquet_value value;
    RLF_TRY(rlf_parquet_cursor_look(c, err));
    bool there = c->def == node->def;
    RLF_TRY(rlf_parquet_cursor_take(c, err, &value));
    *out = there ? value.text : (rlf_str){NULL, 0};
    return RLF_OK;
}

rlf_status
rlf_parquet_next(rlf_parquet *p, rlf_err *err, json_t **row, const char **why)
{
    const rlf_parquet_node *root = &p->schema.root;
    *row = NULL;
    *why = NULL;
    p->why[0] = 0;
    if (!rlf_parquet_step(p))
        return RLF_OK;
    json_t *out = json_object();
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < root->n_children && status >= 0; i++) {
        json_t *value = NULL;
        if (p->wanted[i])
            status = read_node(p, &root->children[i], err, &value);
        else
            value = json_null();
        if (status >= 0 &&
            json_object_set_new(out, root->children[i].name, value) != 0)
            status = rlf_fail(err, RLF_USER,
                              "%s: the name of a column is no text in UTF-8",
                              p->path);
        else if (status < 0)
            json_decref(value);
    }
    if (status < 0) {
        json_decref(out);
        return status;
    }
    *row = out;
    if (p->why[0])
        *why = p->why;
    return RLF_OK;
}

/* ---- opening ---- */

bool
rlf_parquet_is(const char *path)
{
    char head[4] = {0};
    rlf_err ignored = RLF_ERR_NONE;
    uint64_t size;
    int fd;
    bool is = rlf_regular_open(path, &ignored, &fd, &size) >= 0;
    if (is) {
        is = read(fd, head, 4) == 4 && memcmp(head, "PAR1", 4) == 0;
        close(fd);
    }
    rlf_err_clear(&ignored);
    return is;
}

/* Is the column, or something in it, asked for? */
static bool
is_wanted(const char *name, const char *const *fields, size_t n)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i], RLF_PARQUET_ALL) == 0 ||
            (strncmp(fields[i], name, length) == 0 &&
             (!fields[i][length] || fields[i][length] == '.')))
            return true;
    return false;
}

/* Every leaf of a wanted column is of a type that is read. */
static rlf_status
check_leaves(const rlf_parquet *p, const rlf_parquet_node *column, rlf_err *err)
{
    for (size_t i = 0; i < column->n_leaves; i++) {
        const rlf_parquet_node *leaf = p->schema.leaves[column->leaf + i];
        if (leaf->type == RLF_PARQUET_INT96 || leaf->means == RLF_PARQUET_OTHER)
            return rlf_fail(err, RLF_USER,
                            "%s: column \"%s\" is of a type that is not "
                            "supported (a time of 96 bits, an interval, BSON, "
                            "a UUID, or a newer one)",
                            p->path, leaf->path);
    }
    return RLF_OK;
}

rlf_status
rlf_parquet_open(const char *path, const char *const *fields, size_t n,
                 rlf_err *err, rlf_parquet **out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_parquet *p = RLF_NEW(arena, rlf_parquet);
    const rlf_parquet_node *root = &p->schema.root;
    *out = NULL;
    p->arena = arena;
    p->path = rlf_arena_strdup(arena, path);
    rlf_status status = rlf_infile_open(path, err, &p->file);
    if (status >= 0)
        status =
            rlf_parquet_schema_read(p->path, p->file, arena, err, &p->schema);
    if (status >= 0) {
        p->wanted = RLF_NEW_ARRAY(arena, bool, root->n_children);
        p->cursors =
            RLF_NEW_ARRAY(arena, rlf_parquet_cursor, p->schema.n_leaves);
        for (size_t i = 0; i < p->schema.n_leaves; i++) {
            p->cursors[i].path = p->path;
            p->cursors[i].file = p->file;
            p->cursors[i].node = p->schema.leaves[i];
        }
    }
    for (size_t i = 0; i < root->n_children && status >= 0; i++) {
        p->wanted[i] = is_wanted(root->children[i].name, fields, n);
        if (p->wanted[i])
            status = check_leaves(p, &root->children[i], err);
    }
    if (status < 0)
        rlf_parquet_close(p);
    else
        *out = p;
    return status;
}

void
rlf_parquet_close(rlf_parquet *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->cursors && i < p->schema.n_leaves; i++)
        rlf_parquet_cursor_end(&p->cursors[i]);
    rlf_infile_close(p->file);
    rlf_arena_free(p->arena);
}
