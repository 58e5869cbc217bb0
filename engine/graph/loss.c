/* Finds how far the derivatives of an update's loss look.
 *
 * Two things decide it. Operations: what combines tokens, or rows, needs all of
 * them (engine/expr/reach.c). And passes: the model reads each set by itself,
 * and scores by themselves, so a derivative that has need of what another pass
 * gives must wait for both, even where the two meet at one row by a pointwise
 * operation. A row says nothing of that: one sample a prompt, and the sets of
 * two responses share the prompts' domain. Such sets have one pass where
 * samples share their prompt, and all that is read of a row is there at once.
 */
#include "engine/graph/class.h"

enum { NONE = -1, SEVERAL = -2 };

bool
rlf_live_together(const rlf_live_call *a, const rlf_live_call *b)
{
    return a->pass == b->pass;
}

bool
rlf_sets_paired(const rlf_set *a, const rlf_set *b)
{
    return a->samples == b->samples && a->prompts == b->prompts &&
           a->from == b->from && a->tokens >= 0 && b->tokens >= 0;
}

/* Are words of the vocabulary read at the set's tokens? Their tiles are of one
 * set. */
static bool
has_words(const rlf_loss *loss, int set_input)
{
    for (int i = 0; i < loss->n_calls; i++)
        if (loss->calls[i].set_input == set_input &&
            loss->calls[i].class->level == RLF_LEVEL_VOCAB)
            return true;
    return false;
}

static bool
one_pass(const rlf_graph *graph, const int *inputs, const rlf_loss *loss,
         const rlf_live_call *a, const rlf_live_call *b)
{
    int x = a->set_input, y = b->set_input;
    if ((a->class->level == RLF_LEVEL_SAMPLE) !=
        (b->class->level == RLF_LEVEL_SAMPLE))
        return false;
    if (x == y)
        return true;
    const rlf_value *values = graph->values.data;
    return loss->shared && !has_words(loss, x) && !has_words(loss, y) &&
           rlf_sets_paired(&graph->sets.data[values[inputs[x]].set],
                           &graph->sets.data[values[inputs[y]].set]);
}

void
rlf_loss_find_passes(const rlf_graph *graph, const int *inputs, rlf_loss *loss)
{
    int n = 0;
    for (int i = 0; i < loss->n_calls; i++) {
        int k = 0;
        while (k < i &&
               !one_pass(graph, inputs, loss, &loss->calls[k], &loss->calls[i]))
            k++;
        loss->calls[i].pass = k < i ? loss->calls[k].pass : n++;
    }
}

int
rlf_loss_passes(const rlf_loss *loss)
{
    int n = 0;
    for (int i = 0; i < loss->n_calls; i++)
        n = loss->calls[i].pass < n ? n : loss->calls[i].pass + 1;
    return n;
}

int
rlf_loss_sets(const rlf_loss *loss, int pass, int *inputs)
{
    int n = 0;
    for (int i = 0; i < loss->n_calls; i++) {
        int set = loss->calls[i].set_input, k = 0;
        while (k < i &&
               (loss->calls[k].pass != pass || loss->calls[k].set_input != set))
            k++;
        if (loss->calls[i].pass != pass || k < i)
            continue;
        if (inputs)
            inputs[n] = set;
        n++;
    }
    return n;
}

int
rlf_node_sets(const rlf_node *node)
{
    if (node->loss && node->loss->n_calls)
        return rlf_loss_sets(node->loss, 0, NULL);
    return node->class->live ? node->n_inputs : 1;
}

static int
pass_of_words(const rlf_loss *loss, const rlf_vocab_program *words)
{
    for (int i = 0; i < loss->n_calls; i++)
        if (loss->calls[i].set_input == words->set_input &&
            loss->calls[i].class->level == RLF_LEVEL_VOCAB)
            return loss->calls[i].pass;
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
            input[loss->calls[i].input] = loss->calls[i].pass;
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
        rlf_reach reach = reach_of(loss, passes, live->gradient, live->pass);
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
    int n = rlf_loss_passes(loss);
    for (int i = 0; i < n && most == RLF_REACH_POINT; i++)
        if (rlf_loss_sets(loss, i, NULL) > 1) /* tiles are of one set */
            most = RLF_REACH_SAMPLE;
    /* A row's operations on its tokens run once for each pass that has it. */
    return most == RLF_REACH_SAMPLE && n > 1 ? RLF_REACH_BATCH : most;
}
