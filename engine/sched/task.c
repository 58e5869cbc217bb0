/* Tasks from commands, and the bytes of tasks and notices: see task.h. */
#include "engine/sched/task.h"

#include "engine/base/vec.h"
#include "engine/order/part.h"

/* ---- from commands ---- */

static void
tell_instance(const rlf_control *control, const rlf_graph *graph, int instance,
              rlf_task *out)
{
    const rlf_instance *in =
        rlf_order_instance(rlf_control_order(control), instance);
    out->instance = instance;
    out->node = in->node->id;
    out->iteration = in->iteration;
    out->loop = in->loop;
    out->input = in->input;
    out->n_input = in->node->n_inputs;
    if (in->loop)
        out->n_input += graph->regions.data[in->node->regions[0]].n_gives;
}

bool
rlf_task_of(const rlf_control *control, const rlf_graph *graph,
            const rlf_rank_command *command, int rank, rlf_arena *arena,
            rlf_task *out)
{
    static const rlf_task_kind kinds[] = {
        [RLF_DO_OPEN] = RLF_TASK_OPEN, [RLF_DO_RUN] = RLF_TASK_RUN,
        [RLF_DO_EDGE] = RLF_TASK_EDGE, [RLF_DO_WEIGHTS] = RLF_TASK_WEIGHTS,
        [RLF_DO_MOVE] = RLF_TASK_MOVE, [RLF_DO_END] = RLF_TASK_END,
    };
    rlf_rank_part part;
    if (!rlf_rank_part_of(control, command, rank, arena, &part))
        return false;
    *out = (rlf_task){.kind = kinds[command->kind],
                      .n = command->n,
                      .turn = command->iteration,
                      .works = part.share != NULL,
                      .joint = command->joint,
                      .moves = part.moves,
                      .n_moves = part.n_moves,
                      .price = command->price,
                      .model = command->model,
                      .from = command->from,
                      .hold = command->hold};
    out->instance = -1;
    out->node = command->node;
    if (command->instance >= 0)
        tell_instance(control, graph, command->instance, out);
    if (part.share) {
        out->reports = part.share->reports;
        out->rows = part.share->rows;
        out->n_rows = part.share->n_rows;
    }
    return true;
}

/* ---- bytes ---- */

/* Numbers in the machine's own form: all ranks run the same binary. */
static void
put(rlf_buf *out, const void *p, size_t n)
{
    rlf_buf_add(out, p, n);
}

#define PUT(out, x) put(out, &(x), sizeof(x))

static void
put_rows(rlf_buf *out, const uint32_t *rows, uint32_t n)
{
    uint8_t has = rows != NULL;
    PUT(out, has);
    PUT(out, n);
    if (rows)
        put(out, rows, n * sizeof *rows);
}

/* Text, which may be missing. */
static void
put_text(rlf_buf *out, const char *text)
{
    uint32_t length = text ? (uint32_t)strlen(text) + 1 : 0;
    PUT(out, length);
    if (text)
        put(out, text, length);
}

static void
put_needs(rlf_buf *out, const rlf_needs *needs)
{
    uint8_t has = needs != NULL;
    PUT(out, has);
    if (!has)
        return;
    PUT(out, needs->limit);
    PUT(out, needs->work);
    PUT(out, needs->runs);
    uint32_t n = (uint32_t)needs->memory.rows.count;
    PUT(out, n);
    for (uint32_t i = 0; i < n; i++) {
        const rlf_memory_row *row = &needs->memory.rows.data[i];
        put_text(out, row->owner);
        put_text(out, row->purpose);
        put_text(out, row->lower);
        PUT(out, row->device);
        PUT(out, row->host);
    }
}

static void
put_metric(rlf_buf *out, const rlf_metric *m)
{
    PUT(out, m->node);
    PUT(out, m->sum);
    PUT(out, m->count);
    put_text(out, m->name);
}

static void
put_metrics(rlf_buf *out, const rlf_metrics *list)
{
    uint64_t n = list->count;
    PUT(out, n);
    for (uint64_t i = 0; i < n; i++)
        put_metric(out, &list->data[i]);
}

typedef struct reader {
    const char *p;
    size_t left;
    rlf_arena *arena;
    bool torn;
} reader;

static void
get(reader *r, void *to, size_t n)
{
    if (n > r->left) {
        r->torn = true;
        memset(to, 0, n);
        return;
    }
    memcpy(to, r->p, n);
    r->p += n;
    r->left -= n;
}

#define GET(r, x) get(r, &(x), sizeof(x))

static void *
get_array(reader *r, size_t n, size_t size)
{
    if (n > r->left / size) {
        r->torn = true;
        return NULL;
    }
    void *array = rlf_arena_alloc(r->arena, n * size + 1);
    get(r, array, n * size);
    return array;
}

static const uint32_t *
get_rows(reader *r, uint32_t *n)
{
    uint8_t has;
    GET(r, has);
    GET(r, *n);
    return has ? get_array(r, *n, sizeof(uint32_t)) : NULL;
}

static const char *
get_text(reader *r)
{
    uint32_t length;
    GET(r, length);
    return length ? get_array(r, length, 1) : NULL;
}

static const rlf_needs *
get_needs(reader *r)
{
    uint8_t has;
    uint32_t n;
    GET(r, has);
    if (!has || r->torn)
        return NULL;
    rlf_needs *needs = RLF_NEW(r->arena, rlf_needs);
    needs->memory.arena = r->arena;
    GET(r, needs->limit);
    GET(r, needs->work);
    GET(r, needs->runs);
    GET(r, n);
    for (uint32_t i = 0; i < n && !r->torn; i++) {
        rlf_memory_row row = {0};
        row.owner = get_text(r);
        row.purpose = get_text(r);
        row.lower = get_text(r);
        GET(r, row.device);
        GET(r, row.host);
        RLF_PUSH_IN(r->arena, &needs->memory.rows, row);
    }
    return needs;
}

static rlf_metrics
get_metrics(reader *r)
{
    uint64_t n;
    GET(r, n);
    if (r->torn || n > r->left)
        return (rlf_metrics){0};
    rlf_metric *list = RLF_NEW_ARRAY(r->arena, rlf_metric, n);
    for (uint64_t i = 0; i < n && !r->torn; i++) {
        GET(r, list[i].node);
        GET(r, list[i].sum);
        GET(r, list[i].count);
        list[i].name = get_text(r);
    }
    return (rlf_metrics){.data = list, .count = n};
}

/* Room for all that n bytes are read as, each array with what it is aligned
 * by. */
static rlf_status
begin(reader *r, const char *bytes, size_t n, rlf_arena *arena, rlf_err *err)
{
    *r = (reader){.p = bytes, .left = n, .arena = arena};
    return rlf_arena_room(arena, 4 * n + 4096, "a message between ranks", err);
}

static rlf_status
finish(const reader *r, const char *what, rlf_err *err)
{
    if (r->torn || r->left)
        return rlf_fail(err, RLF_BUG, "a %s between ranks is torn", what);
    return RLF_OK;
}

size_t
rlf_task_bytes(const rlf_task *task)
{
    size_t n = sizeof *task + 1024 + task->n_rows * sizeof *task->rows +
               (size_t)task->n_input * sizeof *task->input;
    for (int i = 0; i < task->n_moves; i++)
        n += sizeof(rlf_move) + task->moves[i].n_rows * sizeof(uint32_t);
    return n;
}

void
rlf_task_write(const rlf_task *task, rlf_buf *out)
{
    PUT(out, *task);
    put_text(out, task->directory);
    if (task->n_input)
        put(out, task->input, (size_t)task->n_input * sizeof *task->input);
    put_rows(out, task->rows, task->n_rows);
    for (int i = 0; i < task->n_moves; i++) {
        const rlf_move *m = &task->moves[i];
        PUT(out, m->from);
        PUT(out, m->to);
        put_rows(out, m->rows, m->n_rows);
    }
}

rlf_status
rlf_task_read(const char *bytes, size_t n, rlf_arena *arena, rlf_err *err,
              rlf_task *out)
{
    reader r;
    RLF_TRY(begin(&r, bytes, n, arena, err));
    GET(&r, *out);
    out->directory = get_text(&r);
    out->input = get_array(&r, (size_t)out->n_input, sizeof *out->input);
    out->rows = get_rows(&r, &out->n_rows);
    rlf_move *moves = NULL;
    if (!r.torn && out->n_moves > 0)
        moves = RLF_NEW_ARRAY(arena, rlf_move, out->n_moves);
    for (int i = 0; i < out->n_moves && !r.torn; i++) {
        GET(&r, moves[i].from);
        GET(&r, moves[i].to);
        moves[i].rows = get_rows(&r, &moves[i].n_rows);
    }
    out->moves = moves;
    return finish(&r, "task", err);
}

size_t
rlf_notice_bytes(const rlf_notice *notice)
{
    /* rows, who has them, and how long they are */
    size_t n = sizeof *notice + 1024;
    if (notice->kind == RLF_NOTICE_REPORT)
        n += 3 * (size_t)notice->event.n_rows * sizeof(uint32_t);
    for (uint32_t i = 0; i < notice->n_steps; i++)
        n += notice->metrics[i].count * 128;
    return n + notice->n_calls * sizeof *notice->calls;
}

void
rlf_notice_write(const rlf_notice *notice, rlf_buf *out)
{
    uint8_t kind = (uint8_t)notice->kind;
    PUT(out, kind);
    PUT(out, notice->rank);
    PUT(out, notice->plan);
    put_needs(out, notice->needs);
    PUT(out, notice->count);
    PUT(out, notice->at_end);
    PUT(out, notice->seconds);
    PUT(out, notice->n_calls);
    if (notice->n_calls)
        put(out, notice->calls, notice->n_calls * sizeof *notice->calls);
    PUT(out, notice->n_steps);
    for (uint32_t i = 0; i < notice->n_steps; i++) {
        PUT(out, notice->tokens[i]);
        put_metrics(out, &notice->metrics[i]);
    }
    if (notice->kind != RLF_NOTICE_REPORT)
        return;
    const rlf_rank_event *r = &notice->event;
    PUT(out, *r);
    put_rows(out, r->rows, r->rows ? r->n_rows : 0);
    put_rows(out, r->lengths, r->lengths ? r->n_rows : 0);
    put_rows(out, r->owner, r->owner ? r->n_rows : 0);
}

rlf_status
rlf_notice_read(const char *bytes, size_t n, rlf_arena *arena, rlf_err *err,
                rlf_notice *out)
{
    reader r;
    uint8_t kind;
    RLF_TRY(begin(&r, bytes, n, arena, err));
    GET(&r, kind);
    if (kind >= RLF_NOTICE_KINDS)
        r.torn = true;
    out->kind = kind;
    GET(&r, out->rank);
    GET(&r, out->plan);
    out->needs = get_needs(&r);
    GET(&r, out->count);
    GET(&r, out->at_end);
    GET(&r, out->seconds);
    GET(&r, out->n_calls);
    out->calls = get_array(&r, out->n_calls, sizeof *out->calls);
    GET(&r, out->n_steps);
    if (r.torn || out->n_steps > r.left)
        return finish(&r, "report", err);
    rlf_metrics *lists = RLF_NEW_ARRAY(arena, rlf_metrics, out->n_steps);
    uint64_t *tokens = RLF_NEW_ARRAY(arena, uint64_t, out->n_steps);
    for (uint32_t i = 0; i < out->n_steps; i++) {
        GET(&r, tokens[i]);
        lists[i] = get_metrics(&r);
    }
    out->metrics = lists;
    out->tokens = tokens;
    if (out->kind == RLF_NOTICE_REPORT) {
        uint32_t count;
        GET(&r, out->event);
        out->event.rows = get_rows(&r, &count);
        out->event.lengths = get_rows(&r, &count);
        out->event.owner = get_rows(&r, &count);
    }
    return finish(&r, "report", err);
}
