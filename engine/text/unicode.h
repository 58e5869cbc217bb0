/* Properties of characters by Unicode, and sets of them: categories, scripts,
 * classes, case folding. The tables are the project's own, of the version
 * that the reference of tokenizer files has (16.0), so ids do not depend on
 * the libraries of a machine. Not here: encodings (utf8.h) and normalization,
 * of which only the version is known (rlf_unicode_is_9). */
#ifndef RLF_TEXT_UNICODE_H
#define RLF_TEXT_UNICODE_H

#include "engine/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define RLF_UNICODE_END 0x110000u

/* A set of characters: those from data[0] to before data[1], from data[2] to
 * before data[3], and so on; an odd count has no last end. Strictly ascending.
 * The storage is the arena's. */
typedef struct rlf_codes {
    uint32_t *data;
    size_t count, room;
} rlf_codes;

/* Add first .. after-1, which lie behind everything in the set. */
void rlf_codes_add(rlf_arena *arena, rlf_codes *set, uint32_t first,
                   uint32_t after);
rlf_codes rlf_codes_either(rlf_arena *arena, rlf_codes a, rlf_codes b);
rlf_codes rlf_codes_both(rlf_arena *arena, rlf_codes a, rlf_codes b);
rlf_codes rlf_codes_others(rlf_arena *arena, rlf_codes set);
/* Outside of unicode.c only tests ask a set by itself: patterns are compiled.
 */
bool rlf_codes_has(rlf_codes set, uint32_t code);

/* The set of \p{name}: a general category, a script or a class; blanks, '-',
 * '_' and case do not matter. False if there is none. */
bool rlf_unicode_property(rlf_arena *arena, const char *name, size_t n,
                          rlf_codes *out);
/* The set of [:name:], of the POSIX classes; false if there is none. */
bool rlf_unicode_posix(rlf_arena *arena, const char *name, size_t n,
                       rlf_codes *out);
/* The set with all that differs from a member in case only, one character
 * for one. */
rlf_codes rlf_unicode_folded(rlf_arena *arena, rlf_codes set);
/* Does the set hold what is several characters without its case (sharp s)? */
bool rlf_unicode_folds_long(rlf_codes set);
/* May the two in a row be one character in another case (ss)? */
bool rlf_unicode_pair_folds(uint32_t first, uint32_t second);

/* Says whether it is of a word, as the reference's added tokens see it: the
 * class [:word:] and the two joiners. */
bool rlf_unicode_is_word(uint32_t code);
bool rlf_unicode_is_space(uint32_t code);
/* Say what the reference's normalizers see in it, each by the version of
 * Unicode that it has: a combining mark, one that takes no space, a control
 * character or one without a use. */
bool rlf_unicode_is_mark(uint32_t code);
bool rlf_unicode_is_nonspacing(uint32_t code);
bool rlf_unicode_is_control(uint32_t code);
/* The character in lower case; *more: the one that follows, or 0. */
uint32_t rlf_unicode_lower(uint32_t code, uint32_t *more);
/* The properties of a character in clusters (grapheme.h): a class, and
 * properties beside it. */
typedef enum rlf_grapheme_class {
    RLF_GRAPHEME_OTHER,
    RLF_GRAPHEME_CR,
    RLF_GRAPHEME_LF,
    RLF_GRAPHEME_CONTROL,
    RLF_GRAPHEME_EXTEND,
    RLF_GRAPHEME_ZWJ,
    RLF_GRAPHEME_REGIONAL,
    RLF_GRAPHEME_PREPEND,
    RLF_GRAPHEME_SPACING,
    RLF_GRAPHEME_L,
    RLF_GRAPHEME_V,
    RLF_GRAPHEME_T,
    RLF_GRAPHEME_LV,
    RLF_GRAPHEME_LVT
} rlf_grapheme_class;
enum {
    RLF_GRAPHEME_PICTURE = 16,   /* Extended_Pictographic */
    RLF_GRAPHEME_CONSONANT = 32, /* Indic_Conjunct_Break: Consonant, */
    RLF_GRAPHEME_LINKER = 64,    /* Linker, */
    RLF_GRAPHEME_INSIDE = 128    /* Extend */
};
uint32_t rlf_unicode_grapheme(uint32_t code);
/* Was it assigned in Unicode 9.0? */
bool rlf_unicode_is_9(uint32_t code);

#endif
