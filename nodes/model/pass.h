/* The buffers of a forward and backward pass over at most T tokens.
 *
 * One block, allocated once: what the forward pass keeps for the backward one,
 * scratch, and the index arrays of the micro-batch at hand. A pass made for
 * inference keeps nothing, so its layers share one set of buffers; with
 * `recompute` a training pass keeps only each layer's input and computes the
 * rest again on the way back. Where backward leaves the weights' gradients for
 * later, a pass keeps until then what goes into each product and the gradient
 * of what comes out, in the buffers of its layers; one that recomputes borrows
 * them from a pass that has nothing else (rlf_pass_borrow). Filled by sequences
 * here, used by transformer.h.
 *
 * Only some tokens need the last layer's output: the rows. In the last layer
 * everything after the attention is computed for them alone.
 *
 * In a pipeline a pass has the layers held here. One that trains is for one
 * chunk of them and one micro-batch that is under way; several share their
 * scratch, for one computes at a time. */
#ifndef RLF_MODEL_PASS_H
#define RLF_MODEL_PASS_H

#include "engine/base/philox.h"
#include "engine/graph/run.h"
#include "nodes/model/compile.h"

/* A prompt and what follows it. */
typedef struct rlf_sequence {
    const uint32_t *prompt, *response;
    uint32_t n_prompt, n_response;
    float temperature; /* the temperature of its log-probabilities; 0: 1 */
    /* The response's tokens that are the model's own, of which something is
     * wanted: runs in order, apart and not empty. NULL: all are. */
    const rlf_token_run *runs;
    uint32_t n_runs;
    rlf_random_key drops; /* by which dropout is drawn, token by token */
    /* Of its tokens so many of the beginning are those of the sequence before
     * it in a list, and computed with that one if both are in one pass
     * (prefix.h). It has at least a token more, and nothing is wanted of them
     * here. */
    uint32_t shared;
    bool follows; /* whoever cuts a list keeps it with the one before it: they
                     share a beginning, or are looked at together */
} rlf_sequence;

/* Returns how many tokens are the model's own: rows of RLF_ROWS_TOKENS. */
static inline uint32_t
rlf_sequence_own(const rlf_sequence *seq)
{
    uint32_t n = seq->runs ? 0 : seq->n_response;
    for (uint32_t i = 0; i < seq->n_runs; i++)
        n += seq->runs[i].to - seq->runs[i].from;
    return n;
}

/* The tokens whose last hidden states are wanted. */
typedef enum rlf_rows_kind {
    RLF_ROWS_TOKENS, /* per own token of the response, of the token before it */
    RLF_ROWS_LAST,   /* per sequence, of its last token */
} rlf_rows_kind;

/* The pages in which generation keeps keys and values (kv.h); see
 * attention_paged. */
typedef struct rlf_paged {
    const int32_t *starts; /* [n_seqs], host */
    /* The same and the pass's offsets on the device, or NULL. */
    const int32_t *device_starts, *device_offsets;
    const int32_t *pages; /* [n_seqs, ld_pages] */
    const int32_t *slots; /* [m] */
    const int32_t *next;  /* [n_seqs], host: the page each goes on in */
    int64_t ld_pages;
    rlf_real *kv; /* page 0, layer 0; layers lie layer_stride apart */
    int64_t page_size, page_stride, layer_stride;
} rlf_paged;

typedef struct rlf_pass {
    rlf_pass_options options;
    rlf_arena *arena;
    const rlf_table *table;
    rlf_queue *queue;
    const rlf_kernels *kernels;

    /* The micro-batch at hand: on the device, and the host's copies. */
    int64_t m, n_seqs, n_rows;
    int32_t *tokens, *positions, *rows, *targets; /* [T] */
    const int32_t *sampled;                       /* see rlf_embed_args; NULL */
    float *temperatures;                          /* [T], of the rows */
    uint64_t *keys; /* [T] for dropout (rlf_dropout_args); NULL: none */
    int32_t *host_ints; /* the host's copy of the integers */
    float *host_floats;
    uint64_t *host_keys;
    int32_t *offsets; /* [T + 1], host */
    /* [T], host: where sequences that share a beginning have tokens of their
     * own, and with which they share it (rlf_prefixes). */
    int32_t *starts, *parents;
    bool shares; /* one does */
    bool one_temperature;
    const rlf_paged *paged; /* NULL: packed sequences */

    const rlf_code *code; /* the code that it runs */
    /* The memory of the values of its calls (call.h): what lives through
     * forward and backward, and by layer what may be recomputed. */
    char *values, **layers;
    /* Of a pass that has the heads: */
    rlf_real *hidden; /* [rows, hidden]: after final norm */
    float *rstd;      /* [rows] */
    float *logprob, *entropy, *scalar; /* [rows] what the heads gave */

    /* Training: derivatives of the loss. */
    float *d_logprob, *d_entropy, *d_scalar; /* [rows], by the caller */
    rlf_real *d_scalar_real; /* d_scalar as products take it, by heads.c */
    rlf_real *d_x; /* [m, hidden] of what goes out, then of what came in */

    /* In a pipeline: of a pass that does not train, what goes to the next stage
     * [m, hidden], until `sending` is done; of one that trains and keeps what
     * came in (rlf_code.keeps_input), what goes back; else NULL. */
    rlf_real *outbox;
    struct rlf_device_transfer *sending; /* NULL: nothing is */

    /* Scratch. */
    char *shared;       /* memory that layers share which keep nothing */
    char *scratch;      /* gradients on their way */
    rlf_real *d_hidden; /* [rows, hidden] */
    void *work;         /* memory of the head's tiles */
    size_t work_bytes;
    /* Rows of such a tile; the same on all ranks of a model. */
    int64_t work_rows;
    void *block;
    size_t block_bytes;
} rlf_pass;

/* Rows of a head's tile in a pass of so many tokens. */
int64_t rlf_pass_tile_rows(const rlf_kernels *kernels, const rlf_table *table,
                           int tokens);
/* Device bytes of a pass, exactly as allocated. */
size_t rlf_pass_count_bytes(const rlf_table *table, const rlf_kernels *kernels,
                            const rlf_pass_options *options);
rlf_status rlf_pass_new(const rlf_model *model, const rlf_pass_options *options,
                        rlf_err *err, rlf_pass **out);
void rlf_pass_free(rlf_pass *pass); /* NULL is fine */
/* Makes `pass`, which was made for that, use the scratch of `from` from now on,
 * which has its own, of the same sizes, and lives as long. */
void rlf_pass_lend(rlf_pass *pass, const rlf_pass *from);

/* Makes the layers' buffers of a pass that recomputes and splits those of
 * `from` from now on, which was made for that; NULL: the scratch again. */
void rlf_pass_borrow(rlf_pass *pass, const rlf_pass *from);

/* [m, hidden]: where the residual comes into a chunk. */
rlf_real *rlf_pass_input(const rlf_pass *pass, int chunk);
/* The place where the gradient of what came in waits to go to the stage before.
 */
rlf_real *rlf_pass_back(const rlf_pass *pass, int chunk);
/* The place where the residual goes out. */
rlf_real *rlf_pass_output(const rlf_pass *pass, int chunk);

/* Finds how many of the n sequences fit into one pass, in order, with what they
 * share: at least one if n is not 0, else RLF_USER: the first is longer than
 * the pass, or than the model's context. */
rlf_status rlf_pass_fit(const rlf_pass *pass, const rlf_sequence *seqs,
                        uint32_t n, rlf_err *err, uint32_t *fit);
/* Make these sequences the micro-batch at hand. RLF_USER names the sequence
 * (counted from `first`) that has no prompt or a token that is none. */
rlf_status rlf_pass_load(rlf_pass *pass, const rlf_sequence *seqs, uint32_t n,
                         uint32_t first, rlf_rows_kind rows, rlf_err *err);

/* Copy n numbers from a device array to the host, and wait for them; or to it.
 */
rlf_status rlf_pass_read(const rlf_pass *pass, const float *from, int64_t n,
                         rlf_err *err, float *to);
rlf_status rlf_pass_write(const rlf_pass *pass, const float *from, int64_t n,
                          rlf_err *err, float *to);

#endif
