/* Resource classes: models, data sets, hooks and states, all that lasts longer
 * than a step. What every kind does is one interface; what only models, data
 * sets or hooks do is one each, to which the class of that kind points. */
#ifndef RLF_GRAPH_RESOURCE_H
#define RLF_GRAPH_RESOURCE_H

#include "engine/graph/graph.h"
#include "engine/graph/run.h"
#include "engine/layout/slice.h"

/* Bytes that a row takes on the device under another place row of its model. */
typedef struct rlf_memory_choice {
    uint64_t device;
    const char *row; /* "actor on 0..1 (lanes: 2)" */
} rlf_memory_choice;

/* Bytes by what they are for, which a plan prints and a run allocates. */
typedef struct rlf_memory_row {
    const char *owner, *purpose;
    const char *lower;     /* the cap that makes it smaller; NULL: none does */
    uint64_t device, host; /* bytes */
    bool offloaded; /* the host's bytes are weights that `offload:` keeps */
    /* Partial sums of gradients: blocks of memory, of lanes held on this rank;
     * else 0. Which model's, and what fewer lanes would leave of it, set by the
     * plan. */
    int blocks;
    int model;
    int n_choices;
    const rlf_memory_choice *choices;
} rlf_memory_row;
typedef struct rlf_memory {
    rlf_arena *arena;
    struct {
        rlf_memory_row *data;
        size_t count, room;
    } rows;
} rlf_memory;

/* Memory of which more makes a run faster and changes nothing else: pages of
 * keys and values. */
typedef struct rlf_pool {
    int resource;         /* the resource that has these pages */
    uint64_t bytes;       /* bytes of a unit, above 0 */
    uint64_t least, most; /* units that it needs; that it has a use for */
    uint32_t tokens;      /* tokens of one sequence in a unit */
    uint64_t *units;      /* units that the resource has */
} rlf_pool;
typedef struct rlf_pools {
    rlf_arena *arena;
    struct {
        rlf_pool *data;
        size_t count, room;
    } list;
} rlf_pools;

/* A model's weights go from one of its copies to another: every send of the
 * edge, of all ranks. */
typedef struct rlf_weight_edge {
    int from, to; /* copies of the model */
    const rlf_send *sends, *copies;
    int n_sends, n_copies, rounds;
    bool by_layer; /* rounds of a layer come before those of the next */
} rlf_weight_edge;

/* The part of an edge that a rank sends. */
typedef struct rlf_moved {
    uint64_t bytes, messages;
} rlf_moved;

typedef enum rlf_field {
    RLF_FIELD_NONE,
    RLF_FIELD_NUMBER,
    RLF_FIELD_TEXT,
} rlf_field;

/* A tensor of a model in f32, in the shape in which files have it. */
typedef struct rlf_gathered_tensor {
    const char *name;    /* in files */
    uint64_t rows, cols; /* a vector has rows, and cols 1 */
    float *data;         /* [rows][cols] */
} rlf_gathered_tensor;

/* The weights of a model in one place: of a model with adapters these alone. */
typedef struct rlf_gathered {
    rlf_gathered_tensor *data; /* [count], in `arena` */
    size_t count;
    float *block; /* has the data of all; of malloc */
    rlf_arena *arena;
} rlf_gathered;

/* The interface that only models have. */
typedef struct rlf_model_class {
    /* Makes what `open` would make on another rank, or for another plan, as far
     * as caps, memory and costs look at it: of `opened`, which was opened by an
     * env that is only planned and must outlive it. Ended by close. */
    rlf_status (*outline)(const rlf_env *env, const rlf_resource *resource,
                          void *opened, rlf_err *err, void **out);
    /* With nothing left open. */
    const rlf_caps *(*caps)(const void *object);
    /* Make what is as large as its caps; after all memory was found to fit. */
    rlf_status (*reserve)(const rlf_env *env, const rlf_resource *resource,
                          void *object, rlf_err *err);
    /* Adds the pools of resource `index` that are on this rank. */
    void (*pools)(int index, void *object, rlf_pools *out);
    /* Its tensors, in the order in which a copy has them, in `arena`. `object`
     * NULL: it is not open, and what the declaration names is looked into. */
    rlf_status (*shapes)(const rlf_graph *graph, const rlf_resource *resource,
                         const void *object, rlf_arena *arena, rlf_err *err,
                         rlf_shapes *out);
    /* Can the weights be cut as each of n layouts cuts them, and sums into so
     * many shards? Looks into what the declaration names; what cannot be read
     * is no error here. RLF_USER, saying which number fails and which are
     * possible: *wrong is the first layout that cannot be had, n the shards. */
    rlf_status (*fits)(const rlf_graph *graph, const rlf_resource *resource,
                       const rlf_layout *const *layouts, int n, int shards,
                       rlf_err *err, int *wrong);
    /* Have the two models other tokens than each other? Looks into what the
     * declarations name; what cannot be read is no difference. */
    bool (*differ)(const rlf_graph *graph, const rlf_resource *a,
                   const rlf_resource *b);
    /* Can it go on from what the checkpoint in `directory` has of it? RLF_USER:
     * that is of another shape. What is damaged there is no error here. */
    rlf_status (*suits)(const rlf_env *env, const rlf_resource *resource,
                        const void *object, const char *directory,
                        rlf_err *err);
    /* This rank's part in a weight edge. The ranks of `world` that the edge
     * names make the call together; what this one sends is added to *moved. */
    rlf_status (*move)(const rlf_env *env, const rlf_resource *resource,
                       void *object, const rlf_weight_edge *edge,
                       struct rlf_group *world, rlf_err *err, rlf_moved *moved);
    /* This rank's part in gathering the weights of the first copy: all ranks
     * that have parts of it make the call together, and the one that writes
     * them in checkpoints puts them into *out, unless that is NULL. */
    rlf_status (*gather)(const rlf_env *env, const rlf_resource *resource,
                         void *object, rlf_gathered *out, rlf_err *err);
    /* The reader that the sets which it has written point to: nodes/rows.h. */
    const struct rlf_reader *(*reader)(const void *object);
} rlf_model_class;

/* The interface that only data sets have. */
typedef struct rlf_data_class {
    /* Further checks of a declaration whose arguments fit; may add diagnostics
     * at its span or its arguments'. */
    void (*infer)(const rlf_graph *graph, const rlf_resource *resource,
                  rlf_diags *diags);
    /* While compiling: does a row have the field `name`, and is it a text?
     * Reads the first row of the file if need be. RLF_USER with a sentence if
     * the file cannot be read; *out is RLF_FIELD_NONE, NUMBER or TEXT, *nearest
     * a name to propose or NULL; after an error `name` itself if that is of
     * this field alone. */
    rlf_status (*field)(const rlf_graph *graph, const rlf_resource *resource,
                        const char *name, rlf_err *err, rlf_field *out,
                        const char **nearest);
    /* All its rows, which sets and columns of a step point to; and the digest
     * of what is in them. */
    const rlf_space *(*rows)(const void *object);
    const rlf_digest *(*digest)(const void *object);
    /* The fields of a row but its prompt: `"name":value,...`, JSON without
     * braces. What it takes meanwhile is in `pool`. */
    rlf_status (*fields)(const void *object, uint32_t row, rlf_arena *pool,
                         rlf_err *err, rlf_buf *out);
} rlf_data_class;

/* The interface that only hooks have. */
typedef struct rlf_hook_class {
    /* The class of form HOOK that its calls have, by name. */
    const char *(*per)(const rlf_resource *resource);
    /* Bytes of the longest text that it may give. */
    double (*text)(const rlf_resource *resource);
} rlf_hook_class;

/* The interface of all, and one of the above of that kind; a state has none. */
struct rlf_resource_class {
    const char *name; /* the word that declares one: "model" */
    rlf_resource_kind kind;
    const char *doc;

    /* Traits: with the interfaces below all that the grammar and the engine
     * know of a resource. */
    const char *noun;  /* what messages call one: "data set" */
    const char *saved; /* what a checkpoint has of it, "a data set"; NULL:
                          nothing. Of a model: where it is not fixed */
    bool values; /* it is a number that flows read and set, or, where it has a
                    `source`, one for each row of that data */

    const rlf_model_class *model;
    const rlf_data_class *data;
    const rlf_hook_class *hook;
    /* Constructors and their arguments, for checks and messages: a table like
     * a node class's formals. */
    const struct rlf_constructor *constructors;
    int n_constructors;
    rlf_status (*open)(const rlf_env *env, const rlf_resource *resource,
                       rlf_err *err, void **out);
    /* Takes what it needs of other resources: called when all are open, in
     * their order. */
    rlf_status (*settle)(const rlf_env *env, const rlf_resource *resource,
                         void *object, rlf_err *err);
    void (*close)(void *object);
    /* A line about it for who starts a run, or nothing. */
    void (*note)(const rlf_resource *resource, void *object, rlf_buf *out);
    /* Memory it takes, by purpose: adds rows to the plan's memory table. */
    void (*memory)(const rlf_graph *graph, const rlf_resource *resource,
                   void *object, rlf_memory *out);
    /* Checkpoints: write to, or read from, files under `directory` that begin
     * with the resource's name. */
    rlf_status (*save)(const rlf_env *env, const rlf_resource *resource,
                       void *object, const char *directory, rlf_err *err);
    rlf_status (*restore)(const rlf_env *env, const rlf_resource *resource,
                          void *object, const char *directory, rlf_err *err);
    /* A step begins: what a checkpoint has of it is what back() returns to. */
    void (*mark)(void *object);
    /* After a step that failed: all that a checkpoint has of it is as it was
     * marked. False: that cannot be had again. */
    bool (*back)(void *object);
};

/* Frees what rlf_model_class.gather has put there. */
void rlf_gathered_free(rlf_gathered *weights);

/* The caps of a resource that is a model; NULL: it is none. */
const rlf_caps *rlf_resource_caps(const rlf_resource *resource,
                                  const void *object);

typedef struct rlf_constructor {
    const char *name;   /* "lm", "copy", "jsonl", "mix", "lua", "adamw"... */
    const char *within; /* NULL: of a declaration; else inside this one */
    const rlf_formal *formals;
    int n_formals;
    bool extra; /* further labelled arguments (columns of jsonl): texts, */
    const char *taken; /* not called one of these, "response|length" */
    bool members; /* its arguments without a label are data sets, one or more,
                     as RLF_ARG_RESOURCE before the others */
    bool chooses; /* written d.NAME(c): a part of the data set d, which becomes
                     the resource's `source`, c its `condition` */
    bool rest;    /* written d.NAME: what the option NAME of the data set d, its
                     `source`, keeps out of it; made with d */
    const char *doc;
} rlf_constructor;

/* Has it all that its kind does, and nothing of another? */
bool rlf_resource_complete(const rlf_resource_class *class);

/* settle, mark, back and note of a resource class that has none */
rlf_status rlf_resource_no_settle(const rlf_env *env,
                                  const rlf_resource *resource, void *object,
                                  rlf_err *err);
void rlf_resource_no_mark(void *object);
bool rlf_resource_no_back(void *object);
void rlf_resource_no_note(const rlf_resource *resource, void *object,
                          rlf_buf *out);

#endif
