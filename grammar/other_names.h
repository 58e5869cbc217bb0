/* Names that other languages and libraries have for ours, for messages alone.
 *
 * Texts in, texts out: nothing of a program is looked at here. Used by syntax
 * errors (report.c) and by the checker. */
#ifndef RLF_GRAMMAR_OTHER_NAMES_H
#define RLF_GRAMMAR_OTHER_NAMES_H

#include "engine/base/arena.h"

#include <stddef.h>

/* The one of `names` that `name` was meant to be: what others call so, one that
 * is written nearly so, or the only one that begins so; NULL: who knows. */
const char *rlf_other_name(const char *name, const char *const *names,
                           size_t n);
/* The same of what others call so alone. */
const char *rlf_other_name_exactly(const char *name, const char *const *names,
                                   size_t n);
/* A hint for an argument that means nothing, as a sentence, where `names` are
 * the arguments that there are; or NULL. */
const char *rlf_other_name_label(const char *label, const char *const *names,
                                 size_t n);
/* The arguments that one of another library is here: "beta1|beta2" of betas;
 * NULL: it is none of those. */
const char *rlf_other_name_parts(const char *label);
/* "beta1: 0.9, beta2: 0.95" of the parts and the values, each a text; "..." for
 * values that are not there. In the arena. */
const char *rlf_other_name_pairs(rlf_arena *arena, const char *parts,
                                 const char *const *values, size_t n);
/* "c ? a : b" of a function of three arguments that others choose with, where
 * they take the texts `x`; in the arena; NULL: it is none. */
const char *rlf_other_name_choice(rlf_arena *arena, const char *name,
                                  const char *const *x, size_t n);
/* Returns, in the arena, how a function that does not exist is written, with
 * `x` as its argument: "floor(x + 0.5)" of round; NULL: nobody knows. */
const char *rlf_other_name_formula(rlf_arena *arena, const char *name,
                                   const char *x);
/* A hint for a function of the library that has arguments which it cannot take:
 * what others call so; or NULL. */
const char *rlf_other_name_elsewhere(const char *name);
/* A hint for an argument of the library that may be out of its range; or NULL.
 */
const char *rlf_other_name_argument(const char *name);
/* A hint for a name that means nothing, as a sentence; or NULL. */
const char *rlf_other_name_instead(const char *name);

#endif
