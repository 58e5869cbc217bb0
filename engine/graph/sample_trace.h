/* One sample of one step that is looked at: what nodes compute on the way to
 * it, as facts.
 *
 * A run that makes steps again (rlf_session_trace_sample of rlflow.h) gives its
 * ranks a trace. In the step that it is about nodes add what they know of its
 * sample; nothing that they compute depends on that. A fact is a JSON object
 * with its "kind"; those are
 *
 *   prompt      what the model read (nodes/generate.c)
 *   token       a token, and how it was drawn (nodes/generate.c)
 *   response    prompt and response, where that was given (engine/sched)
 *   hook        a call of a user's function, with the lines that ran
 *               (nodes/hook.c)
 *   values      a column of a node, at the sample (engine/sched)
 *   arithmetic  all operations of an expression, at the sample (nodes/expr.c)
 *   update      an optimizer step that reads it: the loss, its derivatives, and
 *               the norms of gradients (nodes/update.c)
 *
 * Members that facts have in common: "node", its number in the graph; "path",
 * "line" and "column", its place in the program, and "source", the text there;
 * "iteration", which tells the turns of a loop apart. */
#ifndef RLF_GRAPH_SAMPLE_TRACE_H
#define RLF_GRAPH_SAMPLE_TRACE_H

#include "engine/base/mutex.h"
#include "engine/base/vec.h"
#include "engine/graph/run.h"

/* A row that stands for the sample. */
typedef struct rlf_traced_row {
    const rlf_space *samples;
    uint32_t row;
} rlf_traced_row;

typedef struct rlf_sample_trace {
    const rlf_graph *graph;
    uint32_t step;
    int set;         /* the sampled set that it is in; it is as well in the
                        parts of that, and in what a collect chooses from */
    uint64_t number; /* its identity (rlf_space.identity) */
    bool *domain; /* per domain: the samples of one of these sets */
    bool *sets;   /* per set: it is one of these sets */
    rlf_mutex mutex; /* entered for what follows */
    bool found;      /* a rank has made it */
    uint64_t least, most; /* numbers of the samples that its set has in the
                             step; least > most: none are known */
    rlf_buf facts;   /* JSON objects with commas between them */
    RLF_VEC(uint64_t) hashes; /* of the facts, each of which is there once */
} rlf_sample_trace;

/* In `arena`; rlf_sample_trace_free frees what grows. */
rlf_sample_trace *rlf_sample_trace_new(rlf_arena *arena, const rlf_graph *graph,
                                       uint32_t step, int set, uint64_t number);
void rlf_sample_trace_free(rlf_sample_trace *trace);

/* The trace, if it is about the step at hand; else NULL. */
static inline rlf_sample_trace *
rlf_sample_trace_of(const rlf_env *env)
{
    return env->sample_trace && env->sample_trace->step == env->step
               ? env->sample_trace
               : NULL;
}

/* Is the sample a row of this space of samples, and which? */
bool rlf_sample_trace_row(const rlf_sample_trace *trace,
                          const rlf_space *samples, uint32_t *row);
/* The row of `space` (of whatever domain of rows, or of the rows of tokens)
 * that the sample at `at` is, or goes back to, or that alone goes back to the
 * same as the sample. False: there is none. */
bool rlf_sample_trace_below(const rlf_sample_trace *trace,
                            const rlf_traced_row *at, const rlf_space *space,
                            uint32_t *row);

/* Adds a fact, by any thread; one that is there already is not added again. */
void rlf_sample_trace_add(rlf_sample_trace *trace, const rlf_buf *fact);
/* Begins a fact: {"kind":"KIND","node":N,"path":...,"source":...,"iteration":I
 * of a node. */
void rlf_sample_trace_begin(const rlf_graph *graph, const char *kind,
                            const rlf_node *node, uint64_t iteration,
                            rlf_buf *fact);
/* Members of a place: ,"path":"ppo.rlf","line":3,"column":5,"source":"x + y";
 * nothing where there is none. */
void rlf_sample_trace_place(const rlf_graph *graph, rlf_span span,
                            rlf_buf *fact);
/* Member ,"on":"tokens of roll","values":[...]: the numbers of a column at a
 * row; null where one is not finite. */
void rlf_sample_trace_numbers(const rlf_graph *graph, const rlf_column *column,
                              uint32_t row, rlf_buf *fact);

#endif
