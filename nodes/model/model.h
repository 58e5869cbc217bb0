/* A model on a device: weights, their packed copies, and, if it is trained,
 * gradients and optimizer state.
 *
 * Each is one device block in the form of the table (table.h); sizes are known
 * before anything is allocated (rlf_model_bytes). A model belongs to one rank
 * and uses its queue. What is computed with it stands in transformer.h, where
 * it comes from and goes to in weights.h. */
#ifndef RLF_MODEL_MODEL_H
#define RLF_MODEL_MODEL_H

#include "engine/dev/dev.h"
#include "engine/graph/caps.h"
#include "kernels/kernels.h"
#include "nodes/model/slices.h"
#include "nodes/model/table.h"

/* Of a tree over RLF_MOST_LANES lanes (lanes.h). */
#define RLF_MOST_LEVELS 8

/* A matrix packed for x w^T, and for the gradient's dy w (NULL: not trained);
 * of bf16 one packing is both. */
typedef struct rlf_packed {
    void *forward, *backward;
    bool bf16;
} rlf_packed;

typedef struct rlf_model_options {
    rlf_model_head head;
    bool trained; /* it is trained; of a model that has adapters these alone
                     are, and its base is as that of a model by layer and fixed,
                     whatever else is said */
    bool bare;    /* only for sums of models: nothing but weights */
    bool
        offload; /* weights in host memory (offload.h); not trained, not bare */
    bool by_layer; /* the model has of its weights only what passes read: packed
                      matrices, embedding, vectors; they come layer by layer. It
                      is neither trained nor bare nor offload. */
    bool fixed; /* it is by layer, and its weights never change once they have
                   been read */
    /* [slots of the whole table] those whose numbers are all of bf16, which
     * outlives the model; NULL: none. Of one that is fixed, and of the base of
     * adapters, such matrices are kept in bf16 where kernels can read them. */
    const bool *bf16;
    /* The caps that its buffers are made for; NULL: caps.h's defaults.
     * Rotations are tabled for the longest sequence. */
    const rlf_caps *caps;
    struct rlf_tables
        *tables; /* tables of the same config, which models of many plans share
                    (tables.h); NULL: each has its own */
    /* Numerics (a run is a function of them): partial sums of what tensor
     * parallelism would split, and lanes of gradients; powers of two, 0: 1. */
    int shards, lanes;
    /* The ranks that hold a stage in parts (tensor parallelism), this one
     * among them; it outlives the model. NULL: this one alone. */
    struct rlf_group *group;
    /* The ranks that hold the same part and share the lanes (data parallelism);
     * likewise. */
    struct rlf_group *replicas;
    /* The stages of the pipeline, in order; each holds `chunks` (0: 1) parts of
     * the layers (table.h). Likewise. */
    struct rlf_group *stages;
    int chunks;
    bool vee; /* the layout is a V (engine/layout) */
    /* The stages of all replicas, stage after stage of one replica after
     * another; needed where both are several and the model is trained. */
    struct rlf_group *peers;
    /* [chunks] micro-batches of an update that are under way at once, whose
     * activations are kept; NULL: 1 each. */
    const int *flights;
    /* [chunks] of those, at most so many whose backward is done and whose
     * weight gradients are not; NULL: backward is not split. */
    const int *owed;
    /* Each replica has the optimizer's state of its slice alone (slices.h). */
    bool sliced;
    /* Trained: bytes of models that lie, between its updates, where only
     * updates need memory: gradients, and if nobody else reads the model
     * (`unread`), packed copies. */
    size_t lends;
    bool unread;
    bool save_f32; /* saved in f32, whatever type its files have */
    /* Its weights go to models by layer (move.h). */
    bool serves;
    /* Weights that travel as activations: bytes of them that are rounded at a
     * time: the same on all ranks, of those too that they go to. */
    size_t stage;
    /* The model in whose loan this one lies, behind those made before. */
    struct rlf_model *lender;
    /* By layer and fixed: the base of this model, which has adapters and is cut
     * alike. Its weights are that one's, which must live longer and have its
     * memory first. */
    const struct rlf_model *base_of;
} rlf_model_options;

/* Gradients as backward passes add them up, before they are one: by lane, and
 * where sums over shards are not yet added. One block for each lane that waits
 * to be added to the next; the first is that of the result. */
typedef struct rlf_gradient {
    float *blocks[RLF_MOST_LEVELS];
    int64_t floats; /* floats of a block */
    /* Lanes in all; the first of this rank, and how many it has. */
    int lanes, first, held;
    int *lane;              /* [chunks][2 parts] at hand, of those held */
    /* The places that the selected part of a chunk adds to: */
    float *weights;    /* [rlf_table_trained()]: see rlf_gradient_of */
    float *tied;       /* [vocab hidden]: the head's share of a tied
                          embedding that is trained, else NULL */
    float *other; /* of the own slice: the gradient of the embedding that the
                     other end of a pipeline has, else NULL */
    float *head_norms; /* per layer, norm_sums[0] sums of q's norm, then
                          norm_sums[1] of k's, head_dim each; NULL: one of
                          each, among the weights */
} rlf_gradient;

/* Buffers that calls on the model share, made at first use (buffers.h). */
typedef struct rlf_model_buffers {
    struct rlf_pass *pass[RLF_N_USES];
    struct rlf_pass **flight; /* the passes of an update, chunk after chunk */
    struct rlf_pass **owed;   /* the same of what it recomputes for weights */
    struct rlf_kv *kv;
    uint64_t pages; /* pages that kv is given; 0: as many as by default */
    void *arrays;   /* the arrays of a generation */
    size_t arrays_bytes;
    struct rlf_replays *replays; /* the recordings of its steps */
} rlf_model_buffers;

/* The contents of a stage, as far as others must know. */
typedef struct rlf_stage {
    const rlf_table *table;
    rlf_slices slices; /* slices, as the replicas of the stage have them */
} rlf_stage;

/* Memory that only updates need, lent to others between them. */
typedef struct rlf_loan {
    char *base;
    size_t bytes, asked, given; /* bytes in all; bytes that others asked for;
                                   bytes that they have */
    bool taken;  /* others have written there since the last update */
    bool packed; /* the packed copies are part of it */
} rlf_loan;

/* Device bytes by purpose, exactly as rlf_model_new allocates them; of a model
 * in a loan as it uses them there. */
typedef struct rlf_model_bytes {
    size_t weights, packed, gradients, optimizer, tables;
    size_t partial; /* gradients of lanes that wait to be added */
    size_t loan;    /* asked for beyond what there is */
    size_t host;    /* bytes of weights there */
} rlf_model_bytes;

typedef struct rlf_offload rlf_offload;
typedef struct rlf_model {
    rlf_arena *arena;
    rlf_queue *queue;
    const rlf_kernels *kernels;
    const rlf_table *table;
    struct rlf_group *group, *replicas, *stages, *peers; /* NULL: alone */
    struct rlf_group *copies; /* ranks of `group` that hold the same key/value
                                 heads; the model's */
    const rlf_stage *stage;   /* [table->cut.stages] */
    const int *flights;       /* [chunks] */
    const int *owed;          /* [chunks] or NULL */
    bool trained, bare;
    rlf_caps caps;        /* resolved for the config's context */
    float *weights;       /* [table->count]; NULL if by layer; in host memory
                             if: */
    rlf_offload *offload; /* offload.h; NULL: they are on the device */
    bool by_layer;
    /* Without all weights on the device: what the table has behind its
     * matrices, and its embedding, in f32 or (kernels->one_pack) as packed: if
     * it is tied that is lm.forward itself. With them NULL. */
    float *vectors, *embed;
    float *one_plus; /* 1 + w for each w behind the table's matrices, where the
                        program's norms multiply by that; else NULL */
    rlf_real *rows;
    const void *words; /* the embedding packed as a head is: of frozen weights
                          lm.forward itself if it is tied (but with one_pack),
                          else as bf16; else NULL. Where it is not, embed is */
    /* Of a model by layer that is not fixed: the memory to which the matrices
     * of one layer come, unless a packed matrix is the matrix itself. */
    float *landing;
    char *staging;  /* of a model that serves: the memory in which weights are
                       rounded */
    float *filling; /* memory of the host for one layer, as files are read; else
                       NULL */
    const struct rlf_weights_origin *origin; /* origin.h; by layer, else NULL */
    /* Trained only, else NULL: see gradient.h. */
    rlf_gradient gradient;
    rlf_slices slices;        /* slices of the optimizer, by replica */
    float *moment1, *moment2; /* [slices.last - slices.first] */
    /* Sums of the gradient's norm: of the blocks held here. */
    double *norm_sums;
    double *squares;          /* one number: see finite.h */
    int64_t steps;            /* optimizer steps that the moments have seen */
    uint64_t version;         /* grows by one with each change of weights */
    uint64_t begun;  /* changes of weights or moments that have begun, whether
                        they came to their end or not */
    uint64_t marked; /* the value of `begun` when the step began */
    rlf_packed *packed;       /* [table->n_matrix] */
    rlf_packed lm, score;     /* heads; lm.forward shard by shard */
    double narrow;            /* the share of packed numbers kept in bf16 */
    float *frequencies;       /* frequencies of the rotations */
    /* [positions, rotations], by rlf_rotation */
    float *cosines[RLF_ROTATIONS], *sines[RLF_ROTATIONS];
    int positions;
    uint8_t *saved;            /* rlf_element in files, of the slots of all
                                  stages (table->whole); see save_f32 */
    rlf_model_buffers buffers;
    rlf_loan loan;
    struct rlf_model *lender; /* the model in whose loan it lies; NULL: it has
                                 its own block */
    /* Options as given; what they point to may be gone. */
    rlf_model_options options;
    rlf_model_bytes bytes;
    void *block; /* NULL: no memory yet */
    size_t block_bytes;
} rlf_model;

/* Of the gradient at hand what is for the float at `offset` of the block, which
 * training changes. */
static inline float *
rlf_gradient_of(const rlf_model *model, int64_t offset)
{
    return model->gradient.weights + (offset - model->table->trained);
}

rlf_model_bytes rlf_model_count_bytes(const rlf_table *table,
                                      const rlf_kernels *kernels,
                                      const rlf_model_options *options);

/* The bytes that a model needs in a loan, with these options but for the
 * lender. */
rlf_status rlf_model_loan_bytes(const rlf_kernels *kernels,
                                const rlf_model_config *config,
                                const rlf_model_options *options, rlf_err *err,
                                size_t *bytes);

/* A model with weights not yet set (0). Frees nothing of the config, which
 * must live as long. End with rlf_model_free. */
rlf_status rlf_model_new(rlf_queue *queue, const rlf_kernels *kernels,
                         const rlf_model_config *config,
                         const rlf_model_options *options, rlf_err *err,
                         rlf_model **out);
void rlf_model_free(rlf_model *model); /* NULL is fine */
/* The same in two: all but its memory, so that what it takes is known; then
 * that. Models in a loan take theirs after the lender. */
rlf_status rlf_model_lay(rlf_queue *queue, const rlf_kernels *kernels,
                         const rlf_model_config *config,
                         const rlf_model_options *options, rlf_err *err,
                         rlf_model **out);
rlf_status rlf_model_take(rlf_model *model, rlf_err *err);
/* A model as it is known without its weights: the table of the whole, caps,
 * whether it is trained, whose kernels (NULL: not known, nothing is counted).
 * In `arena`; nothing else may be asked of it. RLF_USER if it cannot be cut
 * into its shards. */
rlf_status rlf_model_outline(const rlf_kernels *kernels,
                             const rlf_model_config *config,
                             const rlf_model_options *options, rlf_arena *arena,
                             rlf_err *err, const rlf_model **out);

/* To be called after the weights were changed: packs them anew and makes a
 * new version. Of a lender that is unread the next update packs them. */
rlf_status rlf_model_changed(rlf_model *model, rlf_err *err);
/* The same, by who has packed them already. */
rlf_status rlf_model_renewed(rlf_model *model, rlf_err *err);

/* An update begins: what it lent is its own again, and no model there may be
 * read before it has new weights. */
rlf_status rlf_model_reclaim(rlf_model *model, rlf_err *err);

/* By layer: this rank's part of a tensor, in host memory. To be called for all
 * of them in the order of the table, before rlf_model_changed. */
rlf_status rlf_model_fill(rlf_model *model, const rlf_slot *slot,
                          const float *part, rlf_err *err);
/* The same of n rows of the embedding or of the language head, from row `first`
 * of this rank's on, all of one shard, in which they begin at a multiple of
 * RLF_PACK_ROWS. Of tensors that rlf_model_fills_rows names, a slot of the
 * model's table or of the whole's. */
rlf_status rlf_model_fill_rows(rlf_model *model, const rlf_slot *slot,
                               int64_t first, int64_t n, const float *part,
                               rlf_err *err);
bool rlf_model_fills_rows(const rlf_model *model, const rlf_table *table,
                          const rlf_slot *slot);
/* Notes that what landed in a turn (rlf_layer_turn) is complete. */
rlf_status rlf_model_landed(rlf_model *model, int turn, rlf_err *err);

/* The matrices of a layer, from the weights to m->packed. */
rlf_status rlf_model_pack_layer(const rlf_model *model, int layer,
                                rlf_err *err);

/* Can it have the weights of `from`? RLF_USER if one lacks what the other has,
 * but for a scalar head. Outlines will do. */
rlf_status rlf_model_check_copy(const rlf_model *model, const rlf_model *from,
                                rlf_err *err);
/* Weights of `from` by name; a scalar head that `from` lacks becomes 0. */
rlf_status rlf_model_copy(rlf_model *model, const rlf_model *from,
                          rlf_err *err);

/* model := sum of factor[i] * from[i], which may include the model itself
 * (once). Moments are lost. All must have the same shapes. */
rlf_status rlf_model_assign(rlf_model *model, const float *factor,
                            const rlf_model *const *from, int n, rlf_err *err);

#endif
