/* Node classes: the interface through which the engine knows what nodes do;
 * and the table of these and of the resource classes.
 *
 * A class is one `const struct` in its own file under nodes/ and one row in
 * nodes/node.def. The grammar resolves a user's call (`actor.logprob(roll)`)
 * by name through this table; sched and order see only these functions. No
 * function is NULL: what a class does not do is one of the rlf_class_* stubs.
 * Interfaces that only some classes have are. */
#ifndef RLF_GRAPH_CLASS_H
#define RLF_GRAPH_CLASS_H

#include "engine/graph/resource.h"
#include "engine/graph/sizes.h"

/* ---- traits ---- */

/* The forms in which the language reaches a class. */
typedef enum rlf_form {
    RLF_FORM_CALL,   /* name(...), or x.name(...) on a receiver */
    RLF_FORM_FIELD,  /* name, or x.name: no arguments */
    RLF_FORM_HOOK,   /* hookname(...): the class that the hook's `per` names */
    RLF_FORM_SYNTAX, /* it has a syntax of its own, for which the grammar finds
                        it by name (below) */
} rlf_form;

/* The contents of a node, besides what the formals of its class say (a set or
 * column that an argument names is an input; a receiver that is a set is input
 * 0):
 *
 *   fields     input 0: the set. A name that no field of SET has is a field of
 *              the set's data: class "number" or "words" on DATA, receiver: the
 *              data, argument `name`. On STATE: "state" and "rows", receiver:
 *              the state; output 0: its value
 *   hooks      receiver: the hook. Input 0: the set (none if per: step); extra
 *              labelled numbers and texts, or columns that go down to its rows.
 *              Outputs: one for each give in order, then `ok` (on the samples;
 *              per: step a scalar)
 *   functions  that give a set: respond without `to` is passed there the set
 *              whose rows the text has (`given` false); input 1 of ask is that
 *              set, so that fields of the data are at hand (or there is none)
 *
 * and of those with a syntax of their own:
 *
 *   "part"     x[s] on sets: inputs x, s
 *   "draw"     the head of a flow, or a data name outside it. Receiver: the
 *              data; output 0: the set. `count` absent: all rows
 *   "expr"     arithmetic: rlf_node.expr
 *   "words"    what is reduced over vocab: rlf_node.words
 *   "set_state", "set_rows"  s := e. Receiver: the state; input 0: the value
 *   ":="       m := e on models. Receiver: the model; args: for each term of
 *              the weighted sum a list of two, its coefficient (NUMBER, or
 *              VALUE of a scalar) and its model (RESOURCE), which the node
 *              reads
 *   "update"   receiver: the model; args: the formals of the class, named as
 *              those of the constructor `adamw` that the model was declared
 *              with, NUMBER or VALUE of a scalar read at each update; inputs:
 *              what rlf_node.loss refers to; outputs: its reports; its option
 *              `shared`: rlf_loss.shared
 *   "report"   args: extra labelled scalars; the label is the metric's name
 *   "split"    for x in s.split(...), ... { }. Inputs: the sets that are split;
 *              args: the formals once for each set in turn. call->out: the
 *              contents of the region's args, one piece of each set
 *   "collect"  receiver: the data; args: the formals, then `count`, the prompts
 *              that are wanted. Outputs: what is collected, the draw first. The
 *              region's arg: how many rows this round draws, the `count` of the
 *              draw in it, a VALUE whose `number` is the most that it can be.
 *              The region gives the inputs of its keep
 *   "within"   input 0: a number, which is in the range that its argument's own
 *              formal says, or the run ends
 *   "keep"     input 0: the condition, on the prompts of the draw or coarser;
 *              then, for each output of the collect, what it is made of
 *   "if", "every", "break", "checkpoint" */

/* The object that a method's receiver names. */
typedef enum rlf_receiver {
    RLF_RECEIVER_NONE,
    RLF_RECEIVER_MODEL,
    RLF_RECEIVER_SET,
    RLF_RECEIVER_HOOK,
    RLF_RECEIVER_DATA,
    RLF_RECEIVER_STATE,
} rlf_receiver;

/* The ways to divide the work of a node among the ranks of its layout. */
typedef enum rlf_partition {
    RLF_PARTITION_WHOLE, /* every rank computes all of it: what is cheap, and
                         whatever decides the control flow */
    RLF_PARTITION_NEAR,  /* rows where most of their inputs are; whole if all
                         ranks have all inputs */
    RLF_PARTITION_ROWS,  /* rows assigned to the data-parallel parts */
    RLF_PARTITION_JOINT, /* all ranks together, in one collective program */
} rlf_partition;

/* The kind of work that a node is. Rows of `place` say where a model's calls
 * (GENERATE, READ, TRAIN) are; search and simulator find out how long they
 * take, and so does the controller, for READ and TRAIN, to choose what comes
 * next. The time of a step is written by kind. */
typedef enum rlf_work_kind {
    RLF_WORK_NONE,     /* it is soon done, and no plan counts it */
    RLF_WORK_GENERATE, /* samples of its model, which come one by one, and may
                          move to another replica: `handover` */
    RLF_WORK_READ,     /* forward passes of its model; at level VOCAB whoever
                          reads its values makes them */
    RLF_WORK_TRAIN,    /* an optimizer step of its model, in micro-batches that
                          a pipeline orders: `trainable` */
    RLF_WORK_WEIGHTS,  /* weights of its model, where those are that change; the
                          models that the node reads are brought there */
    RLF_WORK_HOST,     /* functions of the user, as quick as they like */
} rlf_work_kind;

/* The control flow that a node decides. The controller goes no further
 * in its region before it has the answer, and every rank must find the same. */
typedef enum rlf_control_flow {
    RLF_CONTROL_FLOW_NONE,
    RLF_CONTROL_FLOW_CHOICE, /* it chooses which of its regions is run, or none
                              */
    RLF_CONTROL_FLOW_LOOP,   /* it says how often its region is run */
    RLF_CONTROL_FLOW_ROUNDS, /* it says before each round of its region whether
                                there is one; its outputs are made of what the
                                rounds keep */
    RLF_CONTROL_FLOW_LEAVE,  /* it says whether the innermost loop, or the run,
                                is left */
} rlf_control_flow;

/* The program that the grammar compiles for a node. */
typedef enum rlf_program_kind {
    RLF_PROGRAM_NONE,
    RLF_PROGRAM_EXPR,  /* rlf_node.expr */
    RLF_PROGRAM_VOCAB, /* rlf_node.words */
    RLF_PROGRAM_LOSS,  /* rlf_node.loss */
} rlf_program_kind;

typedef enum rlf_formal_kind {
    RLF_FORMAL_NUMBER,  /* a scalar expression, read at each call */
    RLF_FORMAL_INT,     /* a whole number known when compiling */
    RLF_FORMAL_FLAG,    /* true or false, known when compiling */
    RLF_FORMAL_TEXT,    /* a text known when compiling */
    RLF_FORMAL_TEXTS,   /* a text or a list of texts, known when compiling */
    RLF_FORMAL_NUMBERS, /* a list of numbers, known when compiling */
    RLF_FORMAL_SET,     /* a sample set */
    RLF_FORMAL_COLUMN,  /* a number column; its level in `level` */
    RLF_FORMAL_TEXT_COLUMN,
    RLF_FORMAL_HOOK,
    RLF_FORMAL_MODEL,       /* a declared model */
    RLF_FORMAL_WORD,        /* one of `words`, written as a bare name; becomes
                               RLF_ARG_TEXT */
    RLF_FORMAL_CONSTRUCTOR, /* a nested constructor, adamw(...): RLF_ARG_LIST
                               with its name as `text` */
    RLF_FORMAL_SOURCE,      /* a text (a path) or a nested constructor */
    RLF_FORMAL_PATH,        /* a path, made by the grammar as it is to be
                               opened; becomes RLF_ARG_TEXT */
} rlf_formal_kind;

/* The unit that a number may be written in: 60s, 64MB. Its value is in seconds,
 * bytes.
 */
typedef enum rlf_unit {
    RLF_UNIT_NONE,
    RLF_UNIT_TIME,
    RLF_UNIT_BYTES,
} rlf_unit;

struct rlf_formal {
    const char *name;
    rlf_formal_kind kind;
    bool required;
    bool labelled;           /* only as `name: e`; else also by position */
    double fallback;         /* NUMBER, INT, FLAG when not given */
    double least, most;      /* bounds of NUMBER and INT; alike: none. TEXTS:
                                a text has `least` bytes or more */
    rlf_unit unit;           /* NUMBER and INT: what it measures */
    const char *words;       /* WORD: the allowed ones, "lm|scalar|both"; of
                                CONSTRUCTOR and SOURCE the constructors */
    const char *unsupported; /* not NULL: giving it is refused with this text */
    bool field;              /* TEXT: it names a field of the rows of a file */
    bool unsized; /* its numbers reach no size: programs that differ in these
                     alone have one shape (rlf_graph_shape) */
    /* SOURCE, PATH: what is opened where a path was written as `name`, in
     * `arena`; NULL: the path. */
    const char *(*find)(const char *path, const char *name, rlf_arena *arena);
    const char *doc;
    const char *owner; /* the def whose argument it is; NULL: its class's */
};

/* May the argument have this value? If not, `why` (RLF_FORMAL_WHY bytes) goes
 * on from "'top_p:' of 'generate' ": "is 2, and must be from 0 to 1". Of
 * numbers, whether they are known while compiling or read at a call. */
enum { RLF_FORMAL_WHY = 120 };
bool rlf_formal_takes(const rlf_formal *formal, double value, char *why);
/* The formal of argument i: the argument's own, or its class's.
 */
const rlf_formal *rlf_node_formal(const rlf_node *node, int i);
/* An error of argument i, at its place, that begins with what it is called:
 * "'top_p:' is 2". */
rlf_status rlf_node_refuse(const rlf_node *node, int i, const char *why,
                           rlf_err *err);

/* The kind of what a call gives. Columns live on the given level of the
 * argument set (or of the receiver set); a new set is described by infer. */
typedef enum rlf_gives_kind {
    RLF_GIVES_NOTHING,
    RLF_GIVES_COLUMN, /* output 0: a number column */
    RLF_GIVES_TEXT,   /* output 0: a text column */
    RLF_GIVES_SET,    /* output 0: a new set */
    RLF_GIVES_OTHER,  /* the grammar makes its outputs by itself */
} rlf_gives_kind;

typedef enum rlf_level {
    RLF_LEVEL_SCALAR,
    RLF_LEVEL_PROMPT,
    RLF_LEVEL_SAMPLE,
    RLF_LEVEL_TOKEN,
    RLF_LEVEL_VOCAB,
} rlf_level;

/* A piece of a node's work, as ranks are given it, on one rank. */
typedef enum rlf_piece_kind {
    RLF_PIECE_ROWS, /* all that is done for some rows */
    RLF_PIECE_TURN, /* one pass of the model in a generation; in a pipeline one
                       pass of a part of the batch */
    /* Of an update, and FORWARD of what reads: a micro-batch through a chunk of
     * the model. BEFORE: where all are read before any goes forward. WEIGHTS:
     * where backward is split, what it leaves. */
    RLF_PIECE_BEFORE,
    RLF_PIECE_FORWARD,
    RLF_PIECE_BACKWARD,
    RLF_PIECE_WEIGHTS,
    RLF_PIECE_FINISH, /* what follows all micro-batches of an update */
} rlf_piece_kind;

typedef struct rlf_piece {
    rlf_piece_kind kind;
    /* Rows of the set on this rank's replica: samples (of a generation prompts,
     * of which each is sampled `n:` times). TURN: sequences that are fed one
     * token each. */
    uint64_t rows;
    uint32_t prompt, response; /* tokens of each */
    uint32_t each; /* of a reading: rows that share a prompt; 0: all samples of
                      a prompt do */
    /* TURN: */
    uint64_t prompts; /* sequences whose `prompt` tokens are fed, besides */
    double context;   /* tokens before the one that is fed, on average */
    int chunk;        /* the number among the chunks that the rank has */
    int group; /* in an update the number of the pass that it takes, in the
                  order of its live calls (rlf_live_together); FINISH of the
                  first has the optimizer's step */
} rlf_piece;

/* The load that a node's work is counted for: a rank of a layout, rows,
 * lengths. */
typedef struct rlf_load {
    const rlf_graph *graph;
    const rlf_sizes *sizes;
    const rlf_layout *layout;
    int rank;
    void *const *resource;  /* resources, as that rank opened them */
    const rlf_piece *piece; /* NULL: all rows at their caps, assigned evenly. Of
                               a kind that the node has not: nothing */
} rlf_load;

/* The collectives of a rank with those that differ from it only in some axes
 * of the layout (rlf_layout_group): who they are, and so whether they are on
 * other machines, follows from the axes. A time that is linear in both members,
 * `n` starts and `bytes` over a link, is linear for each collective by itself:
 * `bytes` has the 2 (p - 1) / p of a sum over p ranks in it. */
typedef struct rlf_meets {
    double n;     /* collectives that it takes part in, messages that it waits
                     for */
    double bytes; /* bytes that it sends */
} rlf_meets;

/* Counts of one run of a node on one rank, or of a piece of it; search turns
 * them into seconds. */
typedef struct rlf_cost {
    double flops, read, written; /* floating-point operations; bytes of device
                                    memory */
    double calls; /* operations started: those of kernels/op.def, those of an
                     expression, calls of a hook's function */
    rlf_meets meets[RLF_AXIS_SETS]; /* by set of axes; that of the empty set,
                                       [0], is 0 */
    double brought; /* bytes of weights that come from the host's memory, where
                       the device has its own */
    double host;    /* bytes left in the step's pool, outputs apart; a bound,
                       whichever rows the rank has; of pieces not counted */
} rlf_cost;

/* to += times * more, but for `host`. */
void rlf_cost_add(rlf_cost *to, const rlf_cost *more, double times);
/* Bytes to other ranks of the layout, and how often it meets them. */
rlf_meets rlf_cost_meets(const rlf_cost *cost);

/* One operation of a pipeline: a micro-batch through one of the parts of the
 * model that the rank has (its chunks, in the order of the layers), with one of
 * the chunk's places for activations, which it keeps from forward to backward,
 * or, where backward is split, to weights. */
typedef struct rlf_train_op {
    int micro, chunk, flight;
    bool backward;
} rlf_train_op;

/* Device memory in which the operation finds what the stage before it made (in
 * its direction), and leaves what the stage after it needs. Going back,
 * `arrives` is the flight's alone from its forward on. */
typedef struct rlf_train_ports {
    void *arrives, *leaves; /* NULL: the first stage, the last */
    size_t bytes;           /* bytes of either */
} rlf_train_ports;

typedef struct rlf_training {
    int micros; /* micro-batches of this rank's replica */
    int most;   /* the most that any replica can have, the same on all ranks */
    bool reads; /* all go forward once before, then `gather` */
    int chunks;
    const int *flights; /* [chunks] micro-batches kept at once */
} rlf_training;

/* Micro-batch interface of trainable classes: the pipeline executor calls
 * forward and backward in the order of its table, in which the micro-batches of
 * a chunk go backward by index; where the table splits backward (the mesh's
 * `owed`), backward makes what the stage before waits for, and weights, called
 * by index too, the rest. Ranks of the node's mesh call begin, gather and
 * finish together; between them stages hand on what the ports say. */
typedef struct rlf_trainable {
    rlf_status (*begin)(rlf_call *call, rlf_err *err, rlf_training *out);
    rlf_train_ports (*ports)(rlf_call *call, const rlf_train_op *op);
    rlf_status (*forward)(rlf_call *call, const rlf_train_op *op, rlf_err *err);
    rlf_status (*backward)(rlf_call *call, const rlf_train_op *op,
                           rlf_err *err);
    rlf_status (*weights)(rlf_call *call, const rlf_train_op *op, rlf_err *err);
    rlf_status (*gather)(rlf_call *call, rlf_err *err);
    rlf_status (*finish)(rlf_call *call, rlf_err *err);
    /* Instead of finish, where the call is `alone`: the gradient's norm is kept
     * for the trace, and the weights stay. */
    rlf_status (*finish_alone)(rlf_call *call, rlf_err *err);
} rlf_trainable;

/* The price of a sample in the making that goes to another rank: a token to
 * compute again there, or a byte of what is kept about it to send. In any
 * unit; {0, 1}: always tokens, {1, 0}: never. */
typedef struct rlf_price {
    double token, byte;
    uint64_t most; /* bytes of what is kept, of one call of give */
} rlf_price;

/* Of classes that generate: samples in the making go from one replica of the
 * node to another (engine/order/README.md, Long tails), which changes no bit of
 * them. Every rank of the replica gives its part, to the rank that has the same
 * part there. */
typedef struct rlf_handover {
    /* Pack those of `rows` (ascending) that are not complete, and forget them.
     * RLF_OK: nothing is left to do here; RLF_AGAIN: something is. */
    rlf_status (*give)(rlf_call *call, const uint32_t *rows, uint32_t n,
                       const rlf_price *price, rlf_buf *out, rlf_err *err);
    /* Go on with them, though all that was here may have been complete.
     * RLF_AGAIN: there is something to do; RLF_OK: there is not. */
    rlf_status (*take)(rlf_call *call, const char *bytes, size_t n,
                       rlf_err *err);
} rlf_handover;

struct rlf_sample_trace;
struct rlf_traced_row;

struct rlf_node_class {
    /* The name that the user writes, or the grammar's word for it. */
    const char *name;
    const char *doc;  /* one sentence */

    /* Traits: all that the grammar and the engine know of a class. Which go
     * together is checked by rlf_classes_check. */
    rlf_form form;
    rlf_receiver receiver;
    rlf_partition partition; /* how the work of nodes is cut whose pieces are
                                rows; others are whole */
    rlf_work_kind work;
    rlf_control_flow control_flow;
    rlf_program_kind program;
    bool writes;  /* it changes its receiver: other uses of that keep the order
                     of the program, and the node is there even if nobody uses
                     its values */
    bool draws;   /* its argument `count` says how many rows of its data it
                     gives in a step (absent: all), and so what an epoch is */
    bool ends_round; /* its input 0 says which prompts the ROUNDS around it
                        keep */
    bool reports; /* its arguments are metrics, each with its label as name; it
                     comes when ranks have nothing else to do */
    bool view;    /* its values lie in the set that it is a field of: they take
                     no memory */
    bool is_step_number; /* its value is the number of the step: 1 or more,
                            and large in late steps */
    /* By which what it decides can be foreseen. Of a CHOICE the formal that
     * says in each how many-th step region 0 is run; of a CHOICE that by which
     * region 0 is run if it is not 0, else region 1, and of a LEAVE that by
     * which it leaves if it is not 0. */
    const char *period, *condition;
    /* Of what gives a set of texts as they are, the formal that the texts are:
     * where they are a field of data, their lengths are known before a run. */
    const char *texts_formal;
    bool gives_turns; /* gives a set of the conversations that its set's rows
                         are */
    const rlf_formal *formals;
    int n_formals;
    /* Of "update": what is written in parentheses behind the model. These are
     * no arguments of the node, they stand in its loss. */
    const rlf_formal *options;
    int n_options;
    bool extra;        /* takes further labelled arguments (a hook's fields) */
    const char *taken; /* names, "response|length", by which values of the class
                          cannot be called, for it has its own of that name;
                          NULL: all can be used */
    rlf_gives_kind gives;
    rlf_level level;   /* the level of the column that it gives */
    bool live;         /* may stand live in an update of its model */
    bool needs_tokens; /* the set must have responses */
    rlf_granularity granularity;
    const char *unsupported; /* not NULL: refused by the grammar, with this */

    /* Further checks of a node whose arguments fit the formals; may add
     * diagnostics at argument spans. */
    void (*infer)(const rlf_graph *graph, const rlf_node *node,
                  rlf_diags *diags);
    void (*cost)(const rlf_load *load, const rlf_node *node, rlf_cost *out);
    /* State of a node for the whole run. */
    rlf_status (*init)(const rlf_env *env, const rlf_node *node, rlf_err *err,
                       void **state);
    void (*fini)(void *state);
    /* Before the first piece: make the outputs' spaces and storage. */
    rlf_status (*open)(rlf_call *call, rlf_err *err);
    /* One piece. A class that produces samples over time (generate) returns
     * RLF_AGAIN while it has more and reports the rows that became complete in
     * call->rows, n_rows (an array of its own, good until the next step); all
     * others compute the rows given. A class that decides the control flow
     * answers in call->count, branch and raised: see rlf_call. */
    rlf_status (*step)(rlf_call *call, rlf_err *err);
    /* Adds facts about the sample at `at` to the trace (sample_trace.h): of a
     * call that is complete, beside the columns that it gave. NULL: there are
     * none. */
    void (*trace)(const rlf_call *call, struct rlf_sample_trace *trace,
                  const struct rlf_traced_row *at);
    /* The interface of classes that TRAIN, else NULL. */
    const rlf_trainable *trainable;
    /* The interface of classes that GENERATE, else NULL. */
    const rlf_handover *handover;
};

/* ---- the tables, handed in by engine/api ---- */

typedef struct rlf_classes {
    const rlf_node_class *const *node; /* n_nodes */
    int n_nodes;
    /* Classes of resources, by rlf_resource_kind. */
    const rlf_resource_class *const *resource;
} rlf_classes;

/* NULL if there is none. */
const rlf_node_class *rlf_classes_find(const rlf_classes *classes,
                                       rlf_form form, rlf_receiver receiver,
                                       const char *name);
/* Finds the class for which the grammar has a syntax, by its name: "if". */
const rlf_node_class *rlf_classes_syntax(const rlf_classes *classes,
                                         const char *name);
const rlf_constructor *rlf_classes_constructor(const rlf_classes *classes,
                                               rlf_resource_kind kind,
                                               const char *within,
                                               const char *name);
/* Walks the tables: no NULL, every doc there, names distinct, traits that go
 * together. */
rlf_status rlf_classes_check(const rlf_classes *classes, rlf_err *err);

/* ---- stubs ---- */

void rlf_class_no_infer(const rlf_graph *graph, const rlf_node *node,
                        rlf_diags *diags);
/* The cost of a class that does next to nothing. */
void rlf_class_no_cost(const rlf_load *load, const rlf_node *node,
                       rlf_cost *out);
rlf_status rlf_class_no_init(const rlf_env *env, const rlf_node *node,
                             rlf_err *err, void **state);
void rlf_class_no_fini(void *state);
rlf_status rlf_class_no_open(rlf_call *call, rlf_err *err);
/* The step of a class whose open has done everything. */
rlf_status rlf_class_no_step(rlf_call *call, rlf_err *err);
rlf_status rlf_class_unsupported(rlf_call *call, rlf_err *err);
/* State that lies in an arena of its own, which is its first member: `bytes`
 * of zeros, and the end of it as a class's fini (NULL is fine). */
void *rlf_class_arena_state(size_t bytes);
void rlf_class_arena_fini(void *state);

/* Members of a class whose nodes have no state. */
#define RLF_CLASS_STATELESS .init = rlf_class_no_init, .fini = rlf_class_no_fini
/* The members of a class that does next to nothing, for whatever arguments fit.
 */
#define RLF_CLASS_PLAIN \
    RLF_CLASS_STATELESS, .infer = rlf_class_no_infer, .cost = rlf_class_no_cost

#endif
