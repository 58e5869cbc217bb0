/* A simulated run: its life, what work takes, accounts. See simulate.h. */
#include "engine/simulate/simulate_state.h"

#include "engine/base/hash.h"

#include <math.h>
#include <string.h>

const char *const rlf_spent_words[RLF_SPENTS] = {
    [RLF_SPENT_GENERATE] = "sampling", [RLF_SPENT_READ] = "reading",
    [RLF_SPENT_TRAIN] = "training",    [RLF_SPENT_HOOK] = "hooks",
    [RLF_SPENT_OTHER] = "other",       [RLF_SPENT_MESSAGES] = "messages",
    [RLF_SPENT_WEIGHTS] = "weights",   [RLF_SPENT_BUBBLE] = "waiting",
};

/* ---- what work takes ---- */

static const rlf_node *
node_of(const simulation *s, const rlf_rank_command *command)
{
    return command->instance < 0 ? NULL
                                 : rlf_sim_instance(s, command->instance)->node;
}

static void
add_up(const sequences *q, row_sum *sum)
{
    if (q->even) {
        sum->prompt = (uint64_t)q->list->prompt * sum->n;
        sum->response = (uint64_t)q->list->response * sum->n;
        return;
    }
    for (uint32_t i = 0; i < sum->n; i++) {
        rlf_length length = rlf_sim_length(q, sum->rows ? sum->rows[i] : i);
        sum->prompt += length.prompt;
        sum->response += length.response;
    }
}

/* The tokens of a row, on average over rows[0..n) (NULL: all). */
static rlf_portion
portion_of(const simulation *s, const sequences *q, const uint32_t *rows,
           uint32_t n)
{
    rlf_portion p = {.kind = RLF_PORTION_ROWS, .rows = n};
    if (!n || !q->list)
        return p;
    const row_sum of = {
        .list = q->list, .rows = rows, .first = q->first, .n = n};
    uint64_t mixed = rlf_hash_mix((uintptr_t)rows + n);
    row_sum *sum = &s->sums[mixed & (RLF_SIM_SUMS - 1)];
    if (sum->list != of.list || sum->rows != rows || sum->first != of.first ||
        sum->n != n) {
        *sum = of;
        add_up(q, sum);
    }
    p.prompt = (double)sum->prompt / n;
    p.response = (double)sum->response / n;
    return p;
}

/* The counts that an instance's work is added to: those of the step that it is
 * of. */
static rlf_step_counts *
counts_of(simulation *s, int instance)
{
    return &s->out->counts[rlf_sim_step(s, instance) - 1];
}

/* One rank tells of what all carry out together. */
static void
add_trained(simulation *s, const rlf_rank_task *task)
{
    for (int i = 0; i <= task->n_joint; i++) {
        const rlf_rank_command *command =
            i < task->n_joint ? task->joint[i] : task->command;
        const rlf_node *node = node_of(s, command);
        if (task->rank != s->plan->place[node->id].layout.ranks[0])
            continue;
        sequences q = rlf_sim_read(s, command->instance);
        for (uint32_t k = 0; k < q.n; k += q.sets) {
            rlf_length length = rlf_sim_length(&q, k);
            counts_of(s, command->instance)->trained +=
                (double)length.prompt + length.response;
        }
    }
}

static double
take_run(simulation *s, const rlf_rank_task *task)
{
    const rlf_durations *d = s->options->durations;
    const rlf_node *node = node_of(s, task->command);
    const rlf_node_place *place = &s->plan->place[node->id];
    const rlf_share *share = task->part->share;
    double busy;
    if (node->class->work == RLF_WORK_TRAIN) {
        const passes *p = rlf_sim_update(s, task);
        add_trained(s, task);
        s->bubble[task->rank] = p->seconds - p->busy[task->rank];
        return p->seconds;
    }
    if (share->rows && place->layout.pp > 1) {
        double seconds = rlf_sim_reading(s, task, &busy);
        s->bubble[task->rank] = seconds - busy;
        return seconds;
    }
    if (!d->portion || rlf_sim_instance(s, task->command->instance)->loop)
        return 0;
    sequences q = rlf_sim_sequences(s, task->command->instance);
    rlf_portion p =
        portion_of(s, &q, share->rows, share->rows ? share->n_rows : q.n);
    p.node = node;
    p.rank = task->rank;
    p.all = !share->rows;
    if (node->class->work == RLF_WORK_READ && q.list) {
        double sets = rlf_sim_read(s, task->command->instance).sets;
        p.each = sets * rlf_sim_each(&q, share->rows, (uint32_t)p.rows);
        p.rows *= sets;
    }
    return d->portion(d->self, &p);
}

/* Seconds of what computes no samples: a call's outputs are made, a step ends.
 */
static double
take_other(const simulation *s, const rlf_rank_task *task)
{
    const rlf_durations *d = s->options->durations;
    rlf_portion p = {.kind = RLF_PORTION_OPEN,
                     .node = node_of(s, task->command),
                     .rank = task->rank};
    if (task->command->kind == RLF_DO_END)
        p.kind = RLF_PORTION_STEP;
    return d->portion && d->other ? d->portion(d->self, &p) : 0;
}

/* Bytes of a message. */
static double
bytes_of(simulation *s, const rlf_rank_command *command, const rlf_move *m)
{
    const rlf_node *node = node_of(s, command);
    sequences q = rlf_sim_sequences(s, command->instance);
    if (!m->rows || !q.list)
        return m->n_rows * rlf_answer_bytes(&s->answers, node, -1);
    rlf_portion p = portion_of(s, &q, m->rows, m->n_rows);
    return m->n_rows * rlf_answer_bytes(&s->answers, node, p.response);
}

/* A rank sends and receives at once, each one message after the other. */
static double
take_edge(simulation *s, const rlf_rank_task *task)
{
    const rlf_durations *d = s->options->durations;
    double out = 0, in = 0, all = 0;
    for (int i = 0; i < task->part->n_moves && (d->message || d->edge); i++) {
        const rlf_move *m = &task->part->moves[i];
        double bytes = bytes_of(s, task->command, m);
        bytes = isfinite(bytes) ? bytes : 0;
        all += bytes;
        double seconds =
            d->message ? d->message(d->self, m->from, m->to, bytes) : 0;
        if (m->from == task->rank)
            out += seconds;
        else
            in += seconds;
    }
    double own =
        d->edge ? d->edge(d->self, task->rank, all, task->part->n_moves) : 0;
    return own + (out > in ? out : in);
}

static double
take_post(simulation *s, const rlf_rank_task *task)
{
    const rlf_durations *d = s->options->durations;
    s->bubble[task->rank] = 0;
    switch (task->command->kind) {
    case RLF_DO_RUN:
        return take_run(s, task);
    case RLF_DO_EDGE:
        return take_edge(s, task);
    case RLF_DO_MOVE:
        return d->handover
                   ? d->handover(d->self, node_of(s, task->command), task->rank,
                                 task->samples, task->tokens)
                   : 0;
    case RLF_DO_WEIGHTS:
        return d->weights ? d->weights(d->self, task->command) : 0;
    case RLF_DO_OPEN:
    case RLF_DO_END:
        return take_other(s, task);
    default:
        return 0;
    }
}

static double
take_work(void *self, const rlf_rank_task *task)
{
    simulation *s = self;
    double *bubble = &s->bubble[task->rank], took = take_post(s, task);
    *bubble = took > 0 ? *bubble / took : 0;
    return took;
}

static double
take_turn(void *self, const rlf_turn *turn)
{
    const rlf_durations *d = ((simulation *)self)->options->durations;
    return d->turn ? d->turn(d->self, turn) : 0;
}

static double
take_mail(void *self, int rank)
{
    (void)rank;
    return ((simulation *)self)->options->durations->mail;
}

static double
part_at_work(void *self, int rank)
{
    return 1 - ((const simulation *)self)->bubble[rank];
}

/* ---- answers ---- */

/* As in a run: of each row the tokens that there are of its sequence. */
static rlf_rank_event
answer_open(simulation *s, const rlf_rank_command *command)
{
    rlf_arena *arena = s->step_arenas[command->instance % s->n_steps];
    const rlf_node *node = node_of(s, command);
    rlf_rank_event event = rlf_answer_open(&s->answers, command, node, arena);
    if (!rlf_workload_draws(s->options->workload))
        return event;
    sequences q = rlf_sim_sequences(s, command->instance);
    if (!q.list)
        return event;
    uint32_t *lengths = RLF_NEW_ARRAY(arena, uint32_t, event.n_rows + 1);
    for (uint32_t i = 0; i < event.n_rows; i++) {
        rlf_length row = rlf_sim_length(&q, i);
        lengths[i] = row.prompt;
        if (node->class->work != RLF_WORK_GENERATE)
            lengths[i] += row.response;
    }
    event.lengths = lengths;
    return event;
}

static rlf_rank_event
answer(void *self, const rlf_rank_command *command, int rank)
{
    simulation *s = self;
    if (command->kind == RLF_DO_END)
        return rlf_answer_done(&s->answers, command, NULL, rank);
    if (command->kind == RLF_DO_RUN)
        return rlf_answer_done(&s->answers, command,
                               rlf_sim_instance(s, command->instance), rank);
    return answer_open(s, command);
}

static rlf_length
length(void *self, const rlf_rank_command *command, uint32_t row)
{
    sequences q = rlf_sim_sequences(self, command->instance);
    return rlf_sim_length(&q, row);
}

static uint32_t
seats(void *self, const rlf_node *node)
{
    const simulation *s = self;
    return s->options->seats ? s->options->seats[node->id] : 0;
}

static rlf_page_room
pages(void *self, const rlf_node *node)
{
    return ((const simulation *)self)->options->pages[node->id];
}

/* ---- accounts ---- */

static rlf_spent
kind_of(const rlf_rank_command *command, const rlf_node *node)
{
    if (command->kind == RLF_DO_EDGE || command->kind == RLF_DO_MOVE)
        return RLF_SPENT_MESSAGES;
    if (command->kind == RLF_DO_WEIGHTS)
        return RLF_SPENT_WEIGHTS;
    if (!node)
        return RLF_SPENT_OTHER;
    const rlf_node_class *class = node->class;
    if (class->work == RLF_WORK_GENERATE)
        return RLF_SPENT_GENERATE;
    if (class->work == RLF_WORK_TRAIN)
        return RLF_SPENT_TRAIN;
    if (class->work == RLF_WORK_HOST)
        return RLF_SPENT_HOOK;
    return class->work == RLF_WORK_READ ? RLF_SPENT_READ : RLF_SPENT_OTHER;
}

static void
add_made(simulation *s, const rlf_seen *seen)
{
    sequences q = rlf_sim_sequences(s, seen->command->instance);
    uint32_t response = rlf_sim_length(&q, seen->row).response;
    rlf_step_counts *counts = counts_of(s, seen->command->instance);
    s->out->samples++;
    s->out->tokens += response;
    counts->samples++;
    counts->tokens += response;
}

/* Shares of the rank that report what was made. */
static int
shares_reported(simulation *s, const rlf_seen *seen)
{
    const rlf_rank_command *command = seen->command;
    reporters *r = &s->reporters;
    if (r->n != command->n + 1) {
        memset(r->shares, 0, sizeof *r->shares * (size_t)s->plan->ranks);
        for (int i = 0; i < command->n_shares; i++)
            r->shares[command->shares[i].rank] += command->shares[i].reports;
        r->n = command->n + 1;
    }
    return r->shares[seen->rank];
}

static void
add_span(simulation *s, const rlf_span_spent *span)
{
    rlf_simulated *out = s->out;
    out->spent[span->rank][span->kind] += span->to - span->from - span->bubble;
    out->spent[span->rank][RLF_SPENT_BUBBLE] += span->bubble;
    const double said[] = {(double)span->rank, (double)span->kind,
                           (double)span->command, span->from, span->to};
    out->digest = rlf_digest_add(out->digest, said, sizeof said);
    if (s->options->see)
        s->options->see(s->options->self, span);
}

/* All ranks of a replica see the same. */
static void
note_waiting(simulation *s, const rlf_seen *seen, const rlf_node *node)
{
    rlf_page_waits *paged = &s->out->paged[node->id];
    uint32_t *most = seen->paged ? &paged->waiting : &s->out->waiting[node->id];
    if (seen->waiting > *most)
        *most = seen->waiting;
    if (!seen->paged)
        return;
    paged->turns += seen->turns;
    paged->rows += (double)seen->turns * seen->row;
}

static void
see(void *self, const rlf_seen *seen)
{
    simulation *s = self;
    const rlf_node *node = node_of(s, seen->command);
    rlf_span_spent span = {.rank = seen->rank,
                           .kind = kind_of(seen->command, node),
                           .node = node,
                           .step = s->step,
                           .command = seen->command->n,
                           .from = seen->from,
                           .to = seen->to,
                           .work = seen->work};
    switch (seen->kind) {
    case RLF_SEEN_DONE:
        span.bubble = s->bubble[seen->rank] * (seen->to - seen->from);
        s->bubble[seen->rank] = 0;
        add_span(s, &span);
        break;
    case RLF_SEEN_TURNS:
        span.turns = seen->turns;
        span.rows = seen->row;
        note_waiting(s, seen, node);
        add_span(s, &span);
        break;
    case RLF_SEEN_GIVEN:
        s->out->moved++;
        counts_of(s, seen->command->instance)->moved++;
        break;
    case RLF_SEEN_MADE:
        for (int i = shares_reported(s, seen); i > 0; i--)
            add_made(s, seen);
        break;
    case RLF_SEEN_COME:
    case RLF_SEEN_TAKEN:
        break;
    }
}

static void
posted(void *self, const rlf_rank_command *command, const rlf_rank_part *parts)
{
    simulation *s = self;
    (void)parts;
    rlf_sim_note(s, command);
    s->out->commands++;
    s->out->weights += command->kind == RLF_DO_WEIGHTS;
    for (int i = 0; i < command->n_moves && command->kind == RLF_DO_EDGE; i++) {
        double bytes = bytes_of(s, command, &command->moves[i]);
        rlf_step_counts *counts = counts_of(s, command->instance);
        s->out->messages++;
        s->out->bytes += bytes;
        counts->messages++;
        counts->bytes += bytes;
    }
    if (s->options->posted)
        s->options->posted(s->options->self, command, s->control);
}

/* ---- steps ---- */

/* Nothing is known yet of the instances that a step begins with. */
static void
begin_step(simulation *s)
{
    int fresh = rlf_ranks_begin(s->ranks);
    uint64_t last = ++s->step + s->graph->ahead;
    memset(s->sums, 0, sizeof *s->sums * RLF_SIM_SUMS);
    for (int i = 0; i < fresh; i++) {
        size_t index = (last - (uint64_t)i) % (uint64_t)s->n_steps;
        rlf_arena_reset(s->step_arenas[index]);
        for (size_t k = index; k < s->sequences.count; k += (size_t)s->n_steps)
            s->sequences.data[k] = (sequences){0};
    }
}

static double
length_of(const rlf_simulated *s, uint32_t step)
{
    return s->ends[step] - (step ? s->ends[step - 1] : 0);
}

double
rlf_simulated_spread(const rlf_simulated *s, uint32_t warm)
{
    enum { LEAST = 4 };
    const double alike = 1e-9;
    double n = s->steps > warm ? s->steps - warm : 0, sum = 0, squares = 0;
    for (uint32_t i = warm; i < s->steps; i++)
        sum += length_of(s, i);
    double mean = sum / n;
    for (uint32_t i = warm; i < s->steps; i++)
        squares += pow(length_of(s, i) - mean, 2);
    if (n >= 2 && sqrt(squares) <= alike * sum)
        return 0;
    return n < LEAST ? INFINITY : sqrt(squares / (n - 1) / n) / mean;
}

rlf_step_counts
rlf_simulated_counts(const rlf_simulated *s, uint32_t warm)
{
    rlf_step_counts sum = {0};
    double n = s->steps - warm;
    for (uint32_t i = warm; i < s->steps; i++) {
        const rlf_step_counts *c = &s->counts[i];
        sum.samples += c->samples / n;
        sum.tokens += c->tokens / n;
        sum.trained += c->trained / n;
        sum.messages += c->messages / n;
        sum.bytes += c->bytes / n;
        sum.moved += c->moved / n;
    }
    return sum;
}

static rlf_status
stands_still(const simulation *s, uint32_t step, rlf_err *err)
{
    rlf_buf ranks = {0};
    rlf_ranks_print(s->ranks, &ranks);
    rlf_fail(err, RLF_BUG, "step %u of a simulated run stands still", step);
    if (ranks.n)
        rlf_err_detail(err, "%s", ranks.p);
    rlf_buf_free(&ranks);
    return RLF_BUG;
}

static rlf_status
run_steps(simulation *s, rlf_err *err)
{
    const rlf_simulate_options *o = s->options;
    for (uint32_t i = 0; i < o->steps; i++) {
        begin_step(s);
        if (!rlf_ranks_run(s->ranks))
            return stands_still(s, i + 1, err);
        s->out->ends[i] = rlf_ranks_now(s->ranks);
        s->out->steps = i + 1;
        if (o->spread > 0 && rlf_simulated_spread(s->out, o->warm) <= o->spread)
            break;
        if (o->enough && i >= o->warm && o->enough(o->arg, s->out))
            break;
    }
    return RLF_OK;
}

static void
open_simulation(simulation *s, const rlf_simulate_options *options,
                rlf_arena *arena, rlf_simulated *out)
{
    const rlf_plan *plan = options->plan;
    *out = (rlf_simulated){0};
    *s = (simulation){.options = options,
                      .plan = plan,
                      .graph = plan->graph,
                      .answers = {.plan = plan,
                                  .sizes = options->sizes,
                                  .number = options->number},
                      .arena = arena,
                      .n_steps = (int)plan->graph->ahead + 1,
                      .out = out};
    out->ends = RLF_NEW_ARRAY(arena, double, options->steps);
    out->waiting = RLF_NEW_ARRAY(arena, uint32_t, plan->graph->nodes.count);
    out->paged = RLF_NEW_ARRAY(arena, rlf_page_waits, plan->graph->nodes.count);
    out->counts = RLF_NEW_ARRAY(arena, rlf_step_counts,
                                options->steps + plan->graph->ahead);
    out->spent =
        rlf_arena_alloc(arena, sizeof *out->spent * (size_t)plan->ranks);
    memset(out->spent, 0, sizeof *out->spent * (size_t)plan->ranks);
    s->bubble = RLF_NEW_ARRAY(arena, double, plan->ranks);
    s->reporters.shares = RLF_NEW_ARRAY(arena, int, plan->ranks);
    s->passes.busy = RLF_NEW_ARRAY(arena, double, plan->ranks);
    s->updates = RLF_NEW_ARRAY(arena, updates, plan->graph->nodes.count);
    s->sums = RLF_NEW_ARRAY(arena, row_sum, RLF_SIM_SUMS);
    s->readings = RLF_NEW_ARRAY(arena, reading *, plan->graph->nodes.count);
    s->step_arenas = RLF_NEW_ARRAY(arena, rlf_arena *, s->n_steps);
    for (int i = 0; i < s->n_steps; i++)
        s->step_arenas[i] = rlf_arena_new();
    s->control = rlf_control_new(plan, options->policy);
    s->ranks = rlf_ranks_new(
        s->control, &(rlf_ranks_options){
                        .self = s,
                        .answer = answer,
                        .length = length,
                        .seats = seats,
                        .pages = options->pages ? pages : NULL,
                        .lengths = rlf_workload_draws(options->workload),
                        .work = take_work,
                        .turn = take_turn,
                        .post = options->durations->post,
                        .mail = options->durations->mail > 0 ? take_mail : NULL,
                        .news = options->durations->mail > 0 ? take_mail : NULL,
                        .cores = options->durations->cores,
                        .part = part_at_work,
                        .see = see,
                        .posted = posted});
}

rlf_status
rlf_simulate(const rlf_simulate_options *options, rlf_arena *arena,
             rlf_err *err, rlf_simulated *out)
{
    simulation s;
    open_simulation(&s, options, arena, out);
    rlf_status status = run_steps(&s, err);
    rlf_ranks_free(s.ranks);
    rlf_control_free(s.control);
    for (int i = 0; i < s.n_steps; i++)
        rlf_arena_free(s.step_arenas[i]);
    RLF_VEC_FREE(&s.sequences);
    return status;
}
