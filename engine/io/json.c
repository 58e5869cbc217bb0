/* JSON files by jansson: see json.h. */
#include "engine/io/json.h"

#include "engine/base/memory.h"
#include "engine/io/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* This thread decodes a text, which may be large: it is missed, not given up
 * on. All else that is made is small. */
static _Thread_local bool decoding;

static void *
take_memory(size_t n)
{
    return decoding ? rlf_malloc_noted(n) : rlf_malloc(n);
}

void
rlf_json_take_memory(void)
{
    json_malloc_t take;
    json_free_t give;
    json_get_alloc_funcs(&take, &give);
    if (take == malloc && give == free)
        json_set_alloc_funcs(take_memory, free);
}

/* ---- decoding ---- */

/* A text that is read piece by piece, no further once memory is missing: what
 * is served from the reserve until then is little. */
typedef struct reading {
    const char *p;
    size_t left;
    uint64_t misses; /* of this thread, before */
} reading;

static size_t
read_more(void *to, size_t room, void *from)
{
    reading *r = from;
    size_t n = r->left < room ? r->left : room;
    if (rlf_memory_misses() != r->misses)
        return (size_t)-1;
    memcpy(to, r->p, n);
    r->p += n;
    r->left -= n;
    return n;
}

json_t *
rlf_json_decode(const char *text, size_t n, size_t flags, json_error_t *where,
                bool *missing)
{
    reading r = {.p = text, .left = n, .misses = rlf_memory_misses()};
    decoding = true;
    json_t *value = json_load_callback(read_more, &r, flags, where);
    decoding = false;
    *missing = rlf_memory_misses() != r.misses ||
               (!value && json_error_code(where) == json_error_out_of_memory);
    if (!*missing)
        return value;
    json_decref(value);
    return NULL;
}

/* Writes why a text that is JSON by its form is of no use. */
static void
tell_why(const json_error_t *where, char *out, size_t room)
{
    const char *near = strstr(where->text, "near '");
    const char *end = near ? strrchr(near, '\'') : NULL;
    near = near ? near + strlen("near '") : "";
    int n = end > near ? (int)(end - near) : 0;
    out[0] = 0;
    if (json_error_code(where) == json_error_duplicate_key)
        snprintf(out, room,
                 n ? "the key %.*s is given twice" : "%.*sa key is given twice",
                 n, near);
    if (json_error_code(where) == json_error_numeric_overflow)
        snprintf(out, room,
                 n ? "the number %.*s is too large"
                   : "%.*sa number is too large",
                 n, near);
}

static rlf_status
parse(const char *file, uint32_t line, const char *text, size_t n, size_t more,
      rlf_err *err, json_t **out, rlf_json_found *found)
{
    json_error_t where;
    size_t flags =
        JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | more;
    bool missing;
    found->why[0] = 0;
    *out = rlf_json_decode(text, n, flags, &where, &missing);
    if (*out)
        return RLF_OK;
    if (missing)
        return rlf_fail_memory(err, n, "what %s holds", file);
    line += where.line > 0 ? (uint32_t)where.line - 1 : 0;
    tell_why(&where, found->why, sizeof found->why);
    if (found->why[0])
        return rlf_fail(err, RLF_USER, "%s:%u: %s", file, line, found->why);
    return rlf_fail(err, RLF_USER, "%s:%u:%d: not JSON: %s", file, line,
                    where.column, where.text);
}

rlf_status
rlf_json_parse(const char *file, uint32_t line, const char *text, size_t n,
               rlf_err *err, json_t **out)
{
    rlf_json_found found;
    return parse(file, line, text, n, JSON_DECODE_INT_AS_REAL, err, out,
                 &found);
}

rlf_status
rlf_json_parse_exact(const char *file, uint32_t line, const char *text,
                     size_t n, rlf_err *err, json_t **out,
                     rlf_json_found *found)
{
    rlf_err first = RLF_ERR_NONE;
    rlf_status status = parse(file, line, text, n, 0, &first, out, found);
    found->rounded = status < 0;
    if (status == RLF_MEMORY) /* a second try must not give other numbers */
        return rlf_fail_memory(err, n, "what %s holds", file);
    rlf_err_clear(&first);
    return found->rounded ? parse(file, line, text, n, JSON_DECODE_INT_AS_REAL,
                                  err, out, found)
                          : RLF_OK;
}

bool
rlf_json_has_whole(const json_t *value)
{
    const char *key;
    size_t i;
    json_t *item;
    double x = json_real_value(value);
    if (json_is_real(value) && x == floor(x))
        return true;
    json_array_foreach(value, i,
                       item) if (rlf_json_has_whole(item)) return true;
    json_object_foreach((json_t *)(uintptr_t)value, key,
                        item) if (rlf_json_has_whole(item)) return true;
    return false;
}

rlf_status
rlf_json_load(const char *path, rlf_err *err, json_t **out)
{
    rlf_buf file = {0};
    rlf_status status = rlf_file_read(path, RLF_JSON_MOST, err, &file);
    if (status < 0) {
        rlf_buf_free(&file);
        return status;
    }
    const char *text = file.p;
    size_t n = file.n;
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    status = RLF_USER;
    rlf_json_found found = {0};
    if (n)
        status =
            parse(path, 1, text, n, JSON_DECODE_INT_AS_REAL, err, out, &found);
    else
        rlf_fail(err, RLF_USER, "%s is empty", path);
    if (status == RLF_USER && found.why[0])
        rlf_err_hint(err, "programs that read it take one value or another: "
                          "write the one that is meant");
    else if (status == RLF_USER)
        rlf_err_hint(err, "the file is torn or was written wrongly: copy, "
                          "download or save it again");
    rlf_buf_free(&file);
    return status;
}

rlf_status
rlf_json_load_object(const char *path, rlf_err *err, json_t **out)
{
    json_t *value = NULL;
    RLF_TRY(rlf_json_load(path, err, &value));
    if (!json_is_object(value)) {
        rlf_fail(err, RLF_USER, "%s: %s where an object is wanted", path,
                 rlf_json_word(value));
        json_decref(value);
        return RLF_USER;
    }
    *out = value;
    return RLF_OK;
}

const char *
rlf_json_word(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        break;
    }
    return "null";
}

bool
rlf_json_as_int(const json_t *value, int64_t *out)
{
    double x = json_number_value(value);
    if (!json_is_number(value) || x != floor(x) || fabs(x) > 0x1p53)
        return false;
    *out = (int64_t)x;
    return true;
}

/* The member, or NULL where it is absent or null and not needed. */
static rlf_status
member(const json_t *object, const char *file, const char *key, bool need,
       const char *want, rlf_err *err, json_t **out)
{
    *out = json_object_get(object, key);
    if (json_is_null(*out))
        *out = NULL;
    if (!*out && need)
        return rlf_fail(err, RLF_USER, "%s: \"%s\" is missing, %s is wanted",
                        file, key, want);
    return RLF_OK;
}

static rlf_status
wrong(const json_t *value, const char *file, const char *key, const char *want,
      rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "%s: \"%s\" is %s where %s is wanted", file,
                    key, rlf_json_word(value), want);
}

rlf_status
rlf_json_get_int(const json_t *object, const char *file, const char *key,
                 bool need, rlf_err *err, int64_t *out)
{
    json_t *value;
    RLF_TRY(member(object, file, key, need, "an integer", err, &value));
    if (value && !rlf_json_as_int(value, out))
        return wrong(value, file, key, "an integer", err);
    return RLF_OK;
}

rlf_status
rlf_json_get_number(const json_t *object, const char *file, const char *key,
                    bool need, rlf_err *err, double *out)
{
    json_t *value;
    RLF_TRY(member(object, file, key, need, "a number", err, &value));
    if (value && !json_is_number(value))
        return wrong(value, file, key, "a number", err);
    if (value)
        *out = json_number_value(value);
    return RLF_OK;
}

rlf_status
rlf_json_get_bool(const json_t *object, const char *file, const char *key,
                  bool need, rlf_err *err, bool *out)
{
    json_t *value;
    RLF_TRY(member(object, file, key, need, "true or false", err, &value));
    if (value && !json_is_boolean(value))
        return wrong(value, file, key, "true or false", err);
    if (value)
        *out = json_is_true(value);
    return RLF_OK;
}

rlf_status
rlf_json_get_text(const json_t *object, const char *file, const char *key,
                  bool need, rlf_err *err, const char **out)
{
    json_t *value;
    RLF_TRY(member(object, file, key, need, "a text", err, &value));
    if (value && !json_is_string(value))
        return wrong(value, file, key, "a text", err);
    if (value)
        *out = json_string_value(value);
    return RLF_OK;
}

rlf_status
rlf_json_get_object(const json_t *object, const char *file, const char *key,
                    bool need, rlf_err *err, json_t **out)
{
    json_t *value;
    RLF_TRY(member(object, file, key, need, "an object", err, &value));
    if (value && !json_is_object(value))
        return wrong(value, file, key, "an object", err);
    if (value)
        *out = value;
    return RLF_OK;
}

rlf_status
rlf_json_get_array(const json_t *object, const char *file, const char *key,
                   bool need, rlf_err *err, json_t **out)
{
    json_t *value;
    RLF_TRY(member(object, file, key, need, "a list", err, &value));
    if (value && !json_is_array(value))
        return wrong(value, file, key, "a list", err);
    if (value)
        *out = value;
    return RLF_OK;
}

const char *
rlf_json_print(json_t *root, rlf_arena *arena)
{
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS |
                                      JSON_REAL_PRECISION(15));
    const char *copy = rlf_arena_printf(arena, "%s\n", text);
    free(text);
    json_decref(root);
    return copy;
}
