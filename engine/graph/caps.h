/* The caps of a model: the sizes that its buffers are made for
 * (engine/plan/README.md).
 *
 * Part of the plan, one for each model, read by the model's resource and its
 * node classes through rlf_env. They bound memory and change no bit, but for
 * `reach`, which the program alone decides. */
#ifndef RLF_GRAPH_CAPS_H
#define RLF_GRAPH_CAPS_H

#include <stdbool.h>
#include <stdint.h>

/* The three ways to run a model; each has buffers of its own. */
typedef enum rlf_use {
    RLF_USE_UPDATE,   /* forward and backward */
    RLF_USE_READ,     /* logprob, value, score */
    RLF_USE_GENERATE, /* sampling */
    RLF_N_USES
} rlf_use;

enum {
    RLF_CAP_TOKENS =
        2048,             /* tokens of a micro-batch, if nothing else is said */
    RLF_CAP_ACTIVE = 256, /* sequences generated at once, at most */
    /* Tokens of samples that an update with `shared: true` takes together, the
     * prompt once, unless one sample alone has more. Numerics: other numbers
     * add gradients in another order. */
    RLF_SHARED_TOKENS = 4096,
};

/* Bytes of pages of keys and values, if one sequence does not need more. */
#define RLF_CAP_KV_BYTES ((uint64_t)512 << 20)

/* Bytes of pages that go to other ranks at once (rlf_price.most). */
#define RLF_CAP_HANDOVER_BYTES ((uint64_t)64 << 20)

typedef struct rlf_caps {
    uint32_t longest;            /* S: tokens of a sequence; 0: the context */
    uint32_t reach; /* tokens of the longest sequence of all models of which
                       that is known; no less than `longest` */
    uint32_t rows[RLF_N_USES];   /* samples that a call meets; 0: any number */
    uint32_t tokens[RLF_N_USES]; /* T: of a micro-batch; 0: by default */
    /* Samples of a prompt that stay in one micro-batch as far as they have
     * RLF_SHARED_TOKENS; 0: each may be alone. All but the first have so many
     * tokens of their own at most; 0: any number. */
    uint32_t together[RLF_N_USES], own[RLF_N_USES];
    uint32_t sets[RLF_N_USES]; /* those of so many sets, of a row, stay there
                                  whatever they have; 0: of one */
    uint32_t cut[RLF_N_USES]; /* micro-batches that the rows are to be cut into
                                 by default, so that stages have work; 0: 1 */
    bool handover;  /* samples go to other ranks while they are made */
    bool recompute; /* updates keep only each layer's input */
} rlf_caps;

/* The same with nothing left open, for a model with a context. `caps` NULL:
 * nothing was said. By default T is no more than the rows have (of a pipeline:
 * than a part of them has), and at least rlf_caps_least. */
rlf_caps rlf_caps_resolve(const rlf_caps *caps, uint32_t context);
/* The tokens that a micro-batch of resolved caps has room for at least, so that
 * whatever comes fits: S, or more where samples stay together. */
uint32_t rlf_caps_least(const rlf_caps *caps, rlf_use use);
/* The same whether samples are read or trained on. */
uint32_t rlf_caps_least_of_all(const rlf_caps *caps);
/* Samples of a prompt that stay together in an update with `shared: true`, 1 to
 * `each`, where there are `each` of so many tokens; of `sets` that are taken by
 * turns whole rows. */
double rlf_caps_shared(double prompt, double response, double each, int sets);

#endif
