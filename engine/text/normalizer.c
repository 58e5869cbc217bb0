/* The normalizer of a tokenizer file: see normalizer.h. */
#include "engine/text/normalizer.h"

#include "engine/base/vec.h"
#include "engine/io/json.h"
#include "engine/text/inside.h"
#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static const struct {
    const char *type;
    int form;
} forms[] = {
    {"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
    {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
    {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
    {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
};

rlf_status
rlf_pattern_load(const json_t *json, const char *file, rlf_arena *arena,
                 rlf_err *err, rlf_regex **out)
{
    const char *plain = NULL, *regex = NULL;
    json_t *pattern = NULL;
    RLF_TRY(rlf_json_get_object(json, file, "pattern", true, err, &pattern));
    RLF_TRY(rlf_json_get_text(pattern, file, "String", false, err, &plain));
    RLF_TRY(
        rlf_json_get_text(pattern, file, "Regex", plain == NULL, err, &regex));
    return rlf_regex_new(arena, file, plain ? plain : regex, plain != NULL, err,
                         out);
}

static rlf_str
keep_text(rlf_arena *arena, const char *text)
{
    return rlf_str_of(rlf_arena_strdup(arena, text));
}

static const struct {
    const char *type;
    rlf_normal_kind kind;
} plain[] = {
    {"Lowercase", RLF_NORMAL_LOWERCASE},
    {"StripAccents", RLF_NORMAL_STRIP_MARKS},
    {"Nmt", RLF_NORMAL_NMT},
    {"ByteLevel", RLF_NORMAL_BYTES},
};

static rlf_status
add_plain(rlf_normalizer *normalizer, rlf_normal_kind kind, rlf_arena *arena,
          rlf_err *err)
{
    struct rlf_normal_step step = {.kind = kind};
    RLF_TRY_PUSH_IN(arena, normalizer, "a tokenizer", step);
    return RLF_OK;
}

static rlf_status
add_form_step(rlf_normalizer *normalizer, const char *type, rlf_arena *arena,
              rlf_err *err, bool *found)
{
    for (size_t i = 0; i < RLF_COUNT(forms) && !*found; i++)
        if (strcmp(type, forms[i].type) == 0) {
            struct rlf_normal_step step = {.kind = RLF_NORMAL_FORM,
                                           .form = forms[i].form};
            RLF_TRY_PUSH_IN(arena, normalizer, "a tokenizer", step);
            *found = true;
        }
    return RLF_OK;
}

/* One after the other what its four switches say. */
static rlf_status
load_bert(rlf_normalizer *normalizer, const json_t *json, const char *file,
          rlf_arena *arena, rlf_err *err)
{
    bool clean = true, chinese = true, lower = true, found = false;
    RLF_TRY(rlf_json_get_bool(json, file, "clean_text", true, err, &clean));
    RLF_TRY(rlf_json_get_bool(json, file, "handle_chinese_chars", true, err,
                              &chinese));
    RLF_TRY(rlf_json_get_bool(json, file, "lowercase", true, err, &lower));
    bool strip = lower; /* what "strip_accents": null means */
    RLF_TRY(rlf_json_get_bool(json, file, "strip_accents", false, err, &strip));
    if (clean)
        RLF_TRY(add_plain(normalizer, RLF_NORMAL_CLEAN, arena, err));
    if (chinese)
        RLF_TRY(add_plain(normalizer, RLF_NORMAL_CHINESE, arena, err));
    if (strip) {
        RLF_TRY(add_form_step(normalizer, "NFD", arena, err, &found));
        RLF_TRY(add_plain(normalizer, RLF_NORMAL_STRIP_NONSPACING, arena, err));
    }
    if (lower)
        RLF_TRY(add_plain(normalizer, RLF_NORMAL_LOWERCASE, arena, err));
    return RLF_OK;
}

static rlf_status
load_step(const json_t *json, const char *type, const char *file,
          rlf_arena *arena, rlf_err *err, struct rlf_normal_step *step)
{
    const char *text = NULL;
    if (strcmp(type, "Prepend") == 0) {
        step->kind = RLF_NORMAL_PREPEND;
        RLF_TRY(rlf_json_get_text(json, file, "prepend", true, err, &text));
        step->text = keep_text(arena, text);
    } else if (strcmp(type, "Replace") == 0) {
        step->kind = RLF_NORMAL_REPLACE;
        RLF_TRY(rlf_json_get_text(json, file, "content", true, err, &text));
        RLF_TRY(rlf_pattern_load(json, file, arena, err, &step->regex));
        step->text = keep_text(arena, text);
    } else if (strcmp(type, "Strip") == 0) {
        step->kind = RLF_NORMAL_STRIP;
        RLF_TRY(rlf_json_get_bool(json, file, "strip_left", true, err,
                                  &step->left));
        RLF_TRY(rlf_json_get_bool(json, file, "strip_right", true, err,
                                  &step->right));
    } else if (strcmp(type, "Precompiled") == 0) {
        step->kind = RLF_NORMAL_CHARSMAP;
        RLF_TRY(rlf_json_get_text(json, file, "precompiled_charsmap", true, err,
                                  &text));
        RLF_TRY(rlf_charsmap_new(arena, file, text, err, &step->map));
    } else {
        return rlf_fail(err, RLF_USER,
                        "%s: the normalizer %.*s is not "
                        "supported",
                        file, RLF_CUT(40, type));
    }
    return RLF_OK;
}

rlf_status
rlf_normalizer_load(rlf_normalizer *normalizer, const json_t *json,
                    const char *file, rlf_arena *arena, rlf_err *err)
{
    if (!json || json_is_null(json))
        return RLF_OK;
    const char *type = NULL;
    bool found = false;
    RLF_TRY(rlf_json_get_text(json, file, "type", true, err, &type));
    if (strcmp(type, "Sequence") == 0) {
        json_t *list = NULL;
        RLF_TRY(
            rlf_json_get_array(json, file, "normalizers", true, err, &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            RLF_TRY(rlf_normalizer_load(normalizer, json_array_get(list, i),
                                        file, arena, err));
        return RLF_OK;
    }
    if (strcmp(type, "BertNormalizer") == 0)
        return load_bert(normalizer, json, file, arena, err);
    for (size_t i = 0; i < RLF_COUNT(plain); i++)
        if (strcmp(type, plain[i].type) == 0)
            return add_plain(normalizer, plain[i].kind, arena, err);
    RLF_TRY(add_form_step(normalizer, type, arena, err, &found));
    if (found)
        return RLF_OK;
    struct rlf_normal_step step = {0};
    RLF_TRY(load_step(json, type, file, arena, err, &step));
    RLF_TRY_PUSH_IN(arena, normalizer, "a tokenizer", step);
    return RLF_OK;
}

/* Append what p[0..n) becomes. */
static rlf_status
add_form(int form, const char *p, size_t n, rlf_buf *out, rlf_err *err)
{
    utf8proc_uint8_t *to = NULL;
    utf8proc_ssize_t got =
        utf8proc_map((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, &to,
                     (utf8proc_option_t)form);
    if (got == UTF8PROC_ERROR_NOMEM)
        return rlf_fail_memory(err, n, "a text that is normalized");
    if (got < 0)
        return rlf_fail(err, RLF_ENV, "cannot normalize a text: %s",
                        utf8proc_errmsg(got));
    bool room = rlf_buf_try(out, (size_t)got);
    if (room)
        rlf_buf_add(out, to, (size_t)got);
    free(to);
    return room ? RLF_OK
                : rlf_fail_memory(err, out->n, "a text that is normalized");
}

/* The reference's forms are those of Unicode 9.0. What a character becomes
 * never changes once it is assigned, so the library's version is of no
 * matter. */
static rlf_status
apply_form(int form, rlf_buf *text, size_t *first, rlf_err *err)
{
    size_t i = 0; /* ASCII stays as it is in every form */
    while (i < text->n && (unsigned char)text->p[i] < 0x80)
        i++;
    if (i == text->n)
        return RLF_OK;
    i = 0;
    rlf_buf out = {0};
    while (i < text->n) {
        /* A character that the reference does not know stays as it is and
         * neither joins nor is passed by its neighbours. */
        size_t from = i;
        rlf_status status = RLF_OK;
        while (i < text->n && rlf_unicode_is_9(rlf_utf8_code(text->p + i)))
            i += (size_t)rlf_utf8_unit(text->p + i, text->n - i);
        if (i > from)
            status = add_form(form, text->p + from, i - from, &out, err);
        if (status < 0) {
            rlf_buf_free(&out);
            return status;
        }
        from = i;
        if (i < text->n)
            i += (size_t)rlf_utf8_unit(text->p + i, text->n - i);
        rlf_buf_add(&out, text->p + from, i - from);
    }
    if (*first) { /* what it becomes alone, or is joined to */
        rlf_buf alone = {0};
        rlf_status status = rlf_unicode_is_9(rlf_utf8_code(text->p))
                                ? add_form(form, text->p, *first, &alone, err)
                                : RLF_OK;
        size_t n = out.n ? (size_t)rlf_utf8_unit(out.p, out.n) : 0;
        *first = alone.n > n && alone.n <= out.n ? alone.n : n;
        rlf_buf_free(&alone);
        if (status < 0) {
            rlf_buf_free(&out);
            return status;
        }
    }
    rlf_buf_free(text);
    *text = out;
    return RLF_OK;
}

/* No normalizer of a model makes a text so much longer; one that does would
 * take all memory. */
static size_t
most_of(size_t n)
{
    return 64 * n + (1 << 20);
}

static rlf_status
fail_long(size_t n, rlf_err *err)
{
    rlf_fail(err, RLF_USER,
             "the tokenizer's normalizer makes more than %zu MB of a text of "
             "%zu bytes",
             most_of(n) >> 20, n);
    rlf_err_hint(err, "look at the \"Replace\" steps in its tokenizer.json: "
                      "they should not lengthen a text that much");
    return RLF_USER;
}

/* `n`: bytes of the text before all steps. */
static rlf_status
apply_replace(const struct rlf_normal_step *step, size_t n, rlf_buf *text,
              size_t *first, rlf_err *err)
{
    rlf_buf out = {0};
    rlf_regex_walk walk = {0};
    size_t at = 0, begin = 0, end = 0, reached = 0;
    bool found = true;
    RLF_TRY(rlf_regex_begin(&walk, step->regex, text->p, text->n, err));
    rlf_status status = RLF_OK;
    while (found && status == RLF_OK) {
        status = rlf_regex_next(&walk, err, &found, &begin, &end);
        if (!found)
            break;
        if (out.n > most_of(n)) {
            status = fail_long(n, err);
            break;
        }
        if (!rlf_buf_try(&out, begin - at + step->text.n)) {
            status =
                rlf_fail_memory(err, 2 * out.n, "a text that is normalized");
            break;
        }
        rlf_buf_add(&out, text->p + at, begin - at);
        if (*first > at) /* a text stands where its match has ended */
            reached = out.n - (*first < begin ? begin - *first : 0);
        rlf_buf_add(&out, step->text.p, step->text.n);
        if (*first >= end)
            reached = out.n;
        at = end;
    }
    rlf_regex_end(&walk);
    if (status == RLF_OK && !rlf_buf_try(&out, text->n - at))
        status = rlf_fail_memory(err, text->n, "a text that is normalized");
    if (status < 0) {
        rlf_buf_free(&out);
        return status;
    }
    if (*first > at)
        reached = out.n + *first - at;
    rlf_buf_add(&out, text->p + at, text->n - at);
    rlf_buf_free(text);
    *text = out;
    *first = reached;
    return RLF_OK;
}

static rlf_status
apply_prepend(const struct rlf_normal_step *step, rlf_buf *text, size_t *first,
              rlf_err *err)
{
    rlf_buf out = {0};
    if (!rlf_buf_try(&out, step->text.n + text->n))
        return rlf_fail_memory(err, step->text.n + text->n,
                               "a text that is normalized");
    rlf_buf_add(&out, step->text.p, step->text.n);
    rlf_buf_add(&out, text->p, text->n);
    rlf_buf_free(text);
    *text = out;
    *first += *first ? step->text.n : 0;
    return RLF_OK;
}

static rlf_status
apply_map(const struct rlf_normal_step *step, size_t n, rlf_buf *text,
          size_t *first, rlf_err *err)
{
    rlf_buf out = {0};
    rlf_status status = rlf_charsmap_apply(
        step->map, (rlf_str){text->p, text->n}, most_of(n), first, err, &out);
    if (status < 0) {
        rlf_buf_free(&out);
        return status;
    }
    rlf_buf_free(text);
    *text = out;
    return RLF_OK;
}

static void
apply_strip(const struct rlf_normal_step *step, rlf_buf *text, bool inside,
            size_t *first)
{
    size_t from = 0, to = text->n;
    while (step->left && !inside && from < to &&
           rlf_unicode_is_space(rlf_utf8_code(text->p + from)))
        from += (size_t)rlf_utf8_unit(text->p + from, to - from);
    while (step->right && from < to) {
        size_t k = rlf_utf8_before(text->p, to);
        if (!rlf_unicode_is_space(rlf_utf8_code(text->p + to - k)))
            break;
        to -= k;
    }
    if (from)
        memmove(text->p, text->p + from, to - from);
    text->n = to - from;
    *first = *first > from ? *first - from : 0;
    *first = *first < text->n ? *first : text->n;
}

/* ---- character by character ---- */

static bool
is_ideograph(uint32_t c)
{
    return (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0x2f800 && c <= 0x2fa1f);
}

/* The character that sentencepiece's rule "nmt" makes of one; 0: none. */
static uint32_t
nmt_of(uint32_t c)
{
    if ((c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) ||
        c == 0x7f || c == 0x8f || c == 0x9f)
        return 0;
    bool space = c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                 (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
                 c == 0x2581 || c == 0xfeff || c == 0xfffd;
    return space ? ' ' : c;
}

static uint32_t
clean_of(uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r')
        return ' ';
    if (!c || c == 0xfffd || rlf_unicode_is_control(c))
        return 0;
    return rlf_unicode_is_space(c) ? ' ' : c;
}

static void
put_code(rlf_buf *out, uint32_t c)
{
    char bytes[4];
    rlf_buf_add(out, bytes, rlf_utf8_put(c, bytes));
}

/* Append what the character of k bytes at p becomes: at most two bytes for each
 * of them. */
static void
put_char(rlf_normal_kind kind, const char *p, size_t k, rlf_buf *out)
{
    uint32_t c = rlf_utf8_code(p), to = c, more = 0;
    bool kept = true, spaced = false;
    switch (kind) {
    case RLF_NORMAL_LOWERCASE:
        to = rlf_unicode_lower(c, &more);
        break;
    case RLF_NORMAL_STRIP_MARKS:
        kept = !rlf_unicode_is_mark(c);
        break;
    case RLF_NORMAL_STRIP_NONSPACING:
        kept = !rlf_unicode_is_nonspacing(c);
        break;
    case RLF_NORMAL_NMT:
        to = nmt_of(c);
        kept = to || !c;
        break;
    case RLF_NORMAL_CLEAN:
        to = clean_of(c);
        kept = to != 0;
        break;
    case RLF_NORMAL_CHINESE:
        spaced = is_ideograph(c);
        break;
    case RLF_NORMAL_BYTES:
        for (size_t i = 0; i < k; i++)
            put_code(out, rlf_byte_char((unsigned char)p[i]));
        return;
    default:
        break;
    }
    if (!kept)
        return;
    if (spaced)
        rlf_buf_putc(out, ' ');
    if (to == c)
        rlf_buf_add(out, p, k);
    else
        put_code(out, to);
    if (more)
        put_code(out, more);
    if (spaced)
        rlf_buf_putc(out, ' ');
}

static rlf_status
apply_chars(const struct rlf_normal_step *step, rlf_buf *text, size_t *first,
            rlf_err *err)
{
    rlf_buf out = {0};
    size_t reached = 0;
    if (!rlf_buf_try(&out, 2 * text->n))
        return rlf_fail_memory(err, 2 * text->n, "a text that is normalized");
    for (size_t i = 0; i < text->n;) {
        size_t k = (size_t)rlf_utf8_unit(text->p + i, text->n - i);
        put_char(step->kind, text->p + i, k, &out);
        i += k;
        if (i <= *first)
            reached = out.n;
    }
    rlf_buf_free(text);
    *text = out;
    *first = reached;
    return RLF_OK;
}

static rlf_status
apply_step(const struct rlf_normal_step *step, size_t n, rlf_buf *text,
           bool inside, size_t *first, rlf_err *err)
{
    switch (step->kind) {
    case RLF_NORMAL_FORM:
        return apply_form(step->form, text, first, err);
    case RLF_NORMAL_PREPEND:
        return inside ? RLF_OK : apply_prepend(step, text, first, err);
    case RLF_NORMAL_REPLACE:
        return apply_replace(step, n, text, first, err);
    case RLF_NORMAL_CHARSMAP:
        return apply_map(step, n, text, first, err);
    case RLF_NORMAL_STRIP:
        apply_strip(step, text, inside, first);
        return RLF_OK;
    default:
        return apply_chars(step, text, first, err);
    }
}

rlf_status
rlf_normalizer_apply(const rlf_normalizer *normalizer, rlf_buf *text,
                     bool inside, size_t *first, rlf_err *err)
{
    size_t n = text->n, unused = 0;
    if (!first)
        first = &unused;
    for (size_t i = 0; i < normalizer->count && text->n; i++) {
        RLF_TRY(apply_step(&normalizer->data[i], n, text, inside, first, err));
        if (text->n > most_of(n))
            return fail_long(n, err);
    }
    return RLF_OK;
}
