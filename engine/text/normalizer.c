/* The normalizer of a tokenizer file: see normalizer.h. */
#include "engine/text/normalizer.h"

#include "engine/base/vec.h"
#include "engine/io/json.h"
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

rlf_status
rlf_normalizer_load(rlf_normalizer *normalizer, const json_t *json,
                    const char *file, rlf_arena *arena, rlf_err *err)
{
    if (!json || json_is_null(json))
        return RLF_OK;
    const char *type = NULL, *text = NULL;
    struct rlf_normal_step step = {0};
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
    if (strcmp(type, "Prepend") == 0) {
        RLF_TRY(rlf_json_get_text(json, file, "prepend", true, err, &text));
        step.text = keep_text(arena, text);
    } else if (strcmp(type, "Replace") == 0) {
        RLF_TRY(rlf_json_get_text(json, file, "content", true, err, &text));
        RLF_TRY(rlf_pattern_load(json, file, arena, err, &step.regex));
        step.text = keep_text(arena, text);
    } else {
        for (size_t i = 0; i < RLF_COUNT(forms); i++)
            if (strcmp(type, forms[i].type) == 0)
                step.form = forms[i].form;
        if (!step.form)
            return rlf_fail(err, RLF_USER,
                            "%s: the normalizer %.*s is not supported", file,
                            RLF_CUT(40, type));
    }
    RLF_PUSH_IN(arena, normalizer, step);
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
apply_form(int form, rlf_buf *text, rlf_err *err)
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
              rlf_err *err)
{
    rlf_buf out = {0};
    rlf_regex_walk walk;
    size_t at = 0, begin = 0, end = 0;
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
            status = rlf_fail_memory(err, 2 * out.n,
                                     "a text that is normalized");
            break;
        }
        rlf_buf_add(&out, text->p + at, begin - at);
        rlf_buf_add(&out, step->text.p, step->text.n);
        at = end;
    }
    rlf_regex_end(&walk);
    if (status == RLF_OK && !rlf_buf_try(&out, text->n - at))
        status = rlf_fail_memory(err, text->n, "a text that is normalized");
    if (status < 0) {
        rlf_buf_free(&out);
        return status;
    }
    rlf_buf_add(&out, text->p + at, text->n - at);
    rlf_buf_free(text);
    *text = out;
    return RLF_OK;
}

rlf_status
rlf_normalizer_apply(const rlf_normalizer *normalizer, rlf_buf *text,
                     rlf_err *err)
{
    size_t n = text->n;
    for (size_t i = 0; i < normalizer->count && text->n; i++) {
        const struct rlf_normal_step *step = &normalizer->data[i];
        if (step->form) {
            RLF_TRY(apply_form(step->form, text, err));
        } else if (step->regex) {
            RLF_TRY(apply_replace(step, n, text, err));
        } else {
            rlf_buf out = {0};
            if (!rlf_buf_try(&out, step->text.n + text->n))
                return rlf_fail_memory(err, step->text.n + text->n,
                                       "a text that is normalized");
            rlf_buf_add(&out, step->text.p, step->text.n);
            rlf_buf_add(&out, text->p, text->n);
            rlf_buf_free(text);
            *text = out;
        }
    }
    return RLF_OK;
}
