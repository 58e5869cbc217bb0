/* Extended grapheme clusters: see grapheme.h. */
#include "engine/text/grapheme.h"

#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

/* The state of a cluster: what its characters so far say of the next one. */
typedef struct state {
    rlf_grapheme_class last;
    unsigned flags; /* the last character's properties */
    bool picture;   /* a pictograph, then only what extends it */
    bool consonant; /* a consonant of a conjunct, then only what may stand in
                       it, */
    bool linked;    /* with a linker among that */
    bool odd;       /* an odd number of regional indicators */
} state;

static void
take(state *s, uint32_t code)
{
    uint32_t word = rlf_unicode_grapheme(code);
    rlf_grapheme_class class = (rlf_grapheme_class)(word & 0xf);
    s->flags = word & ~0xfu;
    if (s->flags & RLF_GRAPHEME_PICTURE)
        s->picture = true;
    else if (class != RLF_GRAPHEME_EXTEND && class != RLF_GRAPHEME_ZWJ)
        s->picture = false;
    if (s->flags & RLF_GRAPHEME_CONSONANT) {
        s->consonant = true;
        s->linked = false;
    } else if (s->flags & RLF_GRAPHEME_LINKER) {
        s->linked = s->consonant;
    } else if (!(s->flags & RLF_GRAPHEME_INSIDE)) {
        s->consonant = s->linked = false;
    }
    s->odd = class == RLF_GRAPHEME_REGIONAL && !s->odd;
    s->last = class;
}

/* The rules GB3 to GB999: is there no boundary before a character of these
 * properties? */
static bool
joins(const state *s, uint32_t word)
{
    rlf_grapheme_class class = (rlf_grapheme_class)(word & 0xf);
    rlf_grapheme_class last = s->last;
    if (last == RLF_GRAPHEME_CR)
        return class == RLF_GRAPHEME_LF;
    if (last == RLF_GRAPHEME_LF || last == RLF_GRAPHEME_CONTROL ||
        class == RLF_GRAPHEME_CR || class == RLF_GRAPHEME_LF ||
        class == RLF_GRAPHEME_CONTROL)
        return false;
    if (class == RLF_GRAPHEME_EXTEND || class == RLF_GRAPHEME_ZWJ ||
        class == RLF_GRAPHEME_SPACING || last == RLF_GRAPHEME_PREPEND)
        return true;
    switch (last) {
    case RLF_GRAPHEME_L:
        return class == RLF_GRAPHEME_L || class == RLF_GRAPHEME_V ||
               class == RLF_GRAPHEME_LV || class == RLF_GRAPHEME_LVT;
    case RLF_GRAPHEME_LV:
    case RLF_GRAPHEME_V:
        return class == RLF_GRAPHEME_V || class == RLF_GRAPHEME_T;
    case RLF_GRAPHEME_LVT:
    case RLF_GRAPHEME_T:
        return class == RLF_GRAPHEME_T;
    default:
        break;
    }
    if (s->linked && word & RLF_GRAPHEME_CONSONANT)
        return true;
    if (s->picture && last == RLF_GRAPHEME_ZWJ && word & RLF_GRAPHEME_PICTURE)
        return true;
    return s->odd && class == RLF_GRAPHEME_REGIONAL;
}

size_t
rlf_grapheme_next(const char *p, size_t n)
{
    state s = {0};
    size_t i = (size_t)rlf_utf8_unit(p, n);
    take(&s, rlf_utf8_code(p));
    while (i < n) {
        uint32_t code = rlf_utf8_code(p + i);
        if (!joins(&s, rlf_unicode_grapheme(code)))
            break;
        take(&s, code);
        i += (size_t)rlf_utf8_unit(p + i, n - i);
    }
    return i;
}
