/* Declarations that the files of lowering share: lower.c makes nodes of items,
 * demand.c finds where terms are computed, ahead.c what is made ahead, pair.c
 * joins readings, program.c makes expression programs of terms, vocab.c those
 * over the vocabulary. Private to grammar. */
#ifndef RLF_GRAMMAR_LOWER_H
#define RLF_GRAMMAR_LOWER_H

#include "grammar/numbers.h"
#include "grammar/passes.h"

/* The beginnings of the numbers of sites: of calls from 0; of fields and the
 * like, of uniform() and of expression nodes from here; those of metrics are
 * higher by RLF_SITE_LOOKING. */
#define RLF_SITE_SHARED 0x10000000u
#define RLF_SITE_UNIFORM 0x20000000u
#define RLF_SITE_PROGRAM 0x40000000u

/* Terms that the item at one place of a region is the first to need. */
typedef struct rlf_lower_needs {
    struct {
        int *data;
        size_t count, room;
    } terms;
} rlf_lower_needs;

typedef struct rlf_lower_part {
    rlf_lower_needs *places; /* one an item */
} rlf_lower_part;

typedef struct rlf_lower {
    rlf_sema *s;
    bool *needed;   /* per term: not only by metrics */
    bool *demanded; /* per term: it is computed on its own, */
    bool *inside;   /* per term: what it is made of was demanded, */
    int *in_loss; /* by node: the item whose loss it is part of; -1: none yet */
    int *placed; /* by node: the place in its region of the item before which it
                    comes */
    int *piece_of;  /* per set: the loop that makes it */
    rlf_lower_part *parts;
    uint32_t *item_site, *term_site; /* per item; per term UNIFORM */
    bool *early;                     /* per term: made ahead */
    bool looking, ahead;             /* the item in hand */
    uint32_t programs;               /* the number of expression nodes */
} rlf_lower;

/* ---- demand.c ---- */

/* Note at each item of a region, and of those inside, the terms that it is the
 * first to need. */
void rlf_lower_demands(rlf_lower *l, int part);

/* ---- ahead.c ---- */

/* Mark the items and terms that are made ahead. */
void rlf_lower_ahead(rlf_lower *l);

/* ---- pair.c ---- */

/* Make one item of calls that read paired sets. */
void rlf_lower_pairs(rlf_sema *s);

/* ---- vocab.c: what is reduced over vocab ---- */

/* Is the term such a reduction, from values per word to tokens? */
bool rlf_vocab_is_result(const rlf_sema *s, int term);
/* Call fn for each column that the reduction is made of, and for each
 * logprobs(...). */
typedef void rlf_vocab_leaf_fn(void *ctx, int term);
void rlf_vocab_leaves(rlf_sema *s, int result, rlf_vocab_leaf_fn *fn,
                      void *ctx);
/* The node that computes these reductions, whose values are at the same tokens;
 * its columns are there already. */
void rlf_vocab_emit(rlf_lower *l, int part, const int *terms, size_t n,
                    bool looking);
/* A column of a loss over the vocabulary. */
typedef struct rlf_vocab_leaf {
    int term;
    int input;    /* the input of the loss's program that the term is */
    bool guarded; /* rlf_derivative.guarded of that input */
} rlf_vocab_leaf;
/* The programs over the vocabulary of a loss, with their derivatives. Appends
 * to the node's inputs, and to its reads. */
void rlf_vocab_loss(rlf_lower *l, const rlf_update_statement *u,
                    const rlf_vocab_leaf *leaves, size_t n, rlf_node *node,
                    rlf_loss *loss);

/* ---- program.c ---- */

/* Expression nodes for these terms, in region `part`; ahead if the item in hand
 * is. */
void rlf_lower_programs(rlf_lower *l, int part, const int *terms, size_t n,
                        bool looking);
/* The program that computes this one term, of constants and fields. */
const rlf_expr *rlf_lower_one(rlf_sema *s, int term);
/* The set, made already, that has this domain; -1: none. */
int rlf_lower_set_with(const rlf_sema *s, int domain);
/* The loss of an update's item: its program, with its derivative; adds inputs
 * to the node. */
void rlf_lower_loss(rlf_lower *l, const rlf_item *item, rlf_node *node);

#endif
