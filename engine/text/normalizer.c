/* The normalizer of a tokenizer file: see normalizer.h. */
#include "engine/text/normalizer.h"

#include "engine/base/vec.h"
#include "engine/io/json.h"

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
                            "%s: the normalizer %.40s is not supported", file,
                            type);
    }
    RLF_PUSH_IN(arena, normalizer, step);
    return RLF_OK;
}

static rlf_status
apply_form(int form, rlf_buf *text, rlf_err *err)
{
    size_t i = 0; /* ASCII stays as it is in every form */
    while (i < text->n && (unsigned char)text->p[i] < 0x80)
        i++;
    if (i == text->n)
        return RLF_OK;
    utf8proc_uint8_t *to = NULL;
    utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)text->p,
                     (utf8proc_ssize_t)text->n, &to, (utf8proc_option_t)form);
    if (n < 0)
        return rlf_fail(err, RLF_ENV, "cannot normalize a text: %s",
                        utf8proc_errmsg(n));
    rlf_buf_clear(text);
    rlf_buf_add(text, to, (size_t)n);
    free(to);
    return RLF_OK;
}

static rlf_status
apply_replace(const struct rlf_normal_step *step, rlf_buf *text, rlf_err *err)
{
    rlf_buf out = {0};
    size_t at = 0, begin = 0, end = 0;
    bool found = true;
    while (found && at <= text->n) {
        rlf_status status = rlf_regex_find(step->regex, text->p, text->n, at,
                                           err, &found, &begin, &end);
        if (status < 0) {
            rlf_buf_free(&out);
            return status;
        }
        if (!found || end == begin) /* an empty match replaces nothing */
            break;
        rlf_buf_add(&out, text->p + at, begin - at);
        rlf_buf_add(&out, step->text.p, step->text.n);
        at = end;
    }
    if (at < text->n)
        rlf_buf_add(&out, text->p + at, text->n - at);
    rlf_buf_free(text);
    *text = out;
    return RLF_OK;
}

rlf_status
rlf_normalizer_apply(const rlf_normalizer *normalizer, rlf_buf *text,
                     rlf_err *err)
{
    for (size_t i = 0; i < normalizer->count && text->n; i++) {
        const struct rlf_normal_step *step = &normalizer->data[i];
        if (step->form) {
            RLF_TRY(apply_form(step->form, text, err));
        } else if (step->regex) {
            RLF_TRY(apply_replace(step, text, err));
        } else {
            rlf_buf out = {0};
            rlf_buf_add(&out, step->text.p, step->text.n);
            rlf_buf_add(&out, text->p, text->n);
            rlf_buf_free(text);
            *text = out;
        }
    }
    return RLF_OK;
}
