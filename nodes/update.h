/* Declarations that the files of class update share.
 *
 * update.c makes an execution and ends it, update_micro.c runs one micro-batch
 * on one chunk of the model, update_loss.c goes between the model's rows and
 * the columns of the loss's program, update_point.c has the device do so,
 * update_cost.c counts. No schedule here:
 * whoever carries the node out says which micro-batch is next
 * (rlf_trainable). */
#ifndef RLF_NODES_UPDATE_H
#define RLF_NODES_UPDATE_H

#include "engine/base/vec.h"
#include "kernels/expr.h"
#include "nodes/lanes.h"
#include "nodes/model/gradient.h"
#include "nodes/model/optimizer.h"
#include "nodes/model/transformer.h"
#include "nodes/vocab.h"

/* ---- update_point.c: the loss at a token, on the device ---- */

/* The source of an input of such a program. */
typedef struct rlf_update_source {
    enum {
        RLF_SOURCE_LOGPROB, /* the head: of call `index` */
        RLF_SOURCE_WORDS,   /* result `index` over vocab */
        RLF_SOURCE_INPUT,   /* column of the loss's program, on the host, */
        RLF_SOURCE_OUTPUT,  /* and one that it computes before live values */
    } kind;
    int index;
} rlf_update_source;

/* A program at the tokens of a set. Outputs: the derivative by the call's
 * log-probability, then those by what is reduced over vocab. */
typedef struct rlf_update_point {
    int set_input;
    int call;                       /* the call of the loss, or -1 */
    const rlf_vocab_program *words; /* or NULL */
    const rlf_expr_dense *program; /* NULL: not for the device */
    rlf_update_source *sources;    /* per input */
    int n_sources;
} rlf_update_point;

typedef struct rlf_update_points {
    rlf_update_point *points;
    int n_points;
    const rlf_expr *program; /* the loss's, with outputs behind its own */
} rlf_update_points;

rlf_status rlf_update_points_new(const rlf_loss *loss, rlf_arena *arena,
                                 rlf_err *err, rlf_update_points *out);
/* Returns the program of a set, or NULL. */
const rlf_update_point *rlf_update_point_of(const rlf_update_points *points,
                                            int set_input);

/* Live calls that one pass serves: on the same set, or on sets whose samples
 * are of the same rows, which are taken by turns: row by row that of each. */
typedef struct rlf_update_group {
    const rlf_live_call *live; /* the first of them */
    rlf_update_set *sets;
    uint32_t n_sets;
    bool last;     /* scores, after the last token; else per token */
    bool logprob, scalar;
    rlf_vocab_tile *words; /* or NULL; of one set */
    /* The program that its tiles compute, NULL: the host does. Of one set. */
    const rlf_update_point *point;
    rlf_update_lanes lanes;
    /* This rank's samples: */
    rlf_sequence *seqs;  /* sequences by lane, then in the order of the sets */
    const uint32_t *row; /* [n] which sample of the sets together each is */
    uint32_t n;
} rlf_update_group;

/* The set of which sequence k of the group is a sample, and which. */
static inline const rlf_update_set *
rlf_update_set_of(const rlf_update_group *g, uint32_t k)
{
    return &g->sets[g->row[k] % g->n_sets];
}

static inline uint32_t
rlf_update_row_of(const rlf_update_group *g, uint32_t k)
{
    return g->row[k] / g->n_sets;
}

/* Samples that go through the model together. Every stage and every rank of
 * tensor parallelism cuts them alike: from lengths, lanes and caps. */
typedef struct rlf_update_micro {
    uint32_t lane; /* the lane among those held here */
    const rlf_update_group *group;
    uint32_t first, count; /* sequences of the group */
    uint64_t tokens; /* that are computed, */
    uint64_t read; /* and those of all samples, also of what they share */
    /* [rows], on the host, where the heads are; else NULL. */
    int64_t rows;
    float *logprob, *scalar, *d_logprob, *d_scalar;
    double **result; /* per output over vocab */
    rlf_nonfinite *nonfinite;
    void **words; /* outputs of other models (rlf_vocab_keep), or NULL: they are
                     read when their turn comes */
} rlf_update_micro;

/* A micro-batch between its forward and its backward, or weights, on one chunk.
 */
typedef struct rlf_update_flight {
    rlf_pass *pass;
    const rlf_update_micro *micro;
} rlf_update_flight;

/* One execution, in the step's pool. */
typedef struct rlf_update {
    rlf_call *call;
    rlf_model_object *object;
    rlf_model *model;
    rlf_update_group *groups;
    uint32_t n_groups;
    bool any; /* sequences, here or on another rank */
    RLF_VEC(rlf_update_micro) micros;
    rlf_update_flight **flights;  /* [chunk][flight] */
    /* [chunk] whose gradients are being added, by backward and by weights. */
    uint32_t *lane[2];
    const rlf_update_micro *words_read_for; /* the micro-batch that the models
                                               of the words' tile read last;
                                               NULL: none */
    rlf_reach reach;
    bool reading; /* forward is for live values alone; backward comes later */
    const rlf_update_points *points;
    double **known; /* columns for sources of a tile, on the host */
    rlf_column *inputs, *outputs; /* columns of the program */
    rlf_expr_bind bind;
    rlf_expr_frame *frame;
} rlf_update;

/* The set on which a live call is that the group's pass serves; NULL: another
 * serves it. */
const rlf_update_set *rlf_update_serves(const rlf_update_group *g,
                                        const rlf_live_call *live);

/* ---- update_micro.c: rlf_trainable ---- */

rlf_status rlf_update_forward(rlf_call *call, const rlf_train_op *op,
                              rlf_err *err);
rlf_status rlf_update_backward(rlf_call *call, const rlf_train_op *op,
                               rlf_err *err);
rlf_status rlf_update_weights(rlf_call *call, const rlf_train_op *op,
                              rlf_err *err);
/* Has, in a pipeline, the models of the words' tiles read all micro-batches
 * before training begins, stage by stage, whatever the schedule. */
rlf_status rlf_update_read_ahead(rlf_update *u, rlf_err *err);
/* End the lanes of a chunk up to this one, of RLF_GRADIENT_.. parts. */
rlf_status rlf_update_end_lanes(rlf_update *u, int chunk, int parts,
                                uint32_t lane, rlf_err *err);
/* The execution at hand of a call. */
rlf_update *rlf_update_of(const rlf_call *call);

/* ---- update_loss.c: rows first..first+n-1 of a flight's micro-batch ---- */

/* Puts the results of the heads into the live columns. */
void rlf_update_put_live(rlf_update *u, const rlf_update_micro *m,
                         int64_t first, int64_t n);
/* Run the program for these rows. */
rlf_status rlf_update_run_program(rlf_update *u, const rlf_update_micro *m,
                                  int64_t first, int64_t n, rlf_err *err);
/* The derivatives of the loss by these rows, from the columns. */
rlf_status rlf_update_get_gradient(rlf_update *u, const rlf_update_micro *m,
                                   int64_t first, int64_t n, rlf_err *err);
/* Runs on the device: from logprob[n] and what the words' tile reduced to, to
 * dlogprob[n] and the derivatives in that tile. */
rlf_status rlf_update_run_point(rlf_update *u, const rlf_update_flight *f,
                                int64_t first, int64_t n, const float *logprob,
                                float *dlogprob, rlf_err *err);
/* The columns of the words' tile for these rows. */
void rlf_update_place_words(const rlf_update_micro *m, int64_t first,
                            int64_t n);
/* Puts what the tile reduced to (rlf_vocab_results, and a wait) into the live
 * columns. */
void rlf_update_put_words(rlf_update *u, const rlf_update_micro *m,
                          int64_t first, int64_t n);
/* The loss's derivatives by that, from columns, to the tile. */
void rlf_update_get_words(rlf_update *u, const rlf_update_micro *m,
                          int64_t first, int64_t n);
/* Wait for what the device computed for all micro-batches: live values into
 * their columns; RLF_USER if a derivative is not finite. */
rlf_status rlf_update_settle(rlf_update *u, rlf_err *err);
/* RLF_USER: the loss is not finite, with the live value that is the first not
 * to be, or, if all are, what else it may be. */
rlf_status rlf_update_fail_loss(const rlf_update *u, double loss, rlf_err *err);

/* ---- update_trace.c: of the sample that is looked at ---- */

/* Where the call is alone: the derivatives by rows first..first+n-1 of other
 * samples are 0, on the host, */
void rlf_update_keep_alone(const rlf_update *u, const rlf_update_micro *m,
                           int64_t first, int64_t n, float *derivatives);
/* the same of those over words, from the tile's first row on, */
void rlf_update_keep_words(const rlf_update *u, const rlf_update_micro *m,
                           int64_t first, int64_t n);
/* and on the device. */
rlf_status rlf_update_keep_point(const rlf_update *u,
                                 const rlf_update_flight *f, int64_t first,
                                 int64_t n, float *dlogprob, rlf_err *err);
/* rlf_trainable.finish_alone. */
rlf_status rlf_update_finish_alone(rlf_call *call, rlf_err *err);
/* After the step: the fact of it, if it read the sample. */
void rlf_update_tell(const rlf_update *u, double loss, double norm,
                     const rlf_adamw *settings);

/* ---- update.c ---- */

/* The sums of all lanes together. */
rlf_status rlf_update_end_all_lanes(rlf_update *u, rlf_err *err);
/* The gradient's norm of the sample that is looked at alone, as the node's
 * state keeps it from one execution to the next. */
double *rlf_update_alone(const rlf_call *call);

/* The name of an update's metric, in `arena`: "actor.loss", of the model's
 * second update "actor.loss.2": losses of two statements have no common mean.
 */
const char *rlf_update_metric(const rlf_graph *graph, const rlf_node *node,
                              const char *what, rlf_arena *arena);

/* ---- update_cost.c ---- */

/* Micro-batches that an update of a model with these caps, resolved, can have
 * at most on a rank with so many lanes; 0: no bound. */
int64_t rlf_update_most_micros(const rlf_graph *graph, int model,
                               const rlf_caps *caps, int lanes);
void rlf_update_cost(const rlf_load *load, const rlf_node *node, rlf_cost *out);

#endif
