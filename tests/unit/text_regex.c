/* Regular expressions, Unicode forms and added tokens against Hugging Face's
 * library: tests/data/regex.json, made by tests/oracle/text_regex.py, says
 * what each is there. An argument names another such file. */
#include "engine/base/vec.h"
#include "engine/io/json.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/unicode.h"
#include "tests/tap.h"

#define MARK "\xee\x80\x80" /* stands for a match */

static rlf_arena *arena;
static rlf_buf all;     /* every character that is tried */
static uint32_t *codes; /* the same, as numbers */
static size_t codes_count;

static uint64_t
digest_on(const char *p, size_t n, uint64_t hash)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)p[i]) * 0x100000001b3u;
    return hash;
}

static const char *
digest(const rlf_buf *text)
{
    return rlf_arena_printf(arena, "%016" PRIx64,
                            digest_on(text->p, text->n, 0xcbf29ce484222325u));
}

static const char *
at_text(const json_t *list, size_t i)
{
    return json_string_value(json_array_get(list, i));
}

static void
put_code(rlf_buf *out, uint32_t c)
{
    if (c >= 0x80) {
        int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
        rlf_buf_putc(out, (char)(lead[more] | c >> 6 * more));
        while (more--)
            rlf_buf_putc(out, (char)(0x80 | (c >> 6 * more & 0x3f)));
    } else {
        rlf_buf_putc(out, (char)c);
    }
}

/* All but most of the planes in which there is nothing. */
static void
list_codes(void)
{
    codes = RLF_NEW_ARRAY(arena, uint32_t, 0x40000);
    for (uint32_t c = 0; c < 0x110000; c++) {
        if ((c >= 0xd800 && c < 0xe000) || (c >= 0x32400 && c < 0xe0000) ||
            (c >= 0xe0200 && c < 0x10ff00))
            continue;
        codes[codes_count++] = c;
        put_code(&all, c);
    }
}

/* Its regular expression, or NULL with a note. */
static rlf_regex *
compile(rlf_arena *in, const char *pattern)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_regex *regex = NULL;
    if (rlf_regex_new(in, "t", pattern, false, &err, &regex) == RLF_OK)
        return regex;
    note("%s", err.sentence);
    return NULL;
}

/* The characters that a class matches: where it begins and ends, among those
 * that are tried. */
static void
check_class(const char *pattern, const char *want, size_t *wrong)
{
    rlf_arena *mine = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_regex *regex =
        compile(mine, rlf_arena_printf(mine, "(?:%s)+", pattern));
    rlf_buf list = {0};
    rlf_regex_walk walk = {0};
    bool found =
        regex && rlf_regex_begin(&walk, regex, all.p, all.n, &err) == 0;
    size_t begin = 0, end = 0, at = 0, byte = 0;
    rlf_buf_puts(&list, "[");
    while (found && rlf_regex_next(&walk, &err, &found, &begin, &end) == 0 &&
           found) {
        for (; byte < begin; byte++)
            at += ((unsigned char)all.p[byte] & 0xc0) != 0x80;
        rlf_buf_printf(&list, "%s%zu", list.n > 1 ? ", " : "", at);
        for (; byte < end; byte++)
            at += ((unsigned char)all.p[byte] & 0xc0) != 0x80;
        if (end < all.n)
            rlf_buf_printf(&list, ", %zu", at);
    }
    rlf_buf_puts(&list, "]");
    if (!regex || strcmp(digest(&list), want) != 0) {
        ++*wrong;
        note("%s: %.2000s", pattern, list.p);
    }
    rlf_regex_end(&walk);
    rlf_buf_free(&list);
    rlf_arena_free(mine);
}

static void
check_classes(const json_t *classes)
{
    const char *pattern;
    json_t *want;
    size_t wrong = 0;
    json_object_foreach((json_t *)classes, pattern, want)
        check_class(pattern, json_string_value(want), &wrong);
    ok(!wrong, "%zu classes of %zu characters", json_object_size(classes),
       codes_count);
}

/* A split and a replacement by the pattern, or the error. */
typedef struct machine {
    rlf_arena *arena;
    rlf_pre_tokenizer pre_tokenizer;
    rlf_normalizer normalizer;
} machine;

static bool
load(machine *m, const char *kind, const char *pattern, const char *behavior,
     bool invert, rlf_err *err)
{
    *m = (machine){.arena = rlf_arena_new()};
    json_t *split =
        json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", kind,
                  pattern, "behavior", behavior, "invert", invert);
    json_t *replace = json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace",
                                "pattern", kind, pattern, "content", MARK);
    bool good =
        rlf_pre_tokenizer_load(&m->pre_tokenizer, split, "t", m->arena, err) ==
            0 &&
        rlf_normalizer_load(&m->normalizer, replace, "t", m->arena, err) == 0;
    json_decref(split);
    json_decref(replace);
    return good;
}

static rlf_pretokens
split(const machine *m, const char *text)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_pretokens words = {0};
    rlf_buf_puts(&words.text, text);
    if (rlf_pre_tokenizer_apply(&m->pre_tokenizer, &words, &err) < 0)
        note("%s", err.sentence);
    return words;
}

static rlf_buf
replace(const rlf_normalizer *normalizer, const char *text)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_buf out = {0};
    rlf_buf_puts(&out, text);
    if (rlf_normalizer_apply(normalizer, &out, false, NULL, &err) < 0)
        note("%s", err.sentence);
    return out;
}

/* Append "2 1 3|replaced". */
static void
put_outcome(const machine *m, const char *text, rlf_buf *out)
{
    rlf_pretokens words = split(m, text);
    for (size_t i = 0; i < words.count; i++)
        rlf_buf_printf(out, "%s%zu", i ? " " : "",
                       words.data[i].to - words.data[i].from);
    rlf_buf replaced = replace(&m->normalizer, text);
    rlf_buf_puts(out, "|");
    rlf_buf_add(out, replaced.p, replaced.n);
    rlf_buf_free(&replaced);
    rlf_pretokens_free(&words);
}

static void
check_case(const json_t *one, size_t *wrong)
{
    machine m;
    rlf_err err = RLF_ERR_NONE;
    rlf_buf want = {0}, got = {0};
    const json_t *lengths = json_array_get(one, 2);
    if (load(&m, "Regex", at_text(one, 0), "Isolated", false, &err))
        put_outcome(&m, at_text(one, 1), &got);
    else
        rlf_buf_puts(&got, err.sentence);
    for (size_t i = 0; i < json_array_size(lengths); i++)
        rlf_buf_printf(&want, "%s%.0f", i ? " " : "",
                       json_number_value(json_array_get(lengths, i)));
    rlf_buf_printf(&want, "|%s", at_text(one, 3));
    if (want.n != got.n || memcmp(want.p, got.p, got.n) != 0) {
        ++*wrong;
        note("%s on %s: want %s, got %s", at_text(one, 0), at_text(one, 1),
             want.p, got.p);
    }
    rlf_buf_free(&want);
    rlf_buf_free(&got);
    rlf_arena_free(m.arena);
}

/* Checks that accepted patterns match as the reference does, and that few are
 * refused. */
static void
check_random(const json_t *list, const json_t *pool)
{
    size_t wrong = 0, refused = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *pattern = at_text(json_array_get(list, i), 0);
        const char *want = at_text(json_array_get(list, i), 1);
        machine m;
        rlf_err err = RLF_ERR_NONE;
        bool good = load(&m, "Regex", pattern, "Isolated", false, &err);
        refused += !good;
        rlf_buf got = {0};
        for (size_t k = 0; good && k < json_array_size(pool); k++) {
            if (k)
                rlf_buf_putc(&got, '\n');
            put_outcome(&m, at_text(pool, k), &got);
        }
        if (good && strcmp(want, digest(&got)) != 0) {
            wrong++;
            note("%s does otherwise", pattern);
        }
        if (!good)
            note("%s", err.sentence);
        rlf_buf_free(&got);
        rlf_arena_free(m.arena);
    }
    ok(!wrong, "%zu random patterns do the same", json_array_size(list));
    ok(refused * 10 <= json_array_size(list), "%zu of them are refused",
       refused);
}

static void
check_refused(const json_t *list)
{
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_regex *regex;
        if (rlf_regex_new(arena, "t", at_text(list, i), false, &err, &regex) ==
            RLF_USER)
            continue;
        wrong++;
        note("%s is accepted", at_text(list, i));
    }
    ok(!wrong, "%zu patterns are refused", json_array_size(list));
    rlf_err err = RLF_ERR_NONE;
    rlf_regex *regex;
    rlf_regex_new(arena, "t.json", "ab\\Kc", false, &err, &regex);
    is_str(err.sentence,
           "t.json: the pattern ab\\Kc cannot be read as its reference reads "
           "it: at byte 3: this escape is not supported",
           "the place is told");
}

static bool
same_words(const rlf_pretokens *got, const json_t *want)
{
    bool same = got->count == json_array_size(want);
    for (size_t i = 0; same && i < got->count; i++) {
        size_t n = got->data[i].to - got->data[i].from;
        const char *word = at_text(want, i);
        same = strlen(word) == n &&
               memcmp(word, got->text.p + got->data[i].from, n) == 0;
    }
    return same;
}

static void
check_behaviors(const json_t *list)
{
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        machine m;
        rlf_err err = RLF_ERR_NONE;
        bool good = load(&m, "Regex", at_text(one, 0), at_text(one, 1),
                         json_is_true(json_array_get(one, 2)), &err);
        if (good) {
            rlf_pretokens words = split(&m, at_text(one, 3));
            good = same_words(&words, json_array_get(one, 4));
            rlf_pretokens_free(&words);
        }
        if (!good) {
            wrong++;
            note("%s %s on %s %s", at_text(one, 0), at_text(one, 1),
                 at_text(one, 3), err.sentence);
        }
        rlf_arena_free(m.arena);
    }
    ok(!wrong, "%zu splits, what becomes of the matches",
       json_array_size(list));
}

static void
check_literals(const json_t *list)
{
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        machine m;
        rlf_err err = RLF_ERR_NONE;
        bool good =
            load(&m, "String", at_text(one, 0), "Isolated", false, &err);
        if (good) {
            rlf_pretokens words = split(&m, at_text(one, 1));
            rlf_buf replaced = replace(&m.normalizer, at_text(one, 1));
            good = same_words(&words, json_array_get(one, 2)) &&
                   strlen(at_text(one, 3)) == replaced.n &&
                   memcmp(at_text(one, 3), replaced.p, replaced.n) == 0;
            rlf_pretokens_free(&words);
            rlf_buf_free(&replaced);
        }
        if (!good) {
            wrong++;
            note("\"%s\" in %s", at_text(one, 0), at_text(one, 1));
        }
        rlf_arena_free(m.arena);
    }
    ok(!wrong, "%zu plain patterns", json_array_size(list));
}

static rlf_codes
as_codes(const json_t *list)
{
    rlf_codes out = {0};
    for (size_t i = 0; i < json_array_size(list); i++)
        RLF_PUSH_IN(arena, &out,
                    (uint32_t)json_number_value(json_array_get(list, i)));
    return out;
}

static void
check_cased(const json_t *want)
{
    rlf_codes cased = as_codes(json_object_get(want, "codes"));
    rlf_codes several = as_codes(json_object_get(want, "long"));
    rlf_buf text = {0};
    for (size_t i = 0; i < codes_count; i++)
        if (rlf_codes_has(cased, codes[i]))
            put_code(&text, codes[i]);
    uint64_t hash = 0xcbf29ce484222325u;
    size_t wrong = 0, each = quick() ? 61 : 1; /* so many are passed over */
    for (size_t i = 0; i < codes_count; i += each) {
        if (!rlf_codes_has(cased, codes[i]))
            continue;
        machine m;
        rlf_err err = RLF_ERR_NONE;
        rlf_buf pattern = {0};
        rlf_buf_puts(&pattern, "(?i)");
        put_code(&pattern, codes[i]);
        bool good = load(&m, "Regex", pattern.p, "Isolated", false, &err);
        wrong += good == rlf_codes_has(several, codes[i]);
        if (good) {
            rlf_buf got = replace(&m.normalizer, text.p);
            hash = digest_on(got.p, got.n, hash);
            rlf_buf_free(&got);
        }
        rlf_buf_free(&pattern);
        rlf_arena_free(m.arena);
    }
    rlf_buf_free(&text);
    ok(!wrong, "(?i) is refused for what is several characters");
    if (each > 1)
        return;
    is_str(rlf_arena_printf(arena, "%016" PRIx64, hash),
           json_string_value(json_object_get(want, "hash")),
           "(?i) with each other character that has a case");
}

static void
check_forms(const json_t *forms)
{
    static const char *const among[] = {
        "a\xcc\x81", "\xcc\xa3\xcc\x81 \xe0\xa4\x95", "\xe1\x85\xa1"};
    const char *form;
    json_t *want;
    rlf_buf texts[2] = {{0}};
    for (size_t i = 0; i < codes_count; i++) {
        rlf_buf_puts(&texts[1], i ? "\n" : "");
        rlf_buf_puts(&texts[0], i ? "\n" : "");
        put_code(&texts[0], codes[i]);
        for (size_t k = 0; k < 3; k++) {
            rlf_buf_puts(&texts[1], among[k]);
            if (k < 2)
                put_code(&texts[1], codes[i]);
        }
    }
    json_object_foreach((json_t *)forms, form, want)
    {
        rlf_err err = RLF_ERR_NONE;
        rlf_normalizer normalizer = {0};
        json_t *json = json_pack("{s:s}", "type", form);
        if (rlf_normalizer_load(&normalizer, json, "t", arena, &err) < 0)
            bail("%s", err.sentence);
        for (size_t k = quick() ? 1 : 0; k < 2; k++) {
            rlf_buf text = {0};
            rlf_buf_add(&text, texts[k].p, texts[k].n);
            rlf_normalizer_apply(&normalizer, &text, false, NULL, &err);
            is_str(digest(&text), at_text(want, k), form);
            rlf_buf_free(&text);
        }
        json_decref(json);
    }
    rlf_buf_free(&texts[0]);
    rlf_buf_free(&texts[1]);
}

static void
check_added(const json_t *want)
{
    static const struct {
        const char *name;
        bool (*is)(uint32_t code);
    } kinds[] = {{"words", rlf_unicode_is_word},
                 {"spaces", rlf_unicode_is_space}};
    for (size_t k = 0; k < 2; k++) {
        rlf_codes set = {0};
        rlf_buf list = {0};
        for (size_t i = 0; i < codes_count; i++)
            if (kinds[k].is(codes[i]))
                rlf_codes_add(arena, &set, codes[i], codes[i] + 1);
        rlf_buf_puts(&list, "[");
        for (size_t i = 0; i < set.count; i++)
            rlf_buf_printf(&list, "%s%u", i ? ", " : "", set.data[i]);
        rlf_buf_puts(&list, "]");
        is_str(digest(&list),
               json_string_value(json_object_get(want, kinds[k].name)),
               kinds[k].name);
        rlf_buf_free(&list);
    }
}

int
main(int argc, char **argv)
{
    const char *source = getenv("RLFLOW_SOURCE");
    rlf_err err = RLF_ERR_NONE;
    json_t *root = NULL;
    arena = rlf_arena_new();
    const char *path = argc > 1
                           ? argv[1]
                           : rlf_arena_printf(arena, "%s/tests/data/regex.json",
                                              source ? source : ".");
    if (rlf_json_load(path, &err, &root) < 0)
        bail("%s", err.sentence);
    list_codes();
    check_classes(json_object_get(root, "classes"));
    const json_t *cases = json_object_get(root, "cases");
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(json_array_get(cases, i), &wrong);
    ok(!wrong, "%zu patterns on texts", json_array_size(cases));
    check_random(json_object_get(root, "random"),
                 json_object_get(root, "pool"));
    check_refused(json_object_get(root, "refused"));
    check_behaviors(json_object_get(root, "behaviors"));
    check_literals(json_object_get(root, "literals"));
    check_cased(json_object_get(root, "cased"));
    note("the Unicode forms of every character, alone and among others");
    check_forms(json_object_get(root, "forms"));
    note("characters beside added tokens");
    check_added(json_object_get(root, "added"));
    rlf_buf_free(&all);
    json_decref(root);
    rlf_arena_free(arena);
    return done();
}
