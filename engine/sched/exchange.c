/* Edges between ranks: the rows of what an instance has made, as bytes.
 *
 * The rows that there are are known on both sides (the spaces are the same);
 * their contents are packed row by row: numbers, tokens with their count, texts
 * with their length. Sizes go first, then what has them.
 *
 * A sender of rows does not wait for receivers, which may be at work for long:
 * it keeps the packed rows until all of them have come for theirs, at most
 * until the step ends, and no more of them than the largest edge has. */
#include "engine/base/clock.h"
#include "engine/base/trace.h"
#include "engine/graph/class.h"
#include "engine/sched/rank.h"


enum { TAG_SIZES = 1, TAG_ROWS = 2 };

typedef struct unpacker {
    const char *p, *end;
    rlf_arena *pool;
    bool stays; /* the bytes live as long as the pool: texts may lie there */
    bool torn;
} unpacker;

static void
take(unpacker *u, void *to, size_t n)
{
    if ((size_t)(u->end - u->p) < n) {
        u->torn = true;
        return;
    }
    memcpy(to, u->p, n);
    u->p += n;
}

/* ---- a row of a set that a model sampled ---- */

/* Bytes of it, here and below: at least as many as are packed. */
static size_t
sample_bytes(const rlf_rows *rows, uint32_t row)
{
    const rlf_sample *s = &rows->sample[row];
    return sizeof *s + s->text.n + s->n_ids * (sizeof *s->ids + sizeof(double));
}

static void
pack_sample(rlf_buf *out, const rlf_rows *rows, uint32_t row)
{
    const rlf_sample *s = &rows->sample[row];
    uint64_t text = s->text.n;
    rlf_buf_add(out, &s->n_ids, sizeof s->n_ids);
    rlf_buf_add(out, &s->finished, sizeof s->finished);
    rlf_buf_add(out, &text, sizeof text);
    rlf_buf_add(out, s->ids, s->n_ids * sizeof *s->ids);
    rlf_buf_add(out, s->text.p, s->text.n);
    if (rows->logprob)
        rlf_buf_add(out, rows->logprob + rows->tokens->offset[row],
                    s->n_ids * sizeof *rows->logprob);
}

static void
unpack_sample(unpacker *u, rlf_rows *rows, uint32_t row)
{
    rlf_sample s = {0};
    uint64_t text = 0;
    take(u, &s.n_ids, sizeof s.n_ids);
    take(u, &s.finished, sizeof s.finished);
    take(u, &text, sizeof text);
    if (u->torn || text + s.n_ids > (size_t)(u->end - u->p)) {
        u->torn = true;
        return;
    }
    uint32_t *ids = RLF_NEW_ARRAY(u->pool, uint32_t, s.n_ids + 1);
    char *letters = rlf_arena_alloc(u->pool, text + 1);
    take(u, ids, s.n_ids * sizeof *ids);
    take(u, letters, text);
    letters[text] = 0;
    s.ids = ids;
    s.text = (rlf_str){letters, text};
    if (rows->logprob)
        take(u, rows->logprob + rows->tokens->offset[row],
             s.n_ids * sizeof *rows->logprob);
    ((uint32_t *)rows->tokens->length)[row] = s.n_ids;
    rows->sample[row] = s;
}

/* ---- a row of a column ---- */

/* The place of the values of row `row` of the instance's rows in a column: the
 * tokens of that row, that row itself, or the one above it. */
typedef struct cells {
    uint64_t first;
    uint32_t count;
    bool tokens; /* of row `at` of the column's space */
    uint32_t at;
} cells;

static cells
cells_of(const rlf_rank *rank, const slot *s, const rlf_column *column,
         uint32_t row)
{
    const rlf_domains *domains = &rank->graph->domains;
    const rlf_space *space = column->space;
    if (!space)
        return (cells){.count = 1};
    int rows = rlf_domain_rows(domains, space->domain);
    uint32_t at = rows == s->space->domain
                      ? row
                      : rlf_space_row(domains, s->space, row, rows);
    if (rlf_domains_get(domains, space->domain)->kind != RLF_DOMAIN_TOKENS)
        return (cells){.first = at, .count = 1};
    return (cells){.first = space->offset[at],
                   .count = space->length[at],
                   .tokens = true,
                   .at = at};
}

/* A text ends with a 0 byte, so that it may stay where it was received. */
static void
pack_text(rlf_buf *out, rlf_str text)
{
    uint64_t n = text.n;
    rlf_buf_add(out, &n, sizeof n);
    rlf_buf_add(out, text.p, text.n);
    rlf_buf_putc(out, 0);
}

static void
unpack_text(unpacker *u, rlf_str *out)
{
    uint64_t n = 0;
    take(u, &n, sizeof n);
    if (u->torn || n >= (size_t)(u->end - u->p) || u->p[n]) {
        u->torn = true;
        return;
    }
    *out = (rlf_str){u->p, n};
    if (!u->stays) {
        char *p = rlf_arena_alloc(u->pool, n + 1);
        out->p = memcpy(p, u->p, n);
    }
    u->p += n + 1;
}

static size_t
cells_bytes(const rlf_column *column, cells c)
{
    size_t n = sizeof c.count + c.count * sizeof(double);
    for (uint32_t i = 0; column->text && i < c.count; i++)
        n += sizeof(uint64_t) + column->text[c.first + i].n + 1;
    return n;
}

static void
pack_cells(rlf_buf *out, const rlf_column *column, cells c)
{
    if (c.tokens)
        rlf_buf_add(out, &c.count, sizeof c.count);
    if (column->number)
        rlf_buf_add(out, column->number + c.first,
                    c.count * sizeof *column->number);
    for (uint32_t i = 0; column->text && i < c.count; i++)
        pack_text(out, column->text[c.first + i]);
}

/* The receiver of a token's row may not have the row's tokens: then it learns
 * from this how many there are. */
static void
unpack_cells(unpacker *u, const rlf_column *column, cells c)
{
    if (c.tokens) {
        take(u, &c.count, sizeof c.count);
        ((uint32_t *)column->space->length)[c.at] = c.count;
    }
    if (column->number)
        take(u, column->number + c.first, c.count * sizeof *column->number);
    for (uint32_t i = 0; column->text && i < c.count; i++)
        unpack_text(u, &column->text[c.first + i]);
}

/* ---- an instance ---- */

/* The whole of a column: of nodes that are not made of rows. */
static cells
all_cells(const rlf_column *column)
{
    uint64_t n = column->space ? column->space->extent : 1;
    return (cells){.count = (uint32_t)n};
}

static cells
cells_in(const rlf_rank *rank, const slot *s, const rlf_column *column,
         const uint32_t *row)
{
    return row ? cells_of(rank, s, column, *row) : all_cells(column);
}

static bool
is_set(const rlf_rank *rank, const rlf_node *node, int output)
{
    return rank->graph->values.data[node->outputs[output]].kind ==
           RLF_VALUE_SET;
}

static size_t
row_bytes(const rlf_rank *rank, const slot *s, const uint32_t *row)
{
    const rlf_node *node = s->call.node;
    size_t n = 0;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_content *content = &s->call.out[i];
        n += is_set(rank, node, i)
                 ? sample_bytes(content->rows, *row)
                 : cells_bytes(&content->column,
                               cells_in(rank, s, &content->column, row));
    }
    return n;
}

static void
pack_row(const rlf_rank *rank, const slot *s, const uint32_t *row, rlf_buf *out)
{
    const rlf_node *node = s->call.node;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_content *content = &s->call.out[i];
        if (is_set(rank, node, i))
            pack_sample(out, content->rows, *row);
        else
            pack_cells(out, &content->column,
                       cells_in(rank, s, &content->column, row));
    }
}

static void
unpack_row(const rlf_rank *rank, slot *s, const uint32_t *row, unpacker *u)
{
    const rlf_node *node = s->call.node;
    for (int i = 0; i < node->n_outputs; i++) {
        rlf_content *content = &s->call.out[i];
        if (is_set(rank, node, i))
            unpack_sample(u, content->rows, *row);
        else
            unpack_cells(u, &content->column,
                         cells_in(rank, s, &content->column, row));
    }
}

/* Room is taken once, of the size that it gets: texts may be most of what a
 * step takes. */
static rlf_status
pack(const rlf_rank *rank, const slot *s, const rlf_move *move, rlf_buf *out,
     rlf_err *err)
{
    size_t n = move->rows ? 0 : row_bytes(rank, s, NULL);
    for (uint32_t i = 0; move->rows && i < move->n_rows; i++)
        n += row_bytes(rank, s, &move->rows[i]);
    *out = (rlf_buf){.p = rlf_try_malloc(n + 1), .room = n + 1};
    if (!out->p)
        return rlf_fail_memory(err, n, "rows for rank %d", move->to);
    if (!move->rows)
        pack_row(rank, s, NULL, out);
    for (uint32_t i = 0; move->rows && i < move->n_rows; i++)
        pack_row(rank, s, &move->rows[i], out);
    return RLF_OK;
}

/* Are the bytes kept with the step, so that its texts lie in them? Not where
 * numbers of tokens came along, which have been copied to their columns. */
static bool
may_stay(const rlf_rank *rank, const rlf_node *node)
{
    bool texts = false;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *v = &rank->graph->values.data[node->outputs[i]];
        texts |= v->kind == RLF_VALUE_TEXT;
        if (v->kind == RLF_VALUE_SET ||
            rlf_domains_get(&rank->graph->domains, v->domain)->kind ==
                RLF_DOMAIN_TOKENS)
            return false;
    }
    return texts;
}

/* `bytes` go to the pool, where they may stay. */
static rlf_status
unpack(rlf_rank *rank, slot *s, const rlf_move *move, rlf_buf *bytes,
       rlf_err *err)
{
    unpacker u = {.p = bytes->p,
                  .end = bytes->p + bytes->n,
                  .pool = s->call.env->pool,
                  .stays = may_stay(rank, s->call.node)};
    if (u.stays) {
        rlf_arena_defer(u.pool, free, bytes->p);
        bytes->room = 0; /* it is lent, as below */
    } else { /* tokens and texts, each with what it is aligned by */
        RLF_TRY(rlf_arena_room(u.pool,
                               bytes->n + ((size_t)move->n_rows + 1) * 64 *
                                              (size_t)s->call.node->n_outputs,
                               "rows of another rank", err));
    }
    if (!move->rows)
        unpack_row(rank, s, NULL, &u);
    for (uint32_t i = 0; move->rows && i < move->n_rows && !u.torn; i++)
        unpack_row(rank, s, &move->rows[i], &u);
    if (u.torn || u.p != u.end)
        return rlf_fail(err, RLF_BUG, "rows of %s from rank %d are torn",
                        s->call.node->class->name, move->from);
    return RLF_OK;
}

/* ---- what is sent ---- */

/* Starts to send the moves that are from here, whose bytes are packed. */
static rlf_status
start_sends(rlf_rank *rank, const rlf_move *moves, rank_message *out,
            rlf_err *err)
{
    rlf_arena *pool = rank->env.pool;
    rlf_group *world = rlf_group_world(rank->comm);
    int n = out->n;
    rlf_part *rows = RLF_NEW_ARRAY(pool, rlf_part, n),
             *sizes = RLF_NEW_ARRAY(pool, rlf_part, n);
    int k = 0;
    out->sizes = rlf_calloc((size_t)n + 1, sizeof *out->sizes);
    for (int i = 0; i < n; i++) {
        const rlf_buf *bytes = &out->bytes[i];
        if (moves[i].from != rank->rank)
            continue;
        out->sizes[k] = bytes->n;
        out->kept += bytes->room;
        sizes[k] = (rlf_part){moves[i].to, &out->sizes[k], sizeof *out->sizes};
        rows[k++] = (rlf_part){moves[i].to, bytes->p, bytes->n};
    }
    if (k == 0)
        return RLF_OK;
    RLF_TRY(rlf_group_start(world, TAG_SIZES, sizes, k, NULL, 0,
                            &out->batch[0], err));
    return rlf_group_start(world, TAG_ROWS, rows, k, NULL, 0, &out->batch[1],
                           err);
}

/* Waits until all of it was sent, or the run is over, and frees it. */
static rlf_status
end_message(rank_message *m, rlf_err *err)
{
    rlf_status status = RLF_OK;
    for (int i = 0; i < 2; i++)
        if (m->batch[i] && status >= 0)
            status = rlf_batch_wait(&m->batch[i], err);
    for (int i = 0; i < m->n; i++)
        if (m->bytes[i].room) /* others are lent */
            rlf_buf_free(&m->bytes[i]);
    free(m->bytes);
    free(m->sizes);
    return status;
}

/* RLF_AGAIN: not all of it was sent yet. */
static rlf_status
test_message(rank_message *m, rlf_err *err)
{
    rlf_status status = RLF_OK;
    for (int i = 0; i < 2 && status == RLF_OK; i++)
        if (m->batch[i])
            status = rlf_batch_test(&m->batch[i], err);
    return status;
}

rlf_status
rlf_rank_keep_sent(rlf_rank *rank, uint64_t most, rlf_err *err)
{
    uint64_t kept = 0;
    size_t n = rank->sent.count, left = 0;
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < n; i++)
        kept += rank->sent.data[i].kept;
    for (size_t i = 0; i < n; i++) {
        rank_message *m = &rank->sent.data[i];
        if (status >= 0 && kept <= most) {
            rlf_status tested = test_message(m, err);
            if (tested == RLF_AGAIN) {
                rank->sent.data[left++] = *m;
                continue;
            }
            status = tested;
        }
        kept -= m->kept;
        rlf_status ended = end_message(m, err);
        status = status < 0 ? status : ended;
    }
    rank->sent.count = left;
    return status;
}

/* ---- what is received ---- */

/* Receives the moves that are not from here: the bytes of each (to be freed by
 * rlf_buf_free, also after an error). */
static rlf_status
receive(rlf_rank *rank, const rlf_move *moves, int n, rlf_buf *bytes,
        rlf_err *err)
{
    rlf_arena *pool = rank->env.pool;
    rlf_group *world = rlf_group_world(rank->comm);
    rlf_part *parts = RLF_NEW_ARRAY(pool, rlf_part, n);
    uint64_t *sizes = RLF_NEW_ARRAY(pool, uint64_t, n);
    int k = 0;
    for (int i = 0; i < n; i++)
        if (moves[i].from != rank->rank) {
            parts[k] = (rlf_part){moves[i].from, &sizes[k], sizeof *sizes};
            k++;
        }
    RLF_TRY(rlf_group_exchange(world, TAG_SIZES, NULL, 0, parts, k, err));
    k = 0;
    for (int i = 0; i < n; i++) {
        if (moves[i].from == rank->rank)
            continue;
        size_t size = sizes[k];
        bytes[i] = (rlf_buf){
            .p = rlf_try_calloc(size + 1, 1), .n = size, .room = size + 1};
        if (!bytes[i].p)
            return rlf_fail_memory(err, size, "rows that rank %d sends",
                                   moves[i].from);
        parts[k++] = (rlf_part){moves[i].from, bytes[i].p, size};
        rank->received += size;
    }
    return rlf_group_exchange(world, TAG_ROWS, NULL, 0, parts, k, err);
}

/* ---- both sides ---- */

/* Arrows in the trace, one a message. */
static void
trace_moves(const rlf_rank *rank, const slot *s,
            const rlf_rank_command *command, bool sends)
{
    uint64_t now = rlf_clock_now(), n = (uint64_t)rank->plan->ranks;
    const char *name = rlf_rank_node_name(rank, s->call.node);
    for (int i = 0; i < command->n_moves; i++) {
        const rlf_move *m = &command->moves[i];
        uint64_t id =
            (command->n * n + (uint64_t)m->from) * n + (uint64_t)m->to;
        if (sends && m->from == rank->rank)
            rlf_trace_send(rank->env.trace, name, id, now);
        else if (!sends && m->to == rank->rank)
            rlf_trace_receive(rank->env.trace, name, id, now);
    }
}

static bool
same_rows(const rlf_move *a, const rlf_move *b)
{
    if (!a->rows || !b->rows)
        return a->rows == b->rows;
    return a->n_rows == b->n_rows &&
           memcmp(a->rows, b->rows, a->n_rows * sizeof *a->rows) == 0;
}

/* Rows that go to several ranks are packed once: the messages but one have lent
 * bytes, without room. */
static rlf_status
pack_rows(rlf_rank *rank, slot *s, const rlf_rank_command *command,
          rlf_buf *bytes, rlf_err *err)
{
    int last = -1; /* from here */
    for (int i = 0; i < command->n_moves; i++) {
        const rlf_move *move = &command->moves[i];
        if (move->from != rank->rank)
            continue;
        if (last >= 0 && same_rows(move, &command->moves[last]))
            bytes[i] = (rlf_buf){.p = bytes[last].p, .n = bytes[last].n};
        else
            RLF_TRY(pack(rank, s, move, &bytes[i], err));
        last = i;
    }
    return RLF_OK;
}

static rlf_status
unpack_rows(rlf_rank *rank, slot *s, const rlf_rank_command *command,
            rlf_buf *bytes, rlf_err *err)
{
    for (int i = 0; i < command->n_moves; i++)
        if (command->moves[i].from != rank->rank)
            RLF_TRY(unpack(rank, s, &command->moves[i], &bytes[i], err));
    return RLF_OK;
}

/* Samples in the making: what is not complete here goes on there. */
static rlf_status
pack_samples(rlf_rank *rank, slot *s, const rlf_rank_command *command,
             rlf_buf *bytes, rlf_err *err)
{
    const rlf_handover *class = s->call.node->class->handover;
    rlf_status status = rank->generation < 0 ? RLF_OK : RLF_AGAIN;
    for (int i = 0; i < command->n_moves && status >= 0; i++) {
        const rlf_move *m = &command->moves[i];
        if (m->from == rank->rank)
            status = class->give(&s->call, m->rows, m->n_rows, &command->price,
                                 &bytes[i], err);
    }
    rank->generation = status == RLF_AGAIN ? command->instance : -1;
    return status < 0 ? status : RLF_OK;
}

static rlf_status
unpack_samples(rlf_rank *rank, slot *s, const rlf_rank_command *command,
               rlf_buf *bytes, rlf_err *err)
{
    const rlf_handover *class = s->call.node->class->handover;
    rlf_status status = rank->generation < 0 ? RLF_OK : RLF_AGAIN;
    for (int i = 0; i < command->n_moves && status >= 0; i++)
        if (command->moves[i].from != rank->rank)
            status = class->take(&s->call, bytes[i].p, bytes[i].n, err);
    rank->generation = status == RLF_AGAIN ? command->instance : -1;
    return status < 0 ? status : RLF_OK;
}

/* What is sent of an instance, and what becomes of it elsewhere. */
typedef struct cargo {
    rlf_status (*pack)(rlf_rank *, slot *, const rlf_rank_command *, rlf_buf *,
                       rlf_err *);
    rlf_status (*unpack)(rlf_rank *, slot *, const rlf_rank_command *,
                         rlf_buf *, rlf_err *);
} cargo;

static const cargo rows_made = {pack_rows, unpack_rows},
                   samples_in_the_making = {pack_samples, unpack_samples};

/* `in`: room for the bytes of each move. What is sent is the last of
 * rank->sent, also after an error. */
static rlf_status
exchange(rlf_rank *rank, slot *s, const rlf_rank_command *command,
         const cargo *what, rlf_buf *in, rlf_err *err)
{
    size_t n = (size_t)command->n_moves;
    rlf_buf *out = rlf_calloc(n + 1, sizeof *out);
    RLF_PUSH(&rank->sent, ((rank_message){.bytes = out, .n = (int)n}));
    RLF_TRY(what->pack(rank, s, command, out, err));
    for (size_t i = 0; i < n; i++)
        rank->exchanged += out[i].n;
    RLF_TRY(start_sends(rank, command->moves,
                        &rank->sent.data[rank->sent.count - 1], err));
    RLF_TRY(receive(rank, command->moves, (int)n, in, err));
    return what->unpack(rank, s, command, in, err);
}

/* With arrows in the trace. */
static rlf_status
execute_moves(rlf_rank *rank, slot *s, const rlf_rank_command *command,
              const cargo *what, rlf_err *err)
{
    rlf_buf *in = rlf_calloc((size_t)command->n_moves + 1, sizeof *in);
    if (rank->env.trace)
        trace_moves(rank, s, command, true);
    rank->received = rank->exchanged = 0;
    rlf_status status = exchange(rank, s, command, what, in, err);
    if (rank->env.trace)
        trace_moves(rank, s, command, false);
    rank->exchanged += rank->received;
    for (int i = 0; i < command->n_moves; i++)
        if (in[i].room)
            rlf_buf_free(&in[i]);
    free(in);
    return status;
}

rlf_status
rlf_rank_exchange(rlf_rank *rank, slot *s, const rlf_rank_command *command,
                  rlf_err *err)
{
    RLF_TRY(execute_moves(rank, s, command, &rows_made, err));
    return rlf_rank_keep_sent(rank, rank->keeps, err);
}

rlf_status
rlf_rank_hand_over(rlf_rank *rank, slot *s, const rlf_rank_command *command,
                   rlf_err *err)
{
    RLF_TRY(execute_moves(rank, s, command, &samples_in_the_making, err));
    rank_message *last = &rank->sent.data[--rank->sent.count];
    return end_message(last, err);
}
