/* JSON read in place, against jansson: what the scanner passes jansson takes,
 * with the same members, and what it refuses jansson refuses too. */
#include "engine/base/splitmix.h"
#include "engine/record/scan.h"
#include "tests/tap.h"

#include <jansson.h>

/* The objects that are changed at random places. */
static const char *const seeds[] = {
    "{\"step\":1,\"set\":\"roll\",\"values\":{\"score\":0.1,\"x\":-1.62e-7}}",
    "{\"a\":\"\\u00e9\\ud83d\\ude00 \\n \\\" "
    "\\/\",\"b\":[1,[2,{\"c\":null}],true]}",
    "{ \"x\" : 12345678901234567890 , \"y\" : 1E+2, \"z\": -0.0, \"w\": false "
    "}",
    "{\"1\":0.30000000000000004,\"2\":2.2250738585072014e-308,\"3\":1e22,"
    "\"4\":123456789012345.6,\"5\":9007199254740993,\"6\":5e-324}",
    "{}",
};

/* Is the value what jansson has? */
static bool
is_value(const rlf_scanned *v, const json_t *j)
{
    rlf_buf text = {0};
    bool same;
    switch (v->kind) {
    case RLF_SCAN_NUMBER:
        return json_is_number(j) && json_number_value(j) == v->number;
    case RLF_SCAN_TEXT:
        rlf_scan_unescape(v->text, &text);
        same = json_is_string(j) && json_string_length(j) == text.n &&
               (!text.n || memcmp(text.p, json_string_value(j), text.n) == 0);
        rlf_buf_free(&text);
        return same;
    case RLF_SCAN_OBJECT:
        return json_is_object(j);
    case RLF_SCAN_LIST:
        return json_is_array(j);
    case RLF_SCAN_TRUE:
        return json_is_true(j);
    case RLF_SCAN_FALSE:
        return json_is_false(j);
    default:
        return json_is_null(j);
    }
}

/* The members of an object, each in its turn: as many as jansson has, with its
 * values. `lone`: there is a half of a pair, which jansson refuses. */
static bool
is_same(rlf_str text, const json_t *root)
{
    rlf_json_scan scan = rlf_scan_object(text);
    rlf_str key;
    rlf_scanned value;
    size_t n = 0;
    bool same = json_is_object(root);
    while (rlf_scan_member(&scan, &key, &value)) {
        rlf_buf name = {0};
        rlf_scan_unescape(key, &name);
        const json_t *j = json_object_get(root, name.n ? name.p : "");
        same &= j && is_value(&value, j);
        rlf_buf_free(&name);
        n++;
    }
    return same && !scan.why && n == json_object_size(root);
}

static bool
passes(rlf_str text)
{
    rlf_json_scan scan = rlf_scan_object(text);
    rlf_str key;
    rlf_scanned value;
    while (rlf_scan_member(&scan, &key, &value))
        ;
    return !scan.why;
}

/* What only one of the two refuses, by intent. */
static bool
is_other(const json_error_t *e, const char *text, size_t n)
{
    enum json_error_code code = json_error_code(e);
    bool bytes = false;
    for (size_t i = 0; i < n; i++)
        bytes |= (unsigned char)text[i] >= 0x80;
    return code == json_error_duplicate_key || bytes ||
           code == json_error_null_byte_in_key ||
           strstr(e->text, "surrogate") != NULL ||
           strstr(e->text, "Unicode") != NULL;
}

static void
test_mutants(int tries)
{
    static const char letters[] = "{}[]\",:\\0129.eE+-tfnul x\t\n\x01\xc3\xa9";
    rlf_splitmix random = rlf_splitmix_begin(1, 0);
    int passed = 0, wrong = 0, missed = 0;
    for (int i = 0; i < tries; i++) {
        const char *seed = seeds[i % (int)(sizeof seeds / sizeof *seeds)];
        char text[400];
        size_t n = strlen(seed);
        memcpy(text, seed, n);
        for (int k = rlf_splitmix_below(&random, 3); k-- > 0 && n;) {
            size_t at = (size_t)rlf_splitmix_below(&random, (int)n);
            int how = rlf_splitmix_below(&random, 3);
            char letter =
                letters[rlf_splitmix_below(&random, sizeof letters - 1)];
            if (how == 0) {
                text[at] = letter;
            } else if (how == 1) {
                memmove(text + at, text + at + 1, --n - at);
            } else {
                memmove(text + at + 1, text + at, n++ - at);
                text[at] = letter;
            }
        }
        json_error_t e;
        json_t *root = json_loadb(text, n,
                                  JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL |
                                      JSON_REJECT_DUPLICATES,
                                  &e);
        bool good = passes((rlf_str){text, n});
        passed += good;
        if (root && (!good || !is_same((rlf_str){text, n}, root))) {
            note("wrong of: %.*s", (int)n, text);
            wrong++;
        }
        if (!root && good && !is_other(&e, text, n)) {
            note("passed: %.*s (%s)", (int)n, text, e.text);
            missed++;
        }
        json_decref(root);
    }
    is_int(wrong, 0, "what jansson takes has the same members");
    is_int(missed, 0, "what jansson refuses is refused");
    ok(passed > tries / 10 && passed < tries, "%d of %d pass", passed, tries);
}

static void
is_unescaped(const char *written, const char *want, const char *name)
{
    rlf_buf out = {0};
    rlf_scan_unescape(rlf_str_of(written), &out);
    is_str(out.p, want, name);
    rlf_buf_free(&out);
}

static void
test_refused(void)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "no object"},
        {"[1]", "no object"},
        {"{\"a\":1", "an object without an end"},
        {"{\"a\":1} x", "more behind the object"},
        {"{\"a\":01}", "a number that begins with 0"},
        {"{\"a\":1e999}", "a number out of the range of doubles"},
        {"{\"a\":\"\x01\"}", "a control character in a text"},
        {"{\"a\":\"b}", "a text without an end"},
        {"{\"a\" 1}", "no colon behind a key"},
        {"{\"a\":NaN}", "no value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlf_json_scan scan = rlf_scan_object(rlf_str_of(rows[i].text));
        rlf_str key;
        rlf_scanned value;
        while (rlf_scan_member(&scan, &key, &value))
            ;
        is_str(scan.why, rows[i].why, rows[i].why);
    }
    char deep[300] = "{\"a\":";
    memset(deep + 5, '[', 200);
    deep[205] = 0;
    ok(!passes(rlf_str_of(deep)), "a depth of 200 is refused");
}

int
main(void)
{
    test_mutants(quick() ? 20000 : 200000);
    test_refused();
    is_unescaped("a\xff\xc3(", "a\xef\xbf\xbd\xef\xbf\xbd(",
                 "bytes that are no UTF-8");
    is_unescaped("\\ud800x\\udc00", "\xef\xbf\xbdx\xef\xbf\xbd",
                 "halves of pairs");
    is_unescaped("\\ud83d\\ude00", "\xf0\x9f\x98\x80", "a pair");
    return done();
}
