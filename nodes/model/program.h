/* A model as a program: the rows that its family appends.
 *
 * A row is an operation of a closed list with the values that it reads, the
 * values that it gives, and its weights. Values are variables, each given once:
 * the residual that comes into a layer keeps its name beside the one that goes
 * out. A family (families/) is a function that appends rows, for they depend on
 * the config (biases, norms of heads) and on the layer (windows); what it
 * appends is plain data.
 *
 * Rows know neither sizes nor ranks nor memory. The width of a value is a
 * symbol, and the symbol says whether and how tensor parallelism cuts what has
 * it: no row says how it is cut. What follows from rows:
 *
 *     table.h      names, shapes, cuts and order of the weights
 *     compile.h    calls of kernels, forward and backward; memory of values
 *     rates.h      counts of work
 *
 * A program begins with EMBED. Each layer reads, of values before it, the
 * residual alone, which the last row before it gives; the last layer attends;
 * and each value is read, but for what heads read (rlf_program_new asserts it).
 *
 * In the last layer all behind its attention is for the tokens alone whose
 * output is wanted: GATHER rows stand there, which no family writes.
 *
 * Start with families/llama.c, which is what a reader of a model wants to see.
 */
#ifndef RLF_MODEL_PROGRAM_H
#define RLF_MODEL_PROGRAM_H

#include "engine/base/vec.h"
#include "nodes/model/config.h"

/* The numbers that a row of a value has. */
typedef enum rlf_width {
    RLF_WIDTH_HIDDEN, /* the residual: whole on all ranks */
    RLF_WIDTH_HEAD,   /* one head: of weights that all heads share */
    RLF_WIDTH_Q,      /* all query heads: cut between heads */
    RLF_WIDTH_KV,     /* all key heads, or value heads: cut between heads, and
                         with more ranks than heads neighbours share one */
    RLF_WIDTH_FFN,    /* inner features of the mlp: cut anywhere */
    RLF_WIDTH_VOCAB,  /* tokens: cut anywhere */
    RLF_WIDTH_PLACES, /* a row of the residual for each position: whole */
    RLF_WIDTH_RANK,   /* between the two matrices of an adapter: whole */
} rlf_width;

static inline bool
rlf_width_is_cut(rlf_width width)
{
    return width != RLF_WIDTH_HIDDEN && width != RLF_WIDTH_HEAD &&
           width != RLF_WIDTH_PLACES && width != RLF_WIDTH_RANK;
}

/* Returns the size of a width in the whole model. */
int64_t rlf_width_size(const rlf_model_config *config, rlf_width width);

/* The closed list: row.def. */
typedef enum rlf_row_kind {
#define ROW(name, doc, reads, reads_out, over) RLF_ROW_##name,
#include "nodes/model/row.def"
#undef ROW
} rlf_row_kind;

/* Results that may be written over no input, or each over its own. */
enum { RLF_OVER_NONE = -1, RLF_OVER_SAME = -2 };

/* The properties of an operation that compiling must know. */
typedef struct rlf_row_info {
    int reads; /* inputs that its derivative reads: bit i for in[i] */
    bool reads_out;
    int over;
} rlf_row_info;
extern const rlf_row_info rlf_row_infos[];

typedef int rlf_var; /* its number in the program */

/* The matrix of an adapter that a LINEAR row has. */
typedef enum rlf_adapter {
    RLF_ADAPTER_NONE,
    RLF_ADAPTER_A, /* [rank, inputs] */
    RLF_ADAPTER_B, /* [outputs, rank] */
} rlf_adapter;

typedef struct rlf_var_info {
    rlf_width width;
    int layer; /* the layer of the model row that gives it */
    bool rows; /* its rows are tokens whose output is wanted; else all tokens */
} rlf_var_info;

enum { RLF_ROW_VALUES = 3 };

typedef struct rlf_model_row {
    rlf_row_kind kind;
    int layer; /* -1: before the layers; config->layers: behind them */
    int n_in, n_out;
    rlf_var in[RLF_ROW_VALUES];  /* ONTO: x, to */
    rlf_var out[RLF_ROW_VALUES]; /* side by side */
    /* Its tensors in files without ".weight", one for each out; NULL: none. */
    const char *name[RLF_ROW_VALUES];
    bool bias;    /* LINEAR, ONTO, NORM: ".bias" beside each */
    bool centred; /* NORM: LayerNorm */
    bool by_head; /* NORM: of each head, each with weights of its own */
    bool places;  /* EMBED: positions, not tokens */
    int window; /* ATTEND: keys that a query sees, itself included; 0: all */
    double scale; /* ATTEND: of the products of queries and keys; ADD */
    double rate;  /* DROP: the part that is not kept, p; CLIP: the bound */
    int module;   /* DROP: its number, by which is drawn what is kept */
    bool rounded; /* ADD: the scale, to the type of activations */
    bool local;   /* ROTATE: as config.local_rope says */
    double cap;   /* ATTEND: soft cap of these, scaled; 0: none */
    rlf_act act;  /* GLU */
    rlf_adapter adapter; /* LINEAR; without one a model that has adapters does
                            not train the weights of the model row */
    /* ADAPTER_B: the slot beside which it is, as table.h names slots of a
     * layer: "self_attn.q_proj.weight". */
    const char *beside;
} rlf_model_row;

typedef struct rlf_program {
    const rlf_model_config *config;
    rlf_arena *arena;
    RLF_VEC(rlf_model_row) rows;
    RLF_VEC(rlf_var_info) values;
    int layer;      /* the layer of model rows that are appended now */
    bool one_plus;  /* norms multiply by 1 + w: set before all model rows */
    bool drops;     /* there is a DROP row */
    int *first;     /* [layers + 1] of each layer the first row; behind them */
    rlf_var hidden; /* the value that heads read */
} rlf_program;

static inline int
rlf_program_rows(const rlf_program *program)
{
    return (int)program->rows.count;
}

/* The prefix of the names of a layer's tensors, before ".N.". */
const char *rlf_program_layers(const rlf_model_config *config);

/* The head's tensor, where it is not the embedding. */
const char *rlf_head_name(const rlf_model_config *config);

static inline bool
rlf_is_product(const rlf_model_row *row)
{
    return row->kind == RLF_ROW_LINEAR || row->kind == RLF_ROW_ONTO;
}

/* Does training change the weights that a model row has? */
static inline bool
rlf_row_trains(const rlf_program *program, const rlf_model_row *row)
{
    return !program->config->lora.rank || row->adapter != RLF_ADAPTER_NONE;
}

/* The program of a config, in `arena`; the config must live as long. */
const rlf_program *rlf_program_new(const rlf_model_config *config,
                                   rlf_arena *arena);

/* The same model rows with the same numbers for passes that do not train, in
 * `arena`: whoever reads what a DROP row gives reads what it reads, and such a
 * model row has no values. The program itself where it has none. */
const rlf_program *rlf_program_undropped(const rlf_program *program,
                                         rlf_arena *arena);

/* ---- what a family's function calls ------------------------------------- */

typedef struct rlf_heads {
    rlf_var q, k, v;
} rlf_heads;

typedef struct rlf_gates {
    rlf_var gate, up;
} rlf_gates;

/* The layers, whose rows `layer` appends, which makes the residual behind
 * r->layer of that before it; rows from then on are behind them. Names of
 * tensors of a layer begin with "model.layers.N.", or what the family says,
 * which is not repeated here. Results of one row that have one name are parts
 * of one tensor. */
rlf_var rlf_layers(rlf_program *r, rlf_var x,
                   rlf_var (*layer)(rlf_program *r, rlf_var x));
rlf_var rlf_embed(rlf_program *r, const char *name);
/* The learned embedding of each position. */
rlf_var rlf_embed_places(rlf_program *r, const char *name);
/* Normalizes over all that x has: of a q, over its heads together. */
rlf_var rlf_norm(rlf_program *r, rlf_var x, const char *name);
/* Normalizes what is left when the mean is taken off; without a name it has no
 * weight. */
rlf_var rlf_layer_norm(rlf_program *r, rlf_var x, const char *name, bool bias);
/* The same of each head by itself, with weights of its own. */
rlf_var rlf_head_layer_norm(rlf_program *r, rlf_var x, const char *name);
rlf_heads rlf_linear_heads(rlf_program *r, rlf_var x, const char *q,
                           const char *k, const char *v, bool bias);
rlf_heads rlf_head_norms(rlf_program *r, rlf_heads h, const char *q,
                         const char *k);
rlf_heads rlf_rotate(rlf_program *r, rlf_heads h);
/* Rotates as layers with a window do that have rotations of their own. */
rlf_heads rlf_rotate_local(rlf_program *r, rlf_heads h);
rlf_var rlf_attend(rlf_program *r, rlf_heads h, int window, double scale,
                   double cap);
rlf_var rlf_linear_to(rlf_program *r, rlf_var x, rlf_width width,
                      const char *name, bool bias);
/* Multiplies to the width of the residual. */
rlf_var rlf_linear(rlf_program *r, rlf_var x, const char *name, bool bias);
/* a, the residual, and b times scale; a alone times scale. */
rlf_var rlf_add(rlf_program *r, rlf_var a, rlf_var b, double scale);
rlf_var rlf_scale(rlf_program *r, rlf_var a, double scale);
/* Dropout (Srivastava et al. 2014) of a part `rate` in passes that train; all
 * other passes read x itself. `module`: no other model row of the program has
 * it. */
rlf_var rlf_drop(rlf_program *r, rlf_var x, double rate, int module);
/* Scales by a number that is an activation too: in bf16 it is rounded. */
rlf_var rlf_scale_rounded(rlf_program *r, rlf_var a, double scale);
/* Numbers above `bound` become that, those below -bound become -bound. */
rlf_var rlf_clip(rlf_program *r, rlf_var x, double bound);
/* Onto the residual: another sum than that of a product and an addition. */
rlf_var rlf_linear_onto(rlf_program *r, rlf_var to, rlf_var x, const char *name,
                        bool bias);
rlf_gates rlf_linear_gates(rlf_program *r, rlf_var x, const char *gate,
                           const char *up, bool bias);
/* The activation of gates that multiply nothing. */
rlf_var rlf_activate(rlf_program *r, rlf_var x, rlf_act act);
rlf_var rlf_glu(rlf_program *r, rlf_gates g, rlf_act act);

#endif
