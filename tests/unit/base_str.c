/* Strings, JSON texts, shortest numbers, near misses; sources and places. */
#include "engine/base/hash.h"
#include "engine/base/source.h"
#include "engine/base/str.h"

#include "tests/tap.h"

#include <unistd.h>

static void
json_is(const char *text, size_t n, const char *want, const char *name)
{
    rlf_buf buf = {0};
    rlf_buf_json(&buf, text, n);
    is_str(buf.p, want, name);
    rlf_buf_free(&buf);
}

static void
json(void)
{
    json_is("plain", 5, "\"plain\"", "plain text");
    json_is("", 0, "\"\"", "no text");
    json_is("a\"b\\c\nd\te\x01\x7f", 11,
            "\"a\\\"b\\\\c\\nd\\u0009e\\u0001\\u007f\"",
            "what must be escaped");
    json_is("a\0b", 3, "\"a\\u0000b\"", "a 0 byte");
    json_is("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
            "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "UTF-8 of 2, 3, 4");
    json_is("\xff", 1, "\"\\ufffd\"", "no UTF-8 at all");
    json_is("\xe2\x82", 2, "\"\\ufffd\\ufffd\"", "a character cut off");
    json_is("\xc0\x80", 2, "\"\\ufffd\\ufffd\"", "an overlong form");
    json_is("\xe0\x80\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"", "overlong in 3");
    json_is("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"", "a surrogate");
    json_is("\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\"",
            "above U+10FFFF");
}

static void
shell_is(const char *word, const char *want)
{
    rlf_buf buf = {0};
    rlf_buf_shell(&buf, word);
    is_str(buf.p, want, want);
    rlf_buf_free(&buf);
}

static void
shell(void)
{
    shell_is("lr=1e-5", "lr=1e-5");
    shell_is("../runs/a_b", "../runs/a_b");
    shell_is("", "''");
    shell_is("two words", "'two words'");
    shell_is("it's $HOME", "'it'\\''s $HOME'");
    shell_is("*", "'*'");
}

static void
number_is(double x, const char *want)
{
    rlf_buf buf = {0};
    rlf_buf_number(&buf, x);
    is_str(buf.p, want, want);
    rlf_buf_free(&buf);
}

static void
numbers(void)
{
    number_is(0, "0");
    number_is(-0.0, "-0");
    number_is(1, "1");
    number_is(0.1, "0.1");
    number_is(1.0 / 3, "0.3333333333333333");
    number_is(0.1 + 0.2, "0.30000000000000004");
    number_is(5e-324, "5e-324");
    number_is(1.7976931348623157e308, "1.7976931348623157e+308");
    number_is(NAN, "null");
    number_is(-INFINITY, "null");
    int wrong = 0;
    rlf_buf buf = {0};
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bits = rlf_hash_mix(i + 1);
        double x, y;
        memcpy(&x, &bits, 8);
        if (!isfinite(x))
            continue;
        rlf_buf_clear(&buf);
        rlf_buf_number(&buf, x);
        y = strtod(buf.p, NULL);
        wrong += memcmp(&x, &y, 8) != 0;
    }
    rlf_buf_free(&buf);
    is_int(wrong, 0, "any number reads back with its bits");
}

static void
percent_is(double part, const char *want)
{
    rlf_buf buf = {0};
    rlf_buf_percent(&buf, part);
    is_str(buf.p, want, want);
    rlf_buf_free(&buf);
}

/* As people write them: no exponents, and the whole is the whole. */
static void
percents(void)
{
    percent_is(0, "0 %");
    percent_is(1, "100 %");
    percent_is(1.5, "150 %");
    percent_is(0.994, "99 %");
    percent_is(0.996, "99.6 %");
    percent_is(0.9996, "99.96 %");
    percent_is(0.5, "50 %");
    percent_is(0.0171, "1.7 %");
    percent_is(0.00171, "0.17 %");
    percent_is(0.000171, "0.017 %");
    percent_is(0.0000171, "0.0017 %");
    percent_is(1e-12, "0 %");
}

static void
nearest(void)
{
    const char *const names[] = {"temperature", "top_k", "lr", NULL, "steps"};
    is_int((int64_t)rlf_str_distance("kitten", "sitting", 5), 3, "distance");
    is_int((int64_t)rlf_str_distance("kitten", "sitting", 2), 3, "above cap");
    is_int((int64_t)rlf_str_distance("", "abc", 5), 3, "from nothing");
    is_str(rlf_str_nearest("temprature", names, 5), "temperature", "a slip");
    is_str(rlf_str_nearest("lt", names, 5), "lr", "of a short name");
    is_str(rlf_str_nearest("x", (const char *[]){"y"}, 1), NULL,
           "a letter is no slip for another");
    is_int((int)rlf_str_distance("frist", "first", 3), 1, "neighbours swapped");
    is_int((int)rlf_str_distance("abcd", "badc", 3), 2, "two pairs of them");
    is_str(rlf_str_nearest("step", names, 5), "steps", "a letter short");
    is_str(rlf_str_nearest("batch", names, 5), NULL, "nothing near");
}

static void
buffers(void)
{
    rlf_buf buf = {0};
    rlf_buf_add(&buf, NULL, 0);
    is_str(buf.p, "", "empty once something was added");
    for (int i = 0; i < 1000; i++)
        rlf_buf_printf(&buf, "%d,", i);
    is_int((int64_t)buf.n, 3890, "a thousand numbers");
    is_int((int64_t)strlen(buf.p), 3890, "end with a 0 byte");
    rlf_buf_clear(&buf);
    rlf_buf_putc(&buf, 'x');
    is_str(buf.p, "x", "again from the start");
    rlf_buf_free(&buf);
    ok(rlf_str_eq(RLF_STR("ab"), rlf_str_of("ab")) &&
           !rlf_str_eq(RLF_STR("ab"), RLF_STR("abc")) &&
           rlf_str_eq((rlf_str){0}, RLF_STR("")),
       "equal slices");
}

static void
place_is(const rlf_sources *sources, uint32_t at, uint32_t line,
         uint32_t column, const char *text)
{
    rlf_place place = rlf_sources_place(sources, (rlf_span){1, at, at, 0});
    ok(place.line == line && place.column == column &&
           rlf_str_eq(place.text, rlf_str_of(text)),
       "byte %u is %u:%u in \"%s\"", at, line, column, text);
}

static void
places(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    is_int(rlf_sources_add(&sources, "a", "one\r\ntwo\n\nend", 13), 1, "first");
    place_is(&sources, 0, 1, 1, "one");
    place_is(&sources, 5, 2, 1, "two");
    place_is(&sources, 7, 2, 3, "two");
    place_is(&sources, 9, 3, 1, "");
    place_is(&sources, 10, 4, 1, "end");
    place_is(&sources, 13, 4, 4, "end");
    place_is(&sources, 99, 4, 4, "end");
    rlf_span a = {1, 5, 8, 0}, b = {1, 0, 6, 0}, other = {2, 0, 1, 0},
             none = {0};
    rlf_span joined = rlf_span_join(a, b);
    ok(joined.first == 0 && joined.last == 8, "two spans joined");
    ok(rlf_span_join(none, a).first == 5 && rlf_span_join(a, none).last == 8 &&
           rlf_span_join(a, other).source == 1,
       "with none, and with one of another source");
    rlf_arena_free(arena);
}

/* Write `n` bytes to a file of a fixed name and read it as a source. */
static rlf_status
read_bytes(rlf_sources *sources, const char *bytes, size_t n, rlf_err *err)
{
    char path[] = "/tmp/rlflow-test-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || close(fd))
        bail("cannot write %s", path);
    uint32_t index = 0;
    rlf_status status = rlf_sources_read(sources, path, err, &index);
    unlink(path);
    return status;
}

static void
files(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_err err = RLF_ERR_NONE;
    is_int(read_bytes(&sources, "a = 1\n", 6, &err), RLF_OK, "a file");
    is_str(rlf_sources_get(&sources, 1)->text, "a = 1\n", "and its text");
    is_int(read_bytes(&sources, "", 0, &err), RLF_OK, "an empty file");
    is_int(read_bytes(&sources, "a\0b", 3, &err), RLF_USER, "a 0 byte");
    ok(strstr(err.sentence, "holds a 0 byte, in line 1, column 2") != NULL,
       "is no text");
    rlf_err_clear(&err);
    is_int(read_bytes(&sources, "\xff\xfe" "a\0\n\0", 6, &err), RLF_USER,
           "UTF-16");
    is_str(err.hint, "it is UTF-16: save it as UTF-8", "is told");
    rlf_err_clear(&err);
    uint32_t index;
    is_int(rlf_sources_read(&sources, "/nowhere/x.rlf", &err, &index), RLF_USER,
           "no file");
    is_str(err.sentence,
           "cannot open /nowhere/x.rlf: No such file or directory", "says so");
    rlf_err_clear(&err);
    is_int(rlf_sources_read(&sources, "/tmp", &err, &index), RLF_USER,
           "a folder");
    is_str(err.sentence, "/tmp is a directory, not a file", "says so too");
    rlf_arena_free(arena);
}

static void
sizes(void)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } table[] = {{0, "0 bytes"},
                 {1, "1 byte"},
                 {1023, "1023 bytes"},
                 {1024, "1 KB"},
                 {1100, "1.1 KB"},
                 {64 << 10, "64 KB"},
                 {100 << 10, "0.1 MB"},
                 {3 << 19, "1.5 MB"},
                 {20 << 20, "20 MB"},
                 {UINT64_C(5) << 40, "5242880 MB"}};
    char out[RLF_BYTES_TEXT];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        is_str(rlf_bytes_text(table[i].bytes, out), table[i].text,
               table[i].text);
}

static void
cuts(void)
{
    /* of 1, 2, 3 and 4 bytes */
    static const char text[] = "a\u00e9\u20ac\U0001f600b";
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t most = 0; most < sizeof want / sizeof *want; most++)
        ok(rlf_str_cut(rlf_str_of(text), most) == want[most],
           "up to %zu bytes of a text", most);
    ok(rlf_str_cut((rlf_str){"\x80\x80\x80\x80\x80\x80", 6}, 5) == 2,
       "what is no UTF-8 is cut somewhere");
    char shown[16];
    snprintf(shown, sizeof shown, "%.*s", RLF_CUT(5, text));
    is_str(shown, "a\u00e9", "for printf");
}

static void
lines(void)
{
    rlf_buf buf = {0};
    rlf_buf_shown(&buf, "a\n\tb\033\177\302\233", 8);
    is_str(buf.p, "a\n\tb\\027\\127\\194\\155",
           "a text has escapes for what is no line feed or tab");
    rlf_buf_clear(&buf);
    static const char mixed[] =
        "\xff\xc3\xa9\xe2\x82|\x9b[1m\xf0\x9f\x98\x80\xc2";
    rlf_buf_shown(&buf, mixed, sizeof mixed - 1);
    is_str(buf.p, "\\255\xc3\xa9\\226\\130|\\155[1m\xf0\x9f\x98\x80\\194",
           "... and for each byte that is no UTF-8");
    rlf_buf_clear(&buf);
    static const char sly[] = "a\u202eb\u2066\u2028\ufeff\u2027\u202f\u2070";
    rlf_buf_shown(&buf, sly, sizeof sly - 1);
    is_str(buf.p,
           "a\\226\\128\\174b\\226\\129\\166\\226\\128\\168"
           "\\239\\187\\191\u2027\u202f\u2070",
           "... and for what turns a text around, or is not seen");
    rlf_buf_clear(&buf);
    rlf_buf_line(&buf, "%s: %s\n", "a\nb\n", "\033[1m\n");
    is_str(buf.p, "a\\010b\\010: \\027[1m\\010\n",
           "a line has them for line feeds, too, but for its own");
    rlf_buf_clear(&buf);
    rlf_buf_line(&buf, "%s", "a\n");
    is_str(buf.p, "a\\010", "a piece of one has none");
    rlf_buf_free(&buf);
}

int
main(void)
{
    lines();
    cuts();
    sizes();
    json();
    shell();
    numbers();
    percents();
    nearest();
    buffers();
    places();
    files();
    return done();
}
