/* The table of a model's weights: names, shapes, where each lies, and how each
 * is cut.
 *
 * All weights of a model are one block of f32; gradients and optimizer states
 * are blocks of the same form. Matrices come first, vectors after them, and of
 * these learned positions first, which files have as a matrix: so what weight
 * decay applies to, all that is a matrix in files, is one part. What is
 * multiplied together lies together: the tensors of a LINEAR row, such as q, k
 * and v, are one matrix [q + k + v, hidden], though Hugging Face files name
 * them one by one.
 *
 * All of it follows from the rows of the model's program. Matrices come in the
 * order of rows, then positions, then, layer by layer, vectors: norms of the
 * residual first, then all others in the order of rows. This order is numerics:
 * the gradient's norm adds in it.
 *
 * A model with adapters (adapter.h) has those behind all that it has without
 * them, which is its base: matrices of adapters layer by layer, then a scalar
 * head, if it has one. So the base's table is the beginning of its table, what
 * training changes is one part of the block, and gradients and states are
 * blocks of that part alone.
 *
 * Tensor parallelism: heads, inner features of the mlp and tokens of the
 * vocabulary are cut into shards (kernels/kernels.h), and whatever is summed
 * over them is a sum over shards. A rank of a group holds some neighbours, so
 * the same table with fewer of each.
 *
 * Pipeline parallelism: layers are cut into parts, as even as can be, that go
 * to the stages in turn; a stage has one or several of them, its chunks. The
 * first part embeds, the last has the final norm and the heads; an embedding
 * tied to the head is on both ends. Again the same table with fewer tensors.
 * Integers only: no memory here. */
#ifndef RLF_MODEL_TABLE_H
#define RLF_MODEL_TABLE_H

#include "kernels/kernels.h"
#include "nodes/model/program.h"

/* The kind of a tensor, by which it has its initial values. */
typedef enum rlf_slot_kind {
    RLF_SLOT_EMBEDDING, /* the embedding, also the head: N(0, 0.02^2) */
    RLF_SLOT_LINEAR,    /* N(0, 1 / fan-in) */
    RLF_SLOT_RESIDUAL,  /* output onto the residual: / sqrt(2 layers) too */
    RLF_SLOT_LOW,  /* the matrix to the rank of an adapter: uniform, up to 1 /
                      sqrt(fan-in) */
    RLF_SLOT_NORM, /* 1 */
    RLF_SLOT_ZERO, /* biases, the scalar head, norms by 1 + w, adapters
                      back from the rank: 0 */
} rlf_slot_kind;

/* Into how many shards, and the part that is held here. Zero-filled: not cut.
 */
typedef struct rlf_cut {
    int shards;        /* V, a multiple of ranks; 0: as many */
    int ranks, rank;   /* the number of ranks that hold a stage, and this one's
                          number; ranks 0: 1 */
    int stages, stage; /* the number of stages of the pipeline, and this one's
                          number; stages 0: 1 */
    int chunks;        /* parts of the layers that each stage has; 0: 1 */
    bool vee;          /* two of them, the second on the way back */
} rlf_cut;

/* Layers first..last-1. */
typedef struct rlf_chunk {
    int first, last;
} rlf_chunk;

/* The shards of a tensor that a rank holds: all; rows (outputs: q, gate, up,
 * embedding, head), columns (inputs: o, down); rows of key/value heads, which
 * several ranks hold where there are more ranks than heads. */
typedef enum rlf_slice {
    RLF_SLICE_NOT,
    RLF_SLICE_ROWS,
    RLF_SLICE_COLS,
    RLF_SLICE_KV,
} rlf_slice;

/* The forms in which files have a slot (form.h). */
typedef struct rlf_file_form {
    const char *tensor;  /* the tensor's name in Hugging Face files */
    int64_t first, rows; /* the slot's rows begin there, of all that it has */
    bool transposed;     /* the tensor has [inputs, outputs] */
    int pairs;    /* the number of rows in which those that are rotated together
                     stand side by side; 0: they do not */
    int turned;   /* ... and so many of them are rotated, the first ones */
    int64_t run;  /* neighbouring rows of each `stride` rows of the tensor that
                     are the slot's, from `first` on; 0: all from there */
    int64_t stride;
    int64_t fold; /* a vector here, there a matrix of so many columns; 0: not */
} rlf_file_form;

/* One tensor of the model, or the part of it that is held here. */
typedef struct rlf_slot {
    const char *name; /* the tensor's in files; "NAME[1]": a part of that */
    rlf_file_form form;
    int layer; /* -1: before the layers; config.layers: behind them */
    rlf_slot_kind kind;
    rlf_slice slice;
    int64_t rows, cols; /* held here; a vector has cols 0 */
    int64_t count;      /* elements */
    int64_t offset;     /* floats from the start of the block */
    int64_t file_rows, file_cols; /* the shape of the whole model's tensor */
    int64_t first; /* row, or column, of the file where it begins */
    int number;    /* the number in the table of all stages */
} rlf_slot;

#define RLF_NO_SLOT (-1)

/* The beginnings of a model row's weights in the block; RLF_NO_SLOT where it
 * has none, or another stage has them. */
typedef struct rlf_row_slots {
    int64_t matrix;    /* all of the row, side by side */
    int64_t vector[2]; /* the offset of a norm for each out, or of its weight
                          and bias; of biases that lie side by side */
    int number; /* the number of the matrix, see rlf_table.matrix; -1: none */
} rlf_row_slots;

/* A matrix of the block that products read packed: of a LINEAR or ONTO row. */
typedef struct rlf_matrix {
    int64_t offset, rows, cols; /* held here */
} rlf_matrix;

typedef struct rlf_layer {
    int place; /* among the layers held here; -1: another stage's, all else 0 */
    int64_t matrices, matrices_end;  /* its part of the block's matrices */
    int64_t vectors;                 /* the offset at which its vectors begin */
    int first, last;                 /* its matrices: first..last-1 */
    int64_t adapters, adapters_end;  /* its part of the block's adapters */
    const rlf_row_slots *head_norms; /* NULL: none */
} rlf_layer;

typedef struct rlf_table {
    rlf_arena *arena;        /* the arena that has the table */
    rlf_model_config config; /* the config of the whole model */
    const rlf_program *program;
    rlf_model_head head;
    rlf_cut cut;
    rlf_shards shards; /* the shards of every sum that is cut */
    /* The table of all stages; itself if there is one. */
    const struct rlf_table *whole;
    int *own;         /* [whole->n_slots] the slot here, -1: another stage's */
    rlf_chunk *chunk; /* [cut.chunks] the layers of each */
    int most_layers;  /* layers of the stage that has the most */
    /* held here */
    int n_layers;
    int heads, kv_heads;
    int64_t ffn, vocab;
    int64_t token;    /* the first of the vocabulary held */
    int copies;       /* ranks that hold the same key/value heads */
    bool head_norms;  /* some layer has norms of heads */
    int norm_sums[2]; /* sums of the gradients of q and k norms */
    rlf_slot *slots;  /* slots, in the order of the block */
    int n_slots;
    int n_base; /* slots of the base; all where there are no adapters */
    rlf_row_slots *rows; /* [program->n_rows] */
    rlf_layer *layers;   /* [config.layers] */
    /* Matrices of all layers held, in the order of the block. */
    rlf_matrix *matrix;
    int n_matrix;
    int base_matrices; /* matrices of the base among them */
    /* Offsets of the embedding and the head; RLF_NO_SLOT in stages without
     * them: */
    int64_t embed;
    int64_t lm;       /* [vocab, hidden]; == embed if tied, on one stage */
    int64_t lm_bias;  /* [vocab], RLF_NO_SLOT where the head has none */
    int64_t score;    /* [1, hidden], RLF_NO_SLOT without scalar head */
    int64_t ends;     /* the embedding where first and last stage share it; of
                         others, and of one stage, RLF_NO_SLOT */
    /* [8] what passes do (rlf_table_rates); NULL: nobody asked yet */
    struct rlf_chunk_rates **rates;
    /* [1] the bytes of passes that were counted (rlf_pass_count_bytes), the
     * last one first; NULL: none yet */
    struct rlf_pass_bytes **counted;
    int64_t matrices; /* floats of the block's first part */
    int64_t vectors;  /* the end of the vectors of the base */
    /* Training changes the floats from `trained` on: 0, or `vectors`. Weight
     * decay applies to those before `decayed`: without adapters matrices, with
     * the positions behind them; else all. */
    int64_t trained, decayed;
    int64_t count; /* floats of the block */
} rlf_table;

/* Has it adapters, and so a base that nothing changes? */
static inline bool
rlf_table_adapted(const rlf_table *table)
{
    return table->config.lora.rank > 0;
}

/* Returns how many floats training changes. */
static inline int64_t
rlf_table_trained(const rlf_table *table)
{
    return table->count - table->trained;
}

/* Does training change a tensor? */
static inline bool
rlf_slot_trains(const rlf_table *table, const rlf_slot *slot)
{
    return slot->offset >= table->trained;
}

/* Can the model be cut so? RLF_USER, saying which number does not divide which,
 * and what is possible: shards is 0 or a power of two up to RLF_MOST_SHARDS
 * that ranks divide; shards and ranks divide the heads, and divide the
 * key/value heads or are multiples of them; there is a token and an inner
 * feature for each; and a layer for each chunk. */
rlf_status rlf_table_check_cut(const rlf_model_config *config,
                               const rlf_cut *cut, rlf_err *err);
/* The table of a config with a head, cut as checked (NULL: not). In `arena`. */
const rlf_table *rlf_table_new(const rlf_model_config *config,
                               rlf_model_head head, const rlf_cut *cut,
                               rlf_arena *arena);
/* The same of a program, of which the table of all stages is there: `whole`,
 * cut as rlf_table_whole_cut says; NULL if there is one stage. Both must live
 * as long. */
const rlf_table *rlf_table_stage(const rlf_program *program,
                                 rlf_model_head head, const rlf_cut *cut,
                                 const rlf_table *whole, rlf_arena *arena);
/* Returns how much of a width is held here. */
int64_t rlf_table_width(const rlf_table *table, rlf_width width);
/* A rank's part in all stages together: with zeros as ones. */
rlf_cut rlf_table_whole_cut(const rlf_cut *cut);
/* Shard `shard` of the tensor, of those held: `count` elements at `at` floats
 * from its start, in rows of `width` that lie `ld` apart (0, 0: dense).
 * Everything of a tensor that is not cut, or held by several ranks, counts as
 * shard 0, or the first rank's; a key/value head of several shards as the first
 * one's. */
typedef struct rlf_slot_part {
    int64_t at, count, width, ld;
} rlf_slot_part;
rlf_slot_part rlf_slot_shard(const rlf_table *table, const rlf_slot *slot,
                             int shard);
/* Say whether chunk `chunk` is the first of the layers' parts, which embeds, or
 * the last, which has the heads. */
bool rlf_table_begins(const rlf_table *table, int chunk);
bool rlf_table_ends(const rlf_table *table, int chunk);
/* The stage that has the part of the layers by `by` behind (before) a chunk's.
 */
int rlf_table_neighbour(const rlf_table *table, int chunk, int by);
/* The stage that has the last layers, and so the heads. */
int rlf_table_last(const rlf_table *table);
/* Are two models of one form cut into the same parts, and this the same? */
bool rlf_table_cut_alike(const rlf_cut *a, const rlf_cut *b);
/* The slot named so, or NULL. */
const rlf_slot *rlf_table_find(const rlf_table *table, const char *name);

/* Tokens of one of the vocabulary's shards held here. */
static inline int64_t
rlf_table_shard_tokens(const rlf_table *t, int shard)
{
    int64_t v = t->config.vocab;
    int s = t->shards.first + shard;
    return rlf_shard_first(v, t->shards.of, s + 1) -
           rlf_shard_first(v, t->shards.of, s);
}

/* Elements that a tensor has in files. */
static inline int64_t
rlf_slot_file_count(const rlf_slot *slot)
{
    return slot->file_rows * (slot->file_cols ? slot->file_cols : 1);
}

/* Widths held here, that many places need. */
static inline int64_t
rlf_table_q(const rlf_table *t)
{
    return (int64_t)t->heads * t->config.head_dim;
}

static inline int64_t
rlf_table_kv(const rlf_table *t)
{
    return (int64_t)t->kv_heads * t->config.head_dim;
}

/* Pieces that k and v lie in, of a sum over shards (rlf_piece_first): whole
 * heads, each as often as ranks hold it. */
static inline int
rlf_table_kv_pieces(const rlf_table *t)
{
    return t->config.kv_heads * t->copies;
}

static inline int64_t
rlf_table_qkv(const rlf_table *t)
{
    return rlf_table_q(t) + 2 * rlf_table_kv(t);
}

#endif
