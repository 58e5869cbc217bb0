/* Domains: the index spaces that columns live on, known while compiling.
 *
 * Every value of a flow lives on one domain: a scalar, the rows of a set (its
 * prompts or its samples), the response tokens of a set, or the vocabulary at
 * each of those tokens. Domains form a directed graph. Values are broadcast
 * along its edges: from a prompt to the samples generated from it, from a sample
 * to its tokens, from a set to its subsets (rlf(5), LEVELS). Two
 * columns are combined on the coarsest domain that both can be broadcast to.
 *
 *     batch ──▶ roll ──▶ tokens(roll)        batch: prompts, roll: n samples
 *       │        │           │               each; mini: a piece of roll
 *       ▼        ▼           ▼
 *     batch' ──▶ mini ──▶ tokens(mini)
 *
 * A "level" (prompt, sample) is how a set sees a domain of rows; with one
 * sample a prompt both are the same domain. */
#ifndef RLF_EXPR_DOMAIN_H
#define RLF_EXPR_DOMAIN_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

typedef enum rlf_domain_kind {
    RLF_DOMAIN_SCALAR, /* one value; domain 0 of every graph */
    RLF_DOMAIN_ROWS,   /* one value a row */
    RLF_DOMAIN_TOKENS, /* one value a response token of a row */
    RLF_DOMAIN_VOCAB,  /* one value a word of the vocabulary, at a token */
} rlf_domain_kind;

enum { RLF_DOMAIN_UPS = 4 };

typedef struct rlf_domain {
    rlf_domain_kind kind;
    const char *name; /* for messages and dumps: "roll", "tokens of roll" */
    /* ROWS: the domain of the prompts that these rows belong to, or -1 when
     * a row is its own prompt. TOKENS: its rows. VOCAB: its tokens. */
    int owner;
    /* The domains whose values go down to this one directly, the owner among
     * them; scalars go down to everything and are not listed. */
    int up[RLF_DOMAIN_UPS];
    int n_up;
    bool maybe_empty; /* of the grammar: some of another's rows, maybe none */
    rlf_span span;
} rlf_domain;

typedef struct rlf_domains {
    rlf_arena *arena;
    struct {
        rlf_domain *data;
        size_t count, room;
    } list; /* [0] is the scalar domain */
} rlf_domains;

/* An empty table with the scalar domain in it. */
void rlf_domains_init(rlf_domains *domains, rlf_arena *arena);
/* Add a domain (copied, its owner is added to `up` if it is not there);
 * returns its index. */
int rlf_domains_add(rlf_domains *domains, rlf_domain domain);
const rlf_domain *rlf_domains_get(const rlf_domains *domains, int index);

/* The rows that a domain belongs to: the owner of tokens and vocabularies, the
 * domain itself for rows and for the scalar. */
int rlf_domain_rows(const rlf_domains *domains, int index);

/* True if a value on `from` can go down to `to` (also if they are equal). */
bool rlf_domain_reaches(const rlf_domains *domains, int from, int to);
/* The coarsest domain that both a and b go down to, or -1 if they do not meet.
 * When several are equally coarse (never in a graph that the grammar makes)
 * the one added first. */
int rlf_domain_meet(const rlf_domains *domains, int a, int b);
/* The direct edges from `from` down to `to`, as domain indices from `to`
 * (exclusive of `from` itself) upwards: path[0] is a direct up of `to`, the
 * last is `from`. Returns the length, at most `room`; 0 if from == to. */
int rlf_domain_path(const rlf_domains *domains, int from, int to, int room,
                    int *path);

#endif
