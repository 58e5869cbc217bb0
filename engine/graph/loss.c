/* Finds how far the derivatives of an update's loss look.
 *
 * Two things decide it. Operations: what combines tokens, or rows, needs all of
 * them (engine/expr/reach.c). And passes: the model reads each set by itself,
 * and scores by themselves, so a derivative that has need of what another pass
 * gives must wait for both, even where the two meet at one row by a pointwise
 * operation. A row says nothing of that: one sample a prompt, and the sets of
 * two responses share the prompts' domain. */
#include "engine/graph/class.h"

enum { NONE = -1, SEVERAL = -2 };

bool
rlf_live_together(const rlf_live_call *a, const rlf_live_call *b)
{
    return a->set_input == b->set_input &&
           (a->class->level == RLF_LEVEL_SAMPLE) ==
               (b->class->level == RLF_LEVEL_SAMPLE);
}

/* A pass is known by the first call that it serves. */
static int
pass_of_call(const rlf_loss *loss, int call)
{
    int i = 0;
    while (!rlf_live_together(&loss->calls[i], &loss->calls[call]))
        i++;
    return i;
}

int
rlf_loss_passes(const rlf_loss *loss)
{
    int n = 0;
    for (int i = 0; i < loss->n_calls; i++)
        n += pass_of_call(loss, i) == i;
    return n;
}

static int
pass_of_words(const rlf_loss *loss, const rlf_vocab_program *words)
{
    for (int i = 0; i < loss->n_calls; i++)
        if (loss->calls[i].set_input == words->set_input &&
            loss->calls[i].class->level == RLF_LEVEL_VOCAB)
            return pass_of_call(loss, i);
    return NONE;
}

/* Per operation of the program: of which pass the live values are that it
 * depends on. */
static int *
find_passes(const rlf_loss *loss, rlf_arena *arena)
{
    const rlf_expr *p = loss->program;
    int *input = RLF_NEW_ARRAY(arena, int, p->inputs.count + 1);
    int *passes = RLF_NEW_ARRAY(arena, int, p->ops.count + 1);
    for (size_t i = 0; i < p->inputs.count; i++)
        input[i] = NONE;
    for (int i = 0; i < loss->n_calls; i++)
        if (loss->calls[i].input >= 0)
            input[loss->calls[i].input] = pass_of_call(loss, i);
    for (int i = 0; i < loss->n_words; i++)
        for (size_t k = 0; k < loss->words[i].program->outputs.count; k++)
            input[loss->words[i].result[k]] =
                pass_of_words(loss, &loss->words[i]);
    for (size_t i = 0; i < p->ops.count; i++) {
        const rlf_expr_op *op = &p->ops.data[i];
        passes[i] = op->code == RLF_EXPR_INPUT ? input[op->index] : NONE;
        for (int k = 0; k < rlf_expr_arity(op->code); k++) {
            int of = passes[op->arg[k]];
            if (passes[i] == NONE)
                passes[i] = of;
            else if (of != NONE && of != passes[i])
                passes[i] = SEVERAL;
        }
    }
    return passes;
}

/* The reach of one derivative, by what `pass` reads. */
static rlf_reach
reach_of(const rlf_loss *loss, const int *passes, int output, int pass)
{
    int of = passes[loss->program->outputs.data[output].op];
    return of == NONE || of == pass ? rlf_expr_reach(loss->program, output)
                                    : RLF_REACH_BATCH;
}

bool
rlf_loss_reads_first(const rlf_loss *loss, int stages)
{
    bool reads = loss->reach == RLF_REACH_BATCH;
    for (int i = 0; i < loss->n_words && stages > 1; i++) {
        const rlf_vocab_program *words = &loss->words[i];
        for (size_t k = 0; k < words->program->inputs.count; k++)
            reads |= words->model[k] >= 0 && words->input[k] >= 0;
    }
    return reads;
}

rlf_reach
rlf_loss_reach(const rlf_loss *loss)
{
    rlf_arena *arena = rlf_arena_new();
    const int *passes = find_passes(loss, arena);
    rlf_reach most = RLF_REACH_POINT;
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        if (live->input < 0)
            continue;
        rlf_reach reach =
            reach_of(loss, passes, live->gradient, pass_of_call(loss, i));
        most = reach > most ? reach : most;
    }
    for (int i = 0; i < loss->n_words; i++) {
        const rlf_vocab_program *words = &loss->words[i];
        int pass = pass_of_words(loss, words);
        for (size_t k = 0; k < words->program->outputs.count; k++) {
            rlf_reach reach =
                reach_of(loss, passes, words->derivative[k], pass);
            most = reach > most ? reach : most;
        }
    }
    rlf_arena_free(arena);
    /* A row's operations on its tokens run once for each pass that has it. */
    for (int i = 0; i < loss->n_calls && most == RLF_REACH_SAMPLE; i++)
        if (pass_of_call(loss, i) != 0)
            most = RLF_REACH_BATCH;
    return most;
}
