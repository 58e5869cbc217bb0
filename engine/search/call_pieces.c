/* Seconds of pieces of a call: see call_work.h. */
#include "engine/search/call_work.h"

#include <math.h>

#include "engine/timing/measured.h"

uint32_t
rlf_call_whole(double x)
{
    return x < 1 ? 1 : (uint32_t)(x + 0.5);
}

static void
add_cost(const rlf_call_work *w, const rlf_cost *cost, double tokens,
         double times)
{
    rlf_seconds seconds;
    rlf_seconds_over(w->speeds, cost, w->links, tokens, &seconds);
    double *term = seconds.term;
    bool computes = term[RLF_SECONDS_COMPUTE] >= term[RLF_SECONDS_MEMORY];
    term[computes ? RLF_SECONDS_MEMORY : RLF_SECONDS_COMPUTE] = 0;
    rlf_seconds_add(w->sum, &seconds, times);
    *w->busy += w->part * times * seconds.total;
}

/* Does the line of an update's end have the piece in it? Runs measure there
 * what other models read before the first micro-batch (rlf_loss_reads_first).
 */
static bool
in_finish(const rlf_call_work *w, const rlf_piece *piece)
{
    return piece->kind == RLF_PIECE_BEFORE &&
           w->node->loss->reach != RLF_REACH_BATCH;
}

/* The piece as runs measure it (engine/graph/measure.h). */
static rlf_measured_piece
measured_as(const rlf_call_work *w, const rlf_piece *piece)
{
    double rows = (double)piece->rows, prompts = (double)piece->prompts;
    double p = piece->prompt;
    bool trains = w->node->class->work == RLF_WORK_TRAIN;
    rlf_measured_piece out = {
        .kind = trains ? RLF_MEASURED_FORWARD : RLF_MEASURED_ROWS,
        .node = w->node,
        .rank = w->opened->rank,
        .x = rows * (w->expected->prompt + w->expected->response),
        .chunk = !trains && piece->kind == RLF_PIECE_FORWARD,
        .parts = trains ? 1 : w->parts};
    if (piece->kind == RLF_PIECE_TURN) {
        out.kind = RLF_MEASURED_TURN;
        out.x = rows + prompts * p;
        out.y = prompts * p * (p + 1) / 2 + rows * (piece->context + 1);
    } else if (piece->kind == RLF_PIECE_BACKWARD) {
        out.kind = RLF_MEASURED_BACKWARD;
    } else if (piece->kind == RLF_PIECE_WEIGHTS) {
        out.kind = RLF_MEASURED_WEIGHTS;
    } else if (piece->kind == RLF_PIECE_FINISH || in_finish(w, piece)) {
        out.kind = RLF_MEASURED_FINISH;
        out.x = rows;
    }
    return out;
}

/* By the line of the profile; false: there is none. A micro-batch is of one
 * pass of an update's losses, as in a run. */
static bool
add_measured(const rlf_call_work *w, const rlf_piece *piece, double times)
{
    rlf_measured_said said;
    rlf_seconds seconds = {0};
    const rlf_measured_piece of = measured_as(w, piece);
    if (!rlf_measured_seconds(w->speeds, w->opened->plan, &of, &said))
        return false;
    seconds.total = in_finish(w, piece) ? 0 : said.seconds;
    seconds.term[RLF_SECONDS_MEASURED] = seconds.total;
    rlf_seconds_add(w->sum, &seconds, times);
    *w->busy += w->part * times * seconds.total;
    return true;
}

void
rlf_call_note_messages(rlf_call_times *times, double n, double bytes)
{
    times->messages.n += n;
    times->messages.bytes += bytes;
}

/* Adds a piece so many times, and messages between stages that are waited for.
 */
void
rlf_call_add(const rlf_call_work *w, const rlf_piece *piece, double tokens,
             double times, double waits)
{
    rlf_cost cost = rlf_opened_piece(w->opened, w->sizes, w->node->id, piece);
    rlf_cost message = {0};
    rlf_call_work waiting = *w;
    waiting.part = 0;
    message.meets[RLF_AXIS_PP] = cost.meets[RLF_AXIS_PP];
    if (w->times)
        rlf_call_note_messages(w->times, message.meets[RLF_AXIS_PP].n * waits,
                               message.meets[RLF_AXIS_PP].bytes * waits);
    cost.meets[RLF_AXIS_PP] = (rlf_meets){0};
    if (add_measured(w, piece, times)) /* all but what an offload copies */
        cost = (rlf_cost){.brought = cost.brought};
    add_cost(w, &cost, tokens, times);
    add_cost(&waiting, &message, 0, waits);
}

/* A piece that has so many rows on average: some have one more than others. */
static void
add_alike(const rlf_call_work *w, rlf_piece piece, double rows, double fed,
          double times, double waits)
{
    double more = rows - floor(rows);
    piece.rows = (uint64_t)rows;
    if (more < 1 && (piece.rows || piece.prompts))
        rlf_call_add(w, &piece, (double)piece.rows * fed, times * (1 - more),
                     waits * (1 - more));
    piece.rows++;
    if (more > 0)
        rlf_call_add(w, &piece, (double)piece.rows * fed, times * more,
                     waits * more);
}

/* Of a reading some share a prompt with more than others. */
void
rlf_call_add_rows(const rlf_call_work *w, rlf_piece piece, double rows,
                  double fed, double times, double waits)
{
    rlf_sharing of = rlf_sharing_of(w->each);
    if (!(w->each > 0)) {
        add_alike(w, piece, rows, fed, times, waits);
        return;
    }
    for (int k = 0; k < 2; k++) {
        piece.each = of.each[k];
        if (of.part[k] > 0)
            add_alike(w, piece, rows, fed, times * of.part[k],
                      waits * of.part[k]);
    }
}
