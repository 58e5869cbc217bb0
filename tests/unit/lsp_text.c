/* Positions in texts: back and forth, whatever the letters and line ends are,
 * and the same from where the last one was found. */
#include "engine/lsp/text.h"
#include "tests/tap.h"

#include <stdint.h>
#include <string.h>

static rlf_lsp_position
position_of(const char *text, size_t offset, bool utf8)
{
    rlf_lsp_cursor none = {0};
    return rlf_lsp_position_of(text, strlen(text), offset, utf8, &none);
}

static void
is_position(rlf_lsp_position got, uint64_t line, uint64_t character,
            const char *name)
{
    ok(got.line == line && got.character == character, "%s", name);
}

static void
test_units(void)
{
    const char *text = "a\xc3\xa9\xf0\x9d\x94\x98z\r\nb\rc\n";
    is_position(position_of(text, 3, false), 0, 2, "two bytes are a unit");
    is_position(position_of(text, 7, false), 0, 4, "four bytes are two units");
    is_position(position_of(text, 7, true), 0, 7, "or four bytes");
    is_position(position_of(text, 5, false), 0, 2, "the middle is before");
    is_position(position_of(text, 10, false), 1, 0, "CR LF ends a line");
    is_position(position_of(text, 12, false), 2, 0, "and so does CR");
    is_position(position_of(text, 900, false), 3, 0, "the end of the text");
    size_t n = strlen(text);
    is_int((int64_t)rlf_lsp_offset(text, n, (rlf_lsp_position){0, 3}, false), 3,
           "the middle of two units");
    is_int((int64_t)rlf_lsp_offset(text, n, (rlf_lsp_position){0, 99}, false),
           8, "behind the end of a line");
    is_int((int64_t)rlf_lsp_offset(
               text, n, (rlf_lsp_position){UINT64_MAX, UINT64_MAX}, true),
           (int64_t)n, "behind the last line");
}

static uint64_t seed = 5;
static uint32_t
chance(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Texts of pieces, among them some that are no UTF-8. */
static size_t
make_text(char *text)
{
    static const char *const pieces[] = {
        "a",    "b c",      "\n",           "\r\n",
        "\r",   "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9d\x94\x98",
        "\xff", "\xc3",     "\xf0\x9d"};
    size_t n = 0;
    for (uint32_t i = chance(40); i > 0; i--) {
        const char *piece = pieces[chance(sizeof pieces / sizeof *pieces)];
        memcpy(text + n, piece, strlen(piece));
        n += strlen(piece);
    }
    text[n] = 0;
    return n;
}

static void
test_chance(void)
{
    char text[256];
    int wrong = 0, moved = 0;
    for (int round = 0; round < 2000; round++) {
        size_t n = make_text(text);
        rlf_lsp_cursor cursor = {0};
        bool utf8 = chance(2);
        for (int k = 0; k < 20; k++) {
            size_t at = chance((uint32_t)n + 1);
            rlf_lsp_position p = position_of(text, at, utf8),
                             q = rlf_lsp_position_of(text, n, at, utf8,
                                                     &cursor);
            size_t back = rlf_lsp_offset(text, n, p, utf8);
            rlf_lsp_position again = position_of(text, back, utf8);
            moved += p.line != q.line || p.character != q.character;
            wrong += back > at || again.line != p.line ||
                     again.character != p.character;
            uint32_t line, column;
            rlf_lsp_place_of(text, n, at, &line, &column);
            wrong += rlf_lsp_offset_of(text, n, line, column, &cursor) != at;
        }
    }
    is_int(wrong, 0, "there and back");
    is_int(moved, 0, "from the last place as from the beginning");
}

int
main(void)
{
    test_units();
    test_chance();
    return done();
}
