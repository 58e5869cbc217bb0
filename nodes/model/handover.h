/* Unfinished responses on their way from one generation to another.
 *
 * Both generations are of the same model, with the same options and the same
 * part of its weights, on other ranks. A response goes as its tokens so far
 * and, where that is cheaper than computing them again, as the pages of its
 * keys and values; pages that samples of a prompt share go once. Since a token
 * depends on its sequence, the weights and its random key alone, and pages are
 * cut at fixed positions, going over changes no bit of it. */
#ifndef RLF_MODEL_HANDOVER_H
#define RLF_MODEL_HANDOVER_H

#include "nodes/model/generate.h"

/* The price of going over, in any unit: a token to compute again, a byte to
 * send. {0, 1}: always tokens; {1, 0}: always pages, where there are some. */
typedef struct rlf_handover_price {
    double token, byte;
    uint64_t most; /* bytes of pages; where they would be more: tokens */
} rlf_handover_price;

/* Pack those of `rows` (ascending) that are not complete, and forget them
 * here. `label` says what the caller calls each row. RLF_OK: the generation has
 * nothing left to do; RLF_AGAIN: it has. */
rlf_status rlf_generation_give(rlf_generation *generation, const uint32_t *rows,
                               const uint32_t *label, uint32_t n,
                               const rlf_handover_price *price, rlf_buf *out,
                               rlf_err *err);
/* Go on with what was packed: rows *first, *first + 1, ... with these labels,
 * which are in `arena`, as is what must live as long as the generation. Pages
 * that find no room are computed again. RLF_BUG if the bytes are torn. */
rlf_status rlf_generation_take(rlf_generation *generation, const char *bytes,
                               size_t n, rlf_arena *arena, rlf_err *err,
                               uint32_t *first, const uint32_t **label,
                               uint32_t *n_rows);
/* Returns how many sequences can be at work at once, however long they
 * become. */
uint32_t rlf_generation_seats(const rlf_generation *generation);

#endif
