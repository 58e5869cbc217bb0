/* Seconds of micro-batches through the stages of a replica: readings, and
 * updates by their schedules. */
#include "engine/search/call_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/search/messages.h"

/* ---- micro-batches ---- */

static int
groups_of(const rlf_node *node)
{
    int n = node->loss ? rlf_loss_passes(node->loss) : 0;
    return n ? n : 1;
}

static int
chunks_of(const rlf_layout *l)
{
    return l->chunks > 1 ? l->chunks : 1;
}

/* `times` micro-batches through a chunk. */
static void
go_through(const rlf_call_work *w, rlf_piece_kind kind, int chunk, double each,
           double times)
{
    rlf_piece piece = {.kind = kind,
                       .chunk = chunk,
                       .prompt = rlf_call_whole(w->expected->prompt),
                       .response = rlf_call_whole(w->expected->response)};
    for (piece.group = 0; piece.group < groups_of(w->node); piece.group++)
        rlf_call_add_rows(w, piece, each,
                          w->expected->prompt + w->expected->response, times,
                          0);
}

/* Bytes that the stage sends of a micro-batch. */
static double
bytes_sent(const rlf_call_work *w, rlf_piece_kind kind, int chunk, double each)
{
    rlf_piece piece = {.kind = kind,
                       .chunk = chunk,
                       .rows = rlf_call_whole(each),
                       .prompt = rlf_call_whole(w->expected->prompt),
                       .response = rlf_call_whole(w->expected->response)};
    double bytes = 0;
    for (piece.group = 0; piece.group < groups_of(w->node); piece.group++)
        bytes += rlf_opened_piece(w->opened, w->sizes, w->node->id, &piece)
                     .meets[RLF_AXIS_PP]
                     .bytes;
    return bytes;
}

/* Micro-batches that have a row. */
static double
micros_of(rlf_call_cut cut, double rows)
{
    return fmin(fmax(1, cut.micros), fmax(1, rows));
}

/* ---- stages ---- */

static const rlf_call_work *
stage_of(const rlf_call_replica *r, int stage)
{
    return &r->kind[r->of ? r->of[stage] : 0];
}

/* What a stage of each kind takes for the same, and the index of the slowest.
 */
int
rlf_call_slowest(const rlf_seconds *each, int n)
{
    int most = 0;
    for (int k = 1; k < n; k++)
        most = each[k].total > each[most].total ? k : most;
    return most;
}

/* One direction of all micro-batches: the last comes to the slowest stage when
 * that is done with all before, and the first when it has gone through the
 * stages before it. What a stage sends is on its way while it computes: only
 * the first of them waits. */
void
rlf_call_pass(const rlf_call_replica *r, rlf_piece_kind kind, rlf_call_cut cut,
              double rows, rlf_seconds *sum, rlf_call_times *times)
{
    const rlf_call_work *w = &r->kind[0];
    const rlf_layout *l = w->layout;
    int chunks = chunks_of(l);
    double micros = micros_of(cut, rows), passes = l->vee ? 1 : chunks;
    rlf_seconds each[RLF_CALL_KINDS] = {0};
    rlf_messages messages;
    for (int k = 0; k < r->n_kinds; k++) {
        double busy = 0;
        rlf_call_work one = r->kind[k];
        one.sum = &each[k];
        one.busy = &busy;
        one.parts = micros;
        for (int chunk = 0; chunk < chunks; chunk++)
            go_through(&one, kind, chunk, rows / micros, 1);
        *r->kind[k].busy += micros * busy;
    }
    int most = rlf_call_slowest(each, r->n_kinds);
    rlf_seconds_add(sum, &each[most], micros - 1 / passes);
    for (int stage = 0; stage < l->pp; stage++)
        rlf_seconds_add(sum, &each[r->of ? r->of[stage] : 0], 1 / passes);
    if (l->pp == 1)
        return;
    double bytes = bytes_sent(stage_of(r, 0), kind, 0, rows / micros);
    rlf_messages_make(w->speeds, l, w->opened->rank, bytes, &messages);
    rlf_messages_add(&messages, messages.sum, sum);
    if (times)
        rlf_call_note_messages(times, messages.n, messages.n * bytes);
}

static const rlf_piece_kind trained[] = {RLF_PIECE_FORWARD, RLF_PIECE_BACKWARD,
                                         RLF_PIECE_WEIGHTS};

/* A micro-batch of an update. */
typedef struct training {
    rlf_pipe_cost *cost; /* by stage, a chunk of all places after the other */
    rlf_seconds once[RLF_CALL_KINDS]; /* of all chunks of a place together */
    double micros;
    rlf_messages messages;
} training;

/* A chunk of a stage. */
static rlf_pipe_cost
look_at_chunk(const rlf_call_work *w, int chunk, double each, bool split,
              rlf_seconds *once)
{
    rlf_pipe_cost cost = {0};
    double *to[] = {&cost.forward, &cost.backward, &cost.weights};
    for (int k = 0; k < (split ? 3 : 2); k++) {
        rlf_seconds seconds = {0};
        double ignored = 0;
        rlf_call_work one = *w;
        one.sum = &seconds;
        one.busy = &ignored;
        go_through(&one, trained[k], chunk, each, 1);
        *to[k] = seconds.total;
        rlf_seconds_add(once, &seconds, 1);
    }
    return cost;
}

static void
look_at_micro(const rlf_call_replica *r, double micros, double each,
              training *t)
{
    const rlf_call_work *w = &r->kind[0];
    const rlf_layout *l = w->layout;
    int chunks = chunks_of(l), pp = l->pp;
    bool split = l->vee || w->opened->plan->place[w->node->id].owed;
    *t = (training){.micros = micros};
    t->cost = rlf_calloc((size_t)(chunks * pp), sizeof *t->cost);
    for (int k = 0; k < r->n_kinds; k++)
        for (int chunk = 0; chunk < chunks; chunk++) {
            rlf_pipe_cost cost =
                look_at_chunk(&r->kind[k], chunk, each, split, &t->once[k]);
            for (int stage = 0; stage < pp; stage++) {
                int place = l->vee && chunk % 2 ? pp - 1 - stage : stage;
                if (!r->of || r->of[place] == k)
                    t->cost[chunk * pp + stage] = cost;
            }
        }
    if (pp == 1)
        return;
    double bytes = bytes_sent(stage_of(r, 0), RLF_PIECE_FORWARD, 0, each);
    if (!(bytes > 0)) /* the last stage sends gradients alone */
        bytes = bytes_sent(w, RLF_PIECE_BACKWARD, chunks - 1, each);
    rlf_messages_make(w->speeds, l, w->opened->rank, bytes, &t->messages);
}

/* Seconds by the table of the schedule, of a number of micro-batches that need
 * not be whole. */
static double
time_of_table(const rlf_call_work *w, rlf_call_cut cut, const training *t,
              const double *send)
{
    rlf_arena *scratch = cut.pipelines ? NULL : rlf_arena_new();
    rlf_pipelines *known =
        cut.pipelines ? cut.pipelines : rlf_pipelines_new(scratch);
    rlf_pipeline of = {.schedule = w->opened->plan->place[w->node->id].schedule,
                       .pp = w->layout->pp,
                       .chunks = chunks_of(w->layout),
                       .micros = (int)floor(t->micros)};
    double more = t->micros - of.micros;
    double takes = (1 - more) * rlf_pipelines_time(known, &of, t->cost, send);
    of.micros++;
    if (more > 0)
        takes += more * rlf_pipelines_time(known, &of, t->cost, send);
    rlf_arena_free(scratch);
    return takes;
}

/* With one forward, one backward in turn, or by a table of the program: what a
 * split backward leaves is done while others would be waited for, of each
 * micro-batch, less one for each stage. All micro-batches go through the
 * slowest stage, and one through the others. */
static double
time_of_turns(const rlf_call_work *w, const training *t)
{
    int chunks = chunks_of(w->layout), pp = w->layout->pp;
    double takes = 0, most = 0, micros = t->micros;
    for (int stage = 0; stage < pp; stage++) {
        double turn = 0, weights = 0;
        for (int chunk = 0; chunk < chunks; chunk++) {
            int at = w->layout->vee && chunk % 2 ? pp - 1 - stage : stage;
            const rlf_pipe_cost *c = &t->cost[chunk * pp + at];
            turn += c->forward + c->backward;
            weights += c->weights;
        }
        double all = (micros - 1.0 / chunks) * turn +
                     (micros - fmin(pp - 1, micros)) * weights;
        takes += turn / chunks;
        most = fmax(most, all);
    }
    return takes + most;
}

/* Messages that take a smaller part of a micro-batch than this are waited for
 * only once each way. */
#define FEW 0.002

/* An update: the work of all micro-batches, and as much of the same as the
 * stages wait for each other; then what they wait for messages. */
void
rlf_call_train(const rlf_call_replica *r, rlf_call_cut cut, double rows,
               rlf_seconds *sum)
{
    const rlf_call_work *w = &r->kind[0];
    const rlf_node_place *place = &w->opened->plan->place[w->node->id];
    training t;
    double micros = micros_of(cut, rows);
    look_at_micro(r, micros, rows / micros, &t);
    bool named = w->layout->pp > 1 && !place->pipe;
    bool turns = !named || strcmp(place->schedule, "1f1b") == 0;
    double takes =
        turns ? time_of_turns(w, &t) : time_of_table(w, cut, &t, NULL);
    const rlf_seconds *once = &t.once[rlf_call_slowest(t.once, r->n_kinds)];
    if (once->total > 0)
        rlf_seconds_add(sum, once, takes / once->total);
    for (int k = 0; k < r->n_kinds; k++)
        *r->kind[k].busy += micros * t.once[k].total;
    if (t.messages.n) {
        double waits = 2 * t.messages.sum;
        if (named && t.messages.most > FEW * once->total)
            waits = time_of_table(w, cut, &t, t.messages.send) - takes;
        rlf_messages_add(&t.messages, fmax(0, waits), sum);
    }
    free(t.cost);
}

/* The end of an update, for which all ranks wait. */
void
rlf_call_finish(const rlf_call_replica *r, double rows, rlf_seconds *sum)
{
    const rlf_call_work *w = &r->kind[0];
    rlf_seconds each[RLF_CALL_KINDS] = {0};
    const rlf_piece last = {.kind = RLF_PIECE_FINISH,
                            .rows = (uint64_t)rows,
                            .prompt = rlf_call_whole(w->expected->prompt),
                            .response = rlf_call_whole(w->expected->response)};
    for (int k = 0; k < r->n_kinds; k++) {
        rlf_call_work one = r->kind[k];
        one.sum = &each[k];
        rlf_call_add(&one, &last, 0, 1, 1);
    }
    rlf_seconds_add(sum, &each[rlf_call_slowest(each, r->n_kinds)], 1);
}
