/* The pre-tokenizer of a tokenizer file: see splitter.h. */
#include "engine/text/splitter.h"

#include "engine/base/vec.h"
#include "engine/io/json.h"
#include "engine/text/normalizer.h"

#include <string.h>

/* ByteLevel's own pattern, that of GPT-2. */
static const char byte_level_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
    "\\s+(?!\\S)|\\s+";

static const char *const ways[] = {
    [RLF_SPLIT_ISOLATED] = "Isolated",
    [RLF_SPLIT_REMOVED] = "Removed",
    [RLF_SPLIT_WITH_PREVIOUS] = "MergedWithPrevious",
    [RLF_SPLIT_WITH_NEXT] = "MergedWithNext",
    [RLF_SPLIT_CONTIGUOUS] = "Contiguous",
};

static rlf_status
load_split(const json_t *json, const char *file, rlf_arena *arena, rlf_err *err,
           rlf_split_step *step)
{
    const char *way = NULL;
    RLF_TRY(rlf_json_get_text(json, file, "behavior", true, err, &way));
    RLF_TRY(rlf_json_get_bool(json, file, "invert", false, err, &step->invert));
    size_t i = 0;
    while (i < RLF_COUNT(ways) && strcmp(ways[i], way) != 0)
        i++;
    if (i == RLF_COUNT(ways))
        return rlf_fail(err, RLF_USER,
                        "%s: the split behavior %.*s is not supported", file,
                        RLF_CUT(40, way));
    step->way = (rlf_split_way)i;
    return rlf_pattern_load(json, file, arena, err, &step->regex);
}

static rlf_status
load_digits(const json_t *json, const char *file, rlf_arena *arena,
            rlf_err *err, rlf_split_step *step)
{
    bool each = false;
    RLF_TRY(
        rlf_json_get_bool(json, file, "individual_digits", false, err, &each));
    return rlf_regex_new(arena, file, each ? "\\p{N}" : "\\p{N}+", false, err,
                         &step->regex);
}

static rlf_status
load_byte_level(const json_t *json, const char *file, rlf_arena *arena,
                rlf_err *err, rlf_split_step *step)
{
    bool use_regex = true;
    step->prefix = true;
    RLF_TRY(rlf_json_get_bool(json, file, "add_prefix_space", false, err,
                              &step->prefix));
    RLF_TRY(rlf_json_get_bool(json, file, "use_regex", false, err, &use_regex));
    if (!use_regex)
        return RLF_OK;
    return rlf_regex_new(arena, file, byte_level_pattern, false, err,
                         &step->regex);
}

static rlf_status
load_metaspace(const json_t *json, const char *file, rlf_arena *arena,
               rlf_err *err, rlf_split_step *step)
{
    const char *space = "\xe2\x96\x81", *scheme = NULL;
    bool split = true, prefix = true;
    RLF_TRY(rlf_json_get_text(json, file, "replacement", false, err, &space));
    RLF_TRY(
        rlf_json_get_text(json, file, "prepend_scheme", false, err, &scheme));
    RLF_TRY(rlf_json_get_bool(json, file, "add_prefix_space", false, err,
                              &prefix)); /* what old files have instead */
    RLF_TRY(rlf_json_get_bool(json, file, "split", false, err, &split));
    if (!scheme)
        scheme = prefix ? "always" : "never";
    step->space = rlf_arena_strdup(arena, space);
    step->prefix = strcmp(scheme, "never") != 0;
    step->prefix_first = strcmp(scheme, "first") == 0;
    if (step->prefix && !step->prefix_first && strcmp(scheme, "always") != 0)
        return rlf_fail(err, RLF_USER,
                        "%s: the prepend_scheme %.*s is not supported", file,
                        RLF_CUT(40, scheme));
    step->way = RLF_SPLIT_WITH_NEXT;
    if (!split)
        return RLF_OK;
    return rlf_regex_new(arena, file, space, true, err, &step->regex);
}

rlf_status
rlf_splitter_load(rlf_splitter *splitter, const json_t *json, const char *file,
                  rlf_arena *arena, rlf_err *err)
{
    if (!json || json_is_null(json))
        return RLF_OK;
    const char *type = NULL;
    rlf_split_step step = {0};
    RLF_TRY(rlf_json_get_text(json, file, "type", true, err, &type));
    if (splitter->byte_level)
        return rlf_fail(err, RLF_USER,
                        "%s: a pre_tokenizer after ByteLevel is not supported",
                        file);
    if (strcmp(type, "Sequence") == 0) {
        json_t *list = NULL;
        RLF_TRY(
            rlf_json_get_array(json, file, "pretokenizers", true, err, &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            RLF_TRY(rlf_splitter_load(splitter, json_array_get(list, i), file,
                                      arena, err));
        return RLF_OK;
    }
    if (strcmp(type, "Split") == 0) {
        RLF_TRY(load_split(json, file, arena, err, &step));
    } else if (strcmp(type, "Digits") == 0) {
        RLF_TRY(load_digits(json, file, arena, err, &step));
    } else if (strcmp(type, "ByteLevel") == 0) {
        RLF_TRY(load_byte_level(json, file, arena, err, &step));
        splitter->byte_level = true;
    } else if (strcmp(type, "Metaspace") == 0) {
        RLF_TRY(load_metaspace(json, file, arena, err, &step));
    } else {
        return rlf_fail(err, RLF_USER,
                        "%s: the pre_tokenizer %.*s is not supported", file,
                        RLF_CUT(40, type));
    }
    RLF_PUSH_IN(arena, splitter, step);
    return RLF_OK;
}

/* Metaspace and prefixes: rewrite the text, word by word. */
static rlf_status
rewrite(const rlf_split_step *step, rlf_words *words, bool begins, rlf_err *err)
{
    rlf_buf out = {0};
    const char *space = step->space ? step->space : " ";
    size_t n_space = strlen(space), spaces = words->count;
    for (size_t i = 0; i < words->text.n; i++)
        spaces += words->text.p[i] == ' ';
    if (!rlf_buf_try(&out, words->text.n + n_space * spaces))
        return rlf_fail_memory(err, words->text.n, "a text that is split");
    for (size_t w = 0; w < words->count; w++) {
        struct rlf_word word = words->data[w];
        const char *p = words->text.p + word.from;
        size_t n = word.to - word.from, from = out.n;
        /* A word that begins with ' ' will begin with `space`. */
        bool has = n && (p[0] == ' ' ||
                         (n >= n_space && memcmp(p, space, n_space) == 0));
        if (step->prefix && !has && (!step->prefix_first || (w == 0 && begins)))
            rlf_buf_add(&out, space, n_space);
        for (size_t i = 0; i < n; i++)
            if (p[i] == ' ')
                rlf_buf_add(&out, space, n_space);
            else
                rlf_buf_putc(&out, p[i]);
        words->data[w] = (struct rlf_word){from, out.n};
    }
    rlf_buf_free(&words->text);
    words->text = out;
    return RLF_OK;
}

/* Parts of one word in order, each a match or what lies between matches.
 * Matches may be empty: they count among the parts, but are no words. */
typedef struct cutter {
    rlf_split_way way;
    rlf_words *out;
    bool open;    /* the last word may grow */
    bool matched; /* the part before was a match */
} cutter;

static void
add_part(cutter *c, size_t from, size_t to, bool match)
{
    bool grow = false;
    switch (c->way) {
    case RLF_SPLIT_ISOLATED:
        break;
    case RLF_SPLIT_REMOVED:
        if (match)
            return;
        break;
    case RLF_SPLIT_WITH_PREVIOUS:
        grow = match && c->open && !c->matched;
        break;
    case RLF_SPLIT_WITH_NEXT:
        grow = !match && c->open && c->matched;
        break;
    case RLF_SPLIT_CONTIGUOUS:
        grow = c->open && c->matched == match;
        break;
    }
    if (grow)
        c->out->data[c->out->count - 1].to = to;
    else
        RLF_PUSH(c->out, (struct rlf_word){from, to});
    c->open = true;
    c->matched = match;
}

static rlf_status
make_room(rlf_words *out, rlf_err *err)
{
    RLF_TRY_ROOM(out, 2, "the words of a text");
    return RLF_OK;
}

static rlf_status
cut_word(const rlf_split_step *step, const rlf_words *words,
         struct rlf_word word, rlf_words *out, rlf_err *err)
{
    cutter c = {.way = step->way, .out = out};
    rlf_regex_walk walk;
    size_t n = word.to - word.from, at = 0, begin, end, first = out->count;
    bool found = n > 0;
    RLF_TRY(
        rlf_regex_begin(&walk, step->regex, words->text.p + word.from, n, err));
    rlf_status status = make_room(out, err);
    while (found && status == RLF_OK) {
        status = rlf_regex_next(&walk, err, &found, &begin, &end);
        if (found && status == RLF_OK)
            status = make_room(out, err);
        if (!found || status < 0)
            break;
        if (at < begin)
            add_part(&c, word.from + at, word.from + begin, step->invert);
        add_part(&c, word.from + begin, word.from + end, !step->invert);
        at = end;
    }
    if (status == RLF_OK)
        status = make_room(out, err);
    rlf_regex_end(&walk);
    if (at < n && status == RLF_OK)
        add_part(&c, word.from + at, word.to, step->invert);
    size_t kept = first;
    for (size_t i = first; i < out->count; i++)
        if (out->data[i].from < out->data[i].to)
            out->data[kept++] = out->data[i];
    out->count = kept;
    return status;
}

rlf_status
rlf_splitter_apply(const rlf_splitter *splitter, rlf_words *words, bool begins,
                   rlf_err *err)
{
    words->count = 0;
    RLF_PUSH(words, (struct rlf_word){0, words->text.n});
    for (size_t i = 0; i < splitter->count; i++) {
        const rlf_split_step *step = &splitter->data[i];
        if (step->space || step->prefix)
            RLF_TRY(rewrite(step, words, begins, err));
        if (!step->regex)
            continue;
        rlf_words cut = {0};
        rlf_status status = RLF_OK;
        for (size_t w = 0; w < words->count && status == RLF_OK; w++)
            status = cut_word(step, words, words->data[w], &cut, err);
        RLF_VEC_FREE(words);
        words->data = cut.data;
        words->count = cut.count;
        words->room = cut.room;
        RLF_TRY(status);
    }
    return RLF_OK;
}

void
rlf_words_free(rlf_words *words)
{
    rlf_buf_free(&words->text);
    RLF_VEC_FREE(words);
}
