/* Models as resources: what `model m = lm(...)` opens.
 *
 * A model of nodes/model with its tokenizer and template, and the settings of
 * its constructor that node classes need. Node classes get the object from
 * env->resource[...]. */
#ifndef RLF_NODES_MODEL_H
#define RLF_NODES_MODEL_H

#include "engine/graph/run.h"
#include "engine/text/files.h"
#include "nodes/model_declare.h"
#include "nodes/model/model.h"
#include "nodes/model/origin.h"
#include "nodes/rows.h"

/* The weights as one layout has them (rlf_weight_copies). */
typedef struct rlf_local_copy {
    rlf_model *model; /* NULL: this rank has no part of it */
    int first; /* the copy whose model it is: itself, or an earlier one, cut
                  alike; -1: none */
    bool own;  /* it is its own */
    bool uses[RLF_N_USES]; /* what calls here do with it; of an own one */
    const char *call;      /* that it is for; NULL: the first copy */
    bool later;            /* nobody reads it: it gets weights, and passes them
                              on to another copy */
} rlf_local_copy;

typedef struct rlf_model_object {
    rlf_arena *arena;
    const char *name; /* the user's */
    rlf_model_config *config;
    const rlf_model *outline;  /* the same on every rank */
    struct rlf_tables *tables; /* of a plan: that its outlines share; or NULL */
    rlf_model *model;          /* of the first copy; NULL: none of it is here */
    rlf_local_copy *copies;    /* [n_copies] */
    int n_copies;
    rlf_weights_known known; /* of its files */
    const bool *bf16;        /* tensors that they have so (rlf_model_options) */
    bool rounds;       /* it changes, and is saved in a type of 16 bits */
    bool blank;        /* its scalar head stays 0 */
    bool outlined;     /* tokenizer and template are another object's */
    bool generates;    /* a call of the program samples with it */
    bool uses_scalar_head;    /* a call of the program reads its scalar head */
    bool uses_lm_head;        /* a call samples, or reads log-probabilities */
    bool tokenizes_responses; /* the responses of a set are in its tokens */
    const char *texts; /* directory of the tokenizer's files, or the file */
    /* These files, where this rank saves it. */
    rlf_tokenizer_files files;
    struct rlf_tokenizer *tokenizer; /* NULL: of a plan, and not there */
    struct rlf_lua_host *template;   /* declared; or NULL */
    struct rlf_chat_template *own;   /* the tokenizer's, or NULL */
    rlf_reader reader;
    rlf_buf warnings;                      /* lines: of end tokens */
    /* copy(m), base(m): shares tokenizer and template with it; else NULL */
    const struct rlf_model_object *source;
    bool base; /* base(m) */
} rlf_model_object;

static inline rlf_model_object *
rlf_model_at(const rlf_env *env, int resource)
{
    return env->resource[resource];
}

/* The weights of a model that a call takes; NULL where this rank is not one of
 * those that carry it out. */
rlf_model *rlf_model_of(const rlf_call *call, int resource);

/* The tokens that end what the model writes: those that its own files name,
 * else the tokenizer's. */
size_t rlf_model_ends(const rlf_model_object *model, const uint32_t **out);

/* Members of the resource class (engine/graph/resource.h): memory and pools. */
void rlf_model_memory(const rlf_graph *graph, const rlf_resource *resource,
                      void *object, rlf_memory *out);
void rlf_model_pools(int index, void *object, rlf_pools *out);

#endif
