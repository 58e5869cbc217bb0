/* Where a name is used in the program's own text: each word that is written so
 * and means what is declared there. */
#include "grammar/look_inside.h"

#include <string.h>

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c >= '0' && c <= '9');
}

/* Bytes of the word that begins at a byte of a source. */
static uint32_t
word_at(const rlf_source *source, uint32_t at)
{
    uint32_t n = 0;
    while (at + n < source->size && is_letter(source->text[at + n]))
        n++;
    return n;
}

/* Is it the same place? A text that was repaired is a source of its own, of the
 * same path. */
static bool
same(const rlf_sources *sources, rlf_span a, rlf_span b)
{
    return a.source && a.first == b.first &&
           (a.source == b.source ||
            !strcmp(rlf_sources_get(sources, a.source)->path,
                    rlf_sources_get(sources, b.source)->path));
}

rlf_look_spans
rlf_look_uses(rlf_look *look, rlf_span definition)
{
    const rlf_sources *sources = look->sema->sources;
    const rlf_source *there = rlf_sources_get(sources, definition.source),
                     *own = rlf_sources_get(sources, look->source);
    const char *word = there->text + definition.first;
    uint32_t length = word_at(there, definition.first), n;
    rlf_look_spans uses = {0};
    for (uint32_t i = 0; length && i < own->size; i += n ? n : 1) {
        rlf_look_meaning m;
        n = word_at(own, i);
        if (n != length || memcmp(own->text + i, word, n) != 0 ||
            !rlf_look_at(look, i, &m) || m.span.first != i ||
            !same(sources, m.definition, definition))
            continue;
        RLF_PUSH_IN(look->arena, &uses,
                    ((rlf_span){look->source, i, i + n, 0}));
    }
    return uses;
}
