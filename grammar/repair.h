/* A text that is being written, made one that can be parsed. */
#ifndef RLF_GRAMMAR_REPAIR_H
#define RLF_GRAMMAR_REPAIR_H

#include "engine/base/arena.h"

/* What is not written yet is left out: a dot without a name, a bracket that a
 * line opens and nothing closes, `x =` without a value; braces that are open at
 * the end are closed there. Every byte that stays is where it was. In `arena`,
 * *size bytes and a 0. */
const char *rlf_repair(rlf_arena *arena, const char *text, size_t n,
                       size_t *size);

#endif
