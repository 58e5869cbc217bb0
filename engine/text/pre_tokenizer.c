/* The pre-tokenizer of a tokenizer file: see pre_tokenizer.h. */
#include "engine/text/pre_tokenizer.h"

#include "engine/base/vec.h"
#include "engine/io/json.h"
#include "engine/text/inside.h"
#include "engine/text/normalizer.h"
#include "engine/text/utf8.h"

#include <string.h>

/* ByteLevel's own pattern, that of GPT-2. */
static const char byte_level_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
    "\\s+(?!\\S)|\\s+";

/* Whitespace's words, by what is a word to added tokens, and what lies between
 * words and spaces. */
#define WORD "[:word:]\\x{200c}\\x{200d}"
static const char whitespace_pattern[] = "[" WORD "]+|[^" WORD "\\s]+";

/* Punctuation: that of ASCII, and of Unicode as old as the reference's list. */
static const char punctuation_pattern[] =
    "[$+<=>^`|~\\x{166d}\\x{111c9}[\\p{P}&&[^"
    "\\x{61d}\\x{9fd}\\x{a76}\\x{c77}\\x{c84}\\x{1b4e}\\x{1b4f}"
    "\\x{1b7d}-\\x{1b7f}\\x{2e43}-\\x{2e4f}\\x{2e52}-\\x{2e5d}\\x{10d6e}"
    "\\x{10ead}\\x{10f55}-\\x{10f59}\\x{10f86}-\\x{10f89}"
    "\\x{113d4}\\x{113d5}\\x{113d7}\\x{113d8}\\x{1144b}-\\x{1144f}"
    "\\x{1145a}\\x{1145b}\\x{1145d}\\x{11660}-\\x{1166c}\\x{116b9}"
    "\\x{1183b}\\x{11944}-\\x{11946}\\x{119e2}\\x{11a3f}-\\x{11a46}"
    "\\x{11a9a}-\\x{11a9c}\\x{11a9e}-\\x{11aa2}\\x{11b00}-\\x{11b09}"
    "\\x{11be1}\\x{11c41}-\\x{11c45}\\x{11c70}\\x{11c71}\\x{11ef7}"
    "\\x{11ef8}\\x{11f43}-\\x{11f4f}\\x{11fff}\\x{12ff1}\\x{12ff2}"
    "\\x{16d6d}-\\x{16d6f}\\x{16e97}-\\x{16e9a}\\x{16fe2}\\x{1e5ff}"
    "\\x{1e95e}\\x{1e95f}]]]";

/* Digits': numbers of Unicode 17, which its reference has here. */
#define DIGIT "[\\p{N}\\x{11de0}-\\x{11de9}\\x{16ff4}-\\x{16ff6}]"

static const char *const behaviors[] = {
    [RLF_SPLIT_ISOLATED] = "Isolated",
    [RLF_SPLIT_REMOVED] = "Removed",
    [RLF_SPLIT_WITH_PREVIOUS] = "MergedWithPrevious",
    [RLF_SPLIT_WITH_NEXT] = "MergedWithNext",
    [RLF_SPLIT_CONTIGUOUS] = "Contiguous",
};

/* Reads "behavior", whose absence means `behavior`; NULL: it must be there.
 */
static rlf_status
load_behavior(const json_t *json, const char *file, const char *behavior,
              rlf_err *err, rlf_split_step *step)
{
    RLF_TRY(
        rlf_json_get_text(json, file, "behavior", !behavior, err, &behavior));
    size_t i = 0;
    while (i < RLF_COUNT(behaviors) && strcmp(behaviors[i], behavior) != 0)
        i++;
    if (i == RLF_COUNT(behaviors))
        return rlf_fail(err, RLF_USER,
                        "%s: the split behavior %.*s is not supported", file,
                        RLF_CUT(40, behavior));
    step->behavior = (rlf_split_behavior)i;
    return RLF_OK;
}

static rlf_status
load_split(const json_t *json, const char *file, rlf_arena *arena, rlf_err *err,
           rlf_split_step *step)
{
    RLF_TRY(load_behavior(json, file, NULL, err, step));
    RLF_TRY(rlf_json_get_bool(json, file, "invert", false, err, &step->invert));
    return rlf_pattern_load(json, file, arena, err, &step->regex);
}

static rlf_status
load_punctuation(const json_t *json, const char *file, rlf_arena *arena,
                 rlf_err *err, rlf_split_step *step)
{
    RLF_TRY(
        load_behavior(json, file, behaviors[RLF_SPLIT_ISOLATED], err, step));
    return rlf_regex_new(arena, file, punctuation_pattern, false, err,
                         &step->regex);
}

/* Matches are words: what lies between them goes. */
static rlf_status
load_whitespace(const char *file, rlf_arena *arena, rlf_err *err,
                rlf_split_step *step)
{
    step->behavior = RLF_SPLIT_REMOVED;
    step->invert = true;
    return rlf_regex_new(arena, file, whitespace_pattern, false, err,
                         &step->regex);
}

static rlf_status
load_whitespace_split(const char *file, rlf_arena *arena, rlf_err *err,
                      rlf_split_step *step)
{
    step->behavior = RLF_SPLIT_REMOVED;
    return rlf_regex_new(arena, file, "\\s", false, err, &step->regex);
}

/* At each of this character, which goes. */
static rlf_status
load_delimiter(const json_t *json, const char *file, rlf_arena *arena,
               rlf_err *err, rlf_split_step *step)
{
    const char *text = NULL;
    step->behavior = RLF_SPLIT_REMOVED;
    RLF_TRY(rlf_json_get_text(json, file, "delimiter", true, err, &text));
    if (!*text || rlf_str_utf8(text, strlen(text)) != strlen(text))
        return rlf_fail(err, RLF_USER,
                        "%s: the delimiter \"%.*s\" is not one character", file,
                        RLF_CUT(40, text));
    return rlf_regex_new(arena, file, text, true, err, &step->regex);
}

static rlf_status
load_length(const json_t *json, const char *file, rlf_err *err,
            rlf_split_step *step)
{
    int64_t length = 5;
    RLF_TRY(rlf_json_get_int(json, file, "length", false, err, &length));
    if (length < 1)
        return rlf_fail(err, RLF_USER,
                        "%s: the pre_tokenizer FixedLength has a length of "
                        "%lld",
                        file, (long long)length);
    step->length = (size_t)length;
    return RLF_OK;
}

static rlf_status
load_digits(const json_t *json, const char *file, rlf_arena *arena,
            rlf_err *err, rlf_split_step *step)
{
    bool each = false;
    RLF_TRY(
        rlf_json_get_bool(json, file, "individual_digits", false, err, &each));
    return rlf_regex_new(arena, file, each ? DIGIT : DIGIT "+", false, err,
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
    if (!*space || rlf_str_utf8(space, strlen(space)) != strlen(space))
        return rlf_fail(err, RLF_USER,
                        "%s: the replacement \"%.*s\" of Metaspace is not one "
                        "character",
                        file, RLF_CUT(40, space));
    step->space = rlf_arena_strdup(arena, space);
    step->prefix = strcmp(scheme, "never") != 0;
    step->prefix_first = strcmp(scheme, "first") == 0;
    if (step->prefix && !step->prefix_first && strcmp(scheme, "always") != 0)
        return rlf_fail(err, RLF_USER,
                        "%s: the prepend_scheme %.*s is not supported", file,
                        RLF_CUT(40, scheme));
    step->behavior = RLF_SPLIT_WITH_NEXT;
    if (!split)
        return RLF_OK;
    return rlf_regex_new(arena, file, space, true, err, &step->regex);
}

rlf_status
rlf_pre_tokenizer_load(rlf_pre_tokenizer *pre_tokenizer, const json_t *json,
                       const char *file, rlf_arena *arena, rlf_err *err)
{
    if (!json || json_is_null(json))
        return RLF_OK;
    const char *type = NULL;
    rlf_split_step step = {0};
    RLF_TRY(rlf_json_get_text(json, file, "type", true, err, &type));
    if (strcmp(type, "Sequence") == 0) {
        json_t *list = NULL;
        RLF_TRY(
            rlf_json_get_array(json, file, "pretokenizers", true, err, &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            RLF_TRY(rlf_pre_tokenizer_load(
                pre_tokenizer, json_array_get(list, i), file, arena, err));
        return RLF_OK;
    }
    bool rewrites =
        strcmp(type, "ByteLevel") == 0 || strcmp(type, "Metaspace") == 0;
    if (pre_tokenizer->byte_level && rewrites)
        return rlf_fail(err, RLF_USER,
                        "%s: the pre_tokenizer %s after ByteLevel is not "
                        "supported",
                        file, type);
    if (strcmp(type, "Split") == 0) {
        RLF_TRY(load_split(json, file, arena, err, &step));
    } else if (strcmp(type, "Digits") == 0) {
        RLF_TRY(load_digits(json, file, arena, err, &step));
    } else if (strcmp(type, "ByteLevel") == 0) {
        RLF_TRY(load_byte_level(json, file, arena, err, &step));
        pre_tokenizer->byte_level = true;
        step.bytes = true;
    } else if (strcmp(type, "Punctuation") == 0) {
        RLF_TRY(load_punctuation(json, file, arena, err, &step));
    } else if (strcmp(type, "Whitespace") == 0) {
        RLF_TRY(load_whitespace(file, arena, err, &step));
    } else if (strcmp(type, "WhitespaceSplit") == 0) {
        RLF_TRY(load_whitespace_split(file, arena, err, &step));
    } else if (strcmp(type, "BertPreTokenizer") == 0) {
        RLF_TRY(load_whitespace_split(file, arena, err, &step));
        RLF_TRY_PUSH_IN(arena, pre_tokenizer, "a tokenizer", step);
        step = (rlf_split_step){0};
        RLF_TRY(load_punctuation(NULL, file, arena, err, &step));
    } else if (strcmp(type, "CharDelimiterSplit") == 0) {
        RLF_TRY(load_delimiter(json, file, arena, err, &step));
    } else if (strcmp(type, "FixedLength") == 0) {
        RLF_TRY(load_length(json, file, err, &step));
    } else if (strcmp(type, "Metaspace") == 0) {
        RLF_TRY(load_metaspace(json, file, arena, err, &step));
    } else {
        return rlf_fail(err, RLF_USER,
                        "%s: the pre_tokenizer %.*s is not supported", file,
                        RLF_CUT(40, type));
    }
    RLF_TRY_PUSH_IN(arena, pre_tokenizer, "a tokenizer", step);
    return RLF_OK;
}

/* Metaspace and prefixes: rewrite the text, word by word. */
static rlf_status
rewrite(const rlf_split_step *step, rlf_pretokens *words, rlf_err *err)
{
    rlf_buf out = {0};
    size_t first = 0;
    bool inside = words->inside && words->count && !words->data[0].from;
    const char *space = step->space ? step->space : " ";
    size_t n_space = strlen(space), spaces = words->count;
    for (size_t i = 0; i < words->text.n; i++)
        spaces += words->text.p[i] == ' ';
    if (!rlf_buf_try(&out, words->text.n + n_space * spaces))
        return rlf_fail_memory(err, words->text.n, "a text that is split");
    for (size_t w = 0; w < words->count; w++) {
        struct rlf_pretoken word = words->data[w];
        const char *p = words->text.p + word.from;
        size_t n = word.to - word.from, from = out.n;
        /* A word that begins with ' ' will begin with `space`. */
        bool has = n && (p[0] == ' ' ||
                         (n >= n_space && memcmp(p, space, n_space) == 0));
        bool begins = word.from < words->first;
        if (step->prefix && n && !has && (!step->prefix_first || begins) &&
            (w || !inside))
            rlf_buf_add(&out, space, n_space);
        for (size_t i = 0; i < n; i++) {
            if (p[i] == ' ')
                rlf_buf_add(&out, space, n_space);
            else
                rlf_buf_putc(&out, p[i]);
            if (word.from + i < words->first)
                first = out.n;
        }
        words->data[w] = (struct rlf_pretoken){from, out.n};
    }
    rlf_buf_free(&words->text);
    words->text = out;
    words->first = first;
    words->inside = inside;
    return RLF_OK;
}

/* A character of at most two bytes. */
static void
put_char(rlf_buf *out, uint32_t code)
{
    if (code >= 0x80)
        rlf_buf_putc(out, (char)(0xc0 | code >> 6));
    rlf_buf_putc(out, (char)(code < 0x80 ? code : 0x80 | (code & 0x3f)));
}

/* Words of bytes as the characters that stand for them, or back. What steps
 * after ByteLevel see are those. */
static rlf_status
respell(rlf_pretokens *words, bool back, rlf_err *err)
{
    rlf_buf out = {0};
    if (!rlf_buf_try(&out, 2 * words->text.n))
        return rlf_fail_memory(err, 2 * words->text.n, "a text that is split");
    for (size_t w = 0; w < words->count; w++) {
        const char *p = words->text.p;
        struct rlf_pretoken word = words->data[w];
        size_t from = out.n;
        for (size_t i = word.from; i < word.to;) {
            if (back)
                rlf_buf_putc(&out, (char)rlf_char_byte(rlf_utf8_code(p + i)));
            else
                put_char(&out, rlf_byte_char((unsigned char)p[i]));
            i += back ? (size_t)rlf_utf8_unit(p + i, word.to - i) : 1;
        }
        words->data[w] = (struct rlf_pretoken){from, out.n};
    }
    rlf_buf_free(&words->text);
    words->text = out;
    return RLF_OK;
}

/* Parts of one word in order, each a match or what lies between matches.
 * Matches may be empty: they count among the parts, but are no words. */
typedef struct cutter {
    rlf_split_behavior behavior;
    rlf_pretokens *out;
    bool open;    /* the last word may grow */
    bool matched; /* the part before was a match */
} cutter;

static void
add_part(cutter *c, size_t from, size_t to, bool match)
{
    bool grow = false;
    switch (c->behavior) {
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
        RLF_PUSH(c->out, (struct rlf_pretoken){from, to});
    c->open = true;
    c->matched = match;
}

static rlf_status
make_room(rlf_pretokens *out, rlf_err *err)
{
    RLF_TRY_ROOM(out, 2, "the words of a text");
    return RLF_OK;
}

static rlf_status
cut_word(const rlf_split_step *step, rlf_regex_walk *walk,
         const rlf_pretokens *words, struct rlf_pretoken word,
         rlf_pretokens *out, rlf_err *err)
{
    cutter c = {.behavior = step->behavior, .out = out};
    size_t n = word.to - word.from, at = 0, begin, end, first = out->count;
    bool found = n > 0;
    RLF_TRY(
        rlf_regex_begin(walk, step->regex, words->text.p + word.from, n, err));
    rlf_status status = make_room(out, err);
    while (found && status == RLF_OK) {
        status = rlf_regex_next(walk, err, &found, &begin, &end);
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
    if (at < n && status == RLF_OK)
        add_part(&c, word.from + at, word.to, step->invert);
    size_t kept = first;
    for (size_t i = first; i < out->count; i++)
        if (out->data[i].from < out->data[i].to)
            out->data[kept++] = out->data[i];
    out->count = kept;
    return status;
}

/* Into words of so many characters. */
static rlf_status
cut_length(const rlf_split_step *step, const rlf_pretokens *words,
           struct rlf_pretoken word, rlf_pretokens *out, rlf_err *err)
{
    while (word.from < word.to) {
        size_t to = word.from;
        for (size_t i = 0; i < step->length && to < word.to; i++)
            to += (size_t)rlf_utf8_unit(words->text.p + to, word.to - to);
        RLF_TRY(make_room(out, err));
        RLF_PUSH(out, (struct rlf_pretoken){word.from, to});
        word.from = to;
    }
    return RLF_OK;
}

/* All words, in place. */
static rlf_status
cut_all(const rlf_split_step *step, rlf_pretokens *words, rlf_err *err)
{
    rlf_pretokens cut = {0};
    rlf_regex_walk walk = {0};
    rlf_status status = RLF_OK;
    for (size_t w = 0; w < words->count && status == RLF_OK; w++)
        status = step->length
                     ? cut_length(step, words, words->data[w], &cut, err)
                     : cut_word(step, &walk, words, words->data[w], &cut, err);
    rlf_regex_end(&walk);
    RLF_VEC_FREE(words);
    words->data = cut.data;
    words->count = cut.count;
    words->room = cut.room;
    return status;
}

rlf_status
rlf_pre_tokenizer_apply(const rlf_pre_tokenizer *pre_tokenizer,
                        rlf_pretokens *words, rlf_err *err)
{
    bool spelled = false;
    words->count = 0;
    RLF_PUSH(words, (struct rlf_pretoken){0, words->text.n});
    for (size_t i = 0; i < pre_tokenizer->count; i++) {
        const rlf_split_step *step = &pre_tokenizer->data[i];
        if (step->space || step->prefix)
            RLF_TRY(rewrite(step, words, err));
        if (step->regex || step->length)
            RLF_TRY(cut_all(step, words, err));
        if (step->bytes && i + 1 < pre_tokenizer->count) {
            RLF_TRY(respell(words, false, err));
            spelled = true;
        }
    }
    return spelled ? respell(words, true, err) : RLF_OK;
}

void
rlf_pretokens_free(rlf_pretokens *words)
{
    rlf_buf_free(&words->text);
    RLF_VEC_FREE(words);
}
