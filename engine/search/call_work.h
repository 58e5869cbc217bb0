/* Seconds of pieces of a call, and what the parts of calls.c share. Private to
 * calls.c, call_pieces.c, call_generation.c and call_passes.c. */
#ifndef RLF_SEARCH_CALL_WORK_H
#define RLF_SEARCH_CALL_WORK_H

#include "engine/search/calls.h"

/* The question, and the sum so far. */
typedef struct rlf_call_work {
    const rlf_opened *opened;
    const rlf_sizes *sizes;
    const rlf_set_size *size;         /* of the set that the call runs on */
    const rlf_expected_set *expected; /* its rows */
    const rlf_node *node;
    const rlf_layout *layout;
    const rlf_speeds *speeds;
    rlf_rank_links *links; /* of the opened rank: of one stage */
    double part;  /* of the times of a piece in which its rank is at work */
    double parts; /* of a reading: micro-batches of a replica */
    double each;  /* likewise: rows that share a prompt; 0: it is none */
    rlf_seconds *sum;
    double *busy;          /* of it: at work */
    rlf_call_times *times; /* a generation's; NULL: not asked */
} rlf_call_work;

/* The work of a replica's stages, by kinds that are alike. */
typedef struct rlf_call_replica {
    rlf_call_work *kind;
    int n_kinds;
    const int *of; /* per stage; NULL: all are alike */
} rlf_call_replica;

/* ---- call_pieces.c ---- */

/* The nearest number of tokens or rows, at least 1. */
uint32_t rlf_call_whole(double x);
/* Notes n messages between stages, of so many bytes in all. */
void rlf_call_note_messages(rlf_call_times *times, double n, double bytes);
/* Adds a piece of `tokens` tokens so many times, and messages between stages
 * that are waited for. */
void rlf_call_add(const rlf_call_work *w, const rlf_piece *piece, double tokens,
                  double times, double waits);
/* Adds a piece that has so many rows of `fed` tokens on average; of a reading
 * some share a prompt with more than others. */
void rlf_call_add_rows(const rlf_call_work *w, rlf_piece piece, double rows,
                       double fed, double times, double waits);

/* ---- call_generation.c ---- */

/* Adds a generation of `rows` samples by a replica, as if all stages were like
 * the slowest; `times` may be NULL. */
void rlf_call_generate(const rlf_call_replica *r, rlf_call_cut cut, double rows,
                       rlf_seconds *sum, rlf_call_times *times);

/* ---- call_passes.c ---- */

/* The index of the one that takes most. */
int rlf_call_slowest(const rlf_seconds *each, int n);
/* Adds one direction of all micro-batches of `rows` rows; `times` may be
 * NULL. */
void rlf_call_pass(const rlf_call_replica *r, rlf_piece_kind kind,
                   rlf_call_cut cut, double rows, rlf_seconds *sum,
                   rlf_call_times *times);
/* Adds the micro-batches of an update, and its end. */
void rlf_call_train(const rlf_call_replica *r, rlf_call_cut cut, double rows,
                    rlf_seconds *sum);
void rlf_call_finish(const rlf_call_replica *r, double rows, rlf_seconds *sum);

#endif
