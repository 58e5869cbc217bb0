/* Data made of data: the rows for which a condition holds, and mixtures.
 *
 * Numbers are gathered, texts are read as rows of the member, which lives as
 * long. Not here: in which order rows are drawn (cursor.c). */
#include "engine/base/digest.h"
#include "engine/base/vec.h"
#include "nodes/data.h"

#include <math.h>
#include <stdlib.h>

/* ---- where rows come from ---- */

const rlf_data *
rlf_data_origin(const rlf_data *data, uint32_t *row)
{
    while (data->n_members) {
        size_t m = 0;
        if (data->members[0]->rest && !data->row && !data->first) {
            return data->members[0]->rest;
        } else if (data->row) {
            *row = data->row[*row];
        } else {
            while (*row >= data->first[m + 1])
                m++;
            *row -= data->first[m];
        }
        data = data->members[m];
    }
    return data;
}

const char *
rlf_data_place(const rlf_data *data, uint32_t row, rlf_arena *arena)
{
    data = rlf_data_origin(data, &row);
    return rlf_records_place(&data->records, row, arena);
}

/* ---- texts and chats ---- */

/* A prompt as a chat: a text as what the user says, `system` in front where
 * there is none. */
static rlf_status
make_chat(const rlf_record_value *from, bool is_chat, const rlf_str *system,
          rlf_arena *pool, rlf_err *err, rlf_chat *out)
{
    const rlf_message user = {.role = RLF_STR("user"), .content = from->text};
    const rlf_message first = {.role = RLF_STR("system"),
                               .content = system ? *system : RLF_STR("")};
    size_t n = is_chat ? from->chat.count : 1;
    bool has = is_chat && rlf_str_eq(from->chat.messages[0].role, first.role);
    size_t front = system && !has;
    rlf_message *messages;
    RLF_TRY(rlf_arena_try(pool, (front + n) * sizeof *messages,
                          "a chat of data", err, &messages));
    messages[0] = first;
    messages[front] = user;
    if (is_chat)
        memcpy(messages + front, from->chat.messages, n * sizeof *messages);
    *out = (rlf_chat){messages, front + n};
    return RLF_OK;
}

/* The row of a file, in its columns. */
static rlf_status
read_row(const rlf_data *data, uint32_t row, rlf_arena *pool, rlf_err *err,
         const rlf_record_value **out)
{
    RLF_TRY(rlf_records_row(&data->records, row, pool, err, out));
    if (!data->chat.made)
        return RLF_OK;
    size_t i = (size_t)(data->prompt - data->records.columns);
    rlf_record_value *prompt = (rlf_record_value *)&(*out)[i];
    return make_chat(prompt, !data->chat.of_texts, data->chat.system, pool, err,
                     &prompt->chat);
}

rlf_status
rlf_data_row(const rlf_data *data, uint32_t row, rlf_arena *pool, rlf_err *err,
             const rlf_record_value **out)
{
    const rlf_record_value *values;
    const rlf_data *file = rlf_data_origin(data, &row);
    RLF_TRY(read_row(file, row, pool, err, &values));
    *out = values;
    if (data->records.store)
        return RLF_OK; /* its columns are the file's */
    rlf_record_value *own;
    RLF_TRY(rlf_arena_try(pool, data->records.n_columns * sizeof *own,
                          "a row of data", err, &own));
    for (size_t i = 0; i < data->records.n_columns; i++) {
        const rlf_record_column *c =
            rlf_records_column(&file->records, data->records.columns[i].label);
        own[i] = values[c - file->records.columns];
    }
    *out = own;
    return RLF_OK;
}

rlf_status
rlf_data_value(const rlf_data *data, const rlf_record_column *column,
               uint32_t row, rlf_arena *pool, rlf_err *err,
               rlf_record_value *out)
{
    const rlf_record_value *values;
    RLF_TRY(rlf_data_row(data, row, pool, err, &values));
    *out = values[column - data->records.columns];
    return RLF_OK;
}

rlf_status
rlf_data_prompt(const rlf_data *data, uint32_t row, rlf_arena *pool,
                rlf_err *err, rlf_prompt *out)
{
    const rlf_record_value *values;
    out->text = RLF_STR("");
    if (!data->prompt)
        return RLF_OK;
    const rlf_data *file = rlf_data_origin(data, &row);
    const rlf_record_column *columns = file->records.columns;
    RLF_TRY(read_row(file, row, pool, err, &values));
    const rlf_record_value *value = &values[file->prompt - columns];
    if (file->prompt->kind == RLF_RECORD_CHAT) {
        out->text = (rlf_str){NULL, 0};
        out->messages = value->chat.messages;
        out->n_messages = (uint32_t)value->chat.count;
    } else {
        out->text = value->text;
    }
    if (file->tools)
        out->tools =
            values[rlf_records_column(&file->records, "tools") - columns].text;
    return RLF_OK;
}

void
rlf_data_rest(rlf_arena *pool)
{
    enum { MUCH = 4 << 20 }; /* bytes */
    if (rlf_arena_used(pool) > MUCH)
        rlf_arena_reset(pool);
}

/* ---- gathering ---- */

/* Elements keep[0..n-1] of an array, or NULL of NULL. */
static rlf_status
gather(rlf_arena *arena, const void *from, size_t size, const uint32_t *keep,
       uint32_t n, rlf_err *err, void *out)
{
    if (!from)
        return RLF_OK;
    char *to;
    RLF_TRY(rlf_arena_try(arena, size * n, "rows of data", err, &to));
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + size * i, (const char *)from + size * keep[i], size);
    memcpy(out, &to, sizeof to);
    return RLF_OK;
}

/* Returns the rows of the files that keep[0..n-1] are, `at` those before. */
static rlf_status
compose(rlf_arena *arena, const uint32_t *at, const uint32_t *keep, uint32_t n,
        rlf_err *err, const uint32_t **out)
{
    uint32_t *to;
    RLF_TRY(rlf_arena_try(arena, sizeof *to * n, "rows of data", err, &to));
    for (uint32_t i = 0; i < n; i++)
        to[i] = at ? at[keep[i]] : keep[i];
    *out = to;
    return RLF_OK;
}

/* The rows keep[] of `from` as the columns of `to`. */
static rlf_status
take_rows(rlf_arena *arena, const rlf_records *from, const uint32_t *keep,
          uint32_t n, rlf_err *err, rlf_records *to)
{
    *to = *from;
    to->count = n;
    if (from->store)
        RLF_TRY(compose(arena, from->at, keep, n, err, &to->at));
    to->columns = RLF_NEW_ARRAY(arena, rlf_record_column, from->n_columns);
    for (size_t c = 0; c < from->n_columns; c++) {
        const rlf_record_column *a = &from->columns[c];
        rlf_record_column *b = &to->columns[c];
        *b = *a;
        RLF_TRY(gather(arena, a->numbers, sizeof *a->numbers, keep, n, err,
                       &b->numbers));
    }
    to->digest = rlf_digest_add(from->digest, keep, sizeof *keep * n);
    return RLF_OK;
}

rlf_status
rlf_data_keep(rlf_data *data, const uint32_t *keep, uint32_t n, rlf_err *err)
{
    rlf_records all = data->records;
    RLF_TRY(take_rows(data->arena, &all, keep, n, err, &data->records));
    data->prompt = rlf_records_column(&data->records, "prompt");
    return RLF_OK;
}

/* ---- held out ---- */

static rlf_digest
add_text(rlf_digest digest, rlf_str text)
{
    digest = rlf_digest_add(digest, &text.n, sizeof text.n);
    return rlf_digest_add(digest, text.p, text.n);
}

static rlf_digest
add_cell(rlf_digest digest, const rlf_record_column *c, uint32_t row,
         const rlf_record_value *value)
{
    if (c->numbers)
        return rlf_digest_add(digest, &c->numbers[row], sizeof *c->numbers);
    if (c->kind == RLF_RECORD_TEXT)
        return add_text(digest, value->text);
    for (size_t i = 0; i < value->chat.count; i++) {
        const rlf_message *m = &value->chat.messages[i];
        digest = add_text(add_text(digest, m->role), m->content);
        digest = add_text(digest, m->json);
    }
    return digest;
}

/* A row by what stands in it: its prompt, or where there is none all columns.
 */
typedef struct lot {
    rlf_digest digest;
    rlf_digest
        whole; /* all columns: rows of one prompt, whatever their order */
    uint32_t row;
} lot;

static int
compare_digests(const rlf_digest *x, const rlf_digest *y)
{
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return (x->low > y->low) - (x->low < y->low);
}

static int
by_digest(const void *a, const void *b)
{
    const lot *x = a, *y = b;
    int order = compare_digests(&x->digest, &y->digest);
    if (!order)
        order = compare_digests(&x->whole, &y->whole);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static rlf_status
make_lot(const rlf_data *data, uint32_t row, rlf_arena *pool, rlf_err *err,
         lot *out)
{
    const rlf_record_value *values;
    *out = (lot){.row = row};
    RLF_TRY(rlf_data_row(data, row, pool, err, &values));
    for (size_t c = 0; c < data->records.n_columns; c++) {
        const rlf_record_column *column = &data->records.columns[c];
        if (column == data->prompt)
            out->digest = add_cell(out->digest, column, row, &values[c]);
        out->whole = add_cell(out->whole, column, row, &values[c]);
    }
    if (!data->prompt)
        out->digest = out->whole;
    return RLF_OK;
}

rlf_status
rlf_data_digest(const rlf_data *data, rlf_err *err, rlf_digest *out)
{
    rlf_arena *pool = rlf_arena_new();
    rlf_status status = RLF_OK;
    *out = (rlf_digest){0};
    for (uint32_t i = 0; i < data->records.count && status >= 0; i++) {
        lot x;
        status = make_lot(data, i, pool, err, &x);
        *out = rlf_digest_add(*out, &x.digest, sizeof x.digest);
        rlf_data_rest(pool);
    }
    rlf_arena_free(pool);
    return status;
}

/* Those of the n least, the last of them on top of a heap, and the rows beyond
 * whose digest is that of the last. */
typedef struct lots {
    lot *heap;
    uint32_t n, most;
    RLF_VEC(uint32_t) equal;
} lots;

static void
sink(lots *l, lot x)
{
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < l->n; i = child) {
        if (child + 1 < l->n &&
            by_digest(&l->heap[child], &l->heap[child + 1]) < 0)
            child++;
        if (by_digest(&x, &l->heap[child]) >= 0)
            break;
        l->heap[i] = l->heap[child];
    }
    l->heap[i] = x;
}

static void
rise(lots *l, lot x)
{
    uint32_t i = l->n++;
    for (; i && by_digest(&x, &l->heap[(i - 1) / 2]) > 0; i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = x;
}

static void
take_lot(lots *l, lot x)
{
    if (l->n < l->most) {
        rise(l, x);
        return;
    }
    lot last = l->heap[0], out = x;
    if (by_digest(&x, &last) < 0) {
        out = last;
        sink(l, x);
    }
    if (!rlf_digest_equal(l->heap[0].digest, last.digest))
        l->equal.count = 0;
    if (rlf_digest_equal(l->heap[0].digest, out.digest))
        RLF_PUSH(&l->equal, out.row);
}

static rlf_status
draw_lots(const rlf_data *data, rlf_arena *pool, rlf_err *err, lots *out)
{
    for (uint32_t i = 0; i < data->records.count; i++) {
        lot x;
        RLF_TRY(make_lot(data, i, pool, err, &x));
        take_lot(out, x);
        rlf_data_rest(pool);
    }
    return RLF_OK;
}

/* The rows side[i] == which, in their order. */
static uint32_t
list_side(const uint8_t *side, uint32_t rows, uint8_t which, uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (side[i] == which)
            out[n++] = i;
    return n;
}

enum { TRAINED, HELD, NEITHER };

/* Chooses the side of each row, side[rows]: n are held out, data->equal in
 * neither. */
static rlf_status
choose_sides(rlf_data *data, uint32_t n, bool part, rlf_err *err, uint8_t *side)
{
    lots l = {.most = n, .heap = rlf_try_malloc(sizeof *l.heap * n)};
    if (!l.heap)
        return rlf_fail_memory(err, sizeof *l.heap * n,
                               "the rows that are held out");
    rlf_arena *pool = rlf_arena_new();
    rlf_status status = draw_lots(data, pool, err, &l);
    rlf_arena_free(pool);
    for (uint32_t i = 0; i < l.n; i++)
        side[l.heap[i].row] = HELD;
    for (size_t i = 0; i < l.equal.count && !part; i++)
        side[l.equal.data[i]] = NEITHER;
    data->equal = part ? 0 : l.equal.count;
    RLF_VEC_FREE(&l.equal);
    free(l.heap);
    return status;
}

/* data->rest, of the rows held out, and the others. */
static rlf_status
part_rows(rlf_data *data, uint32_t n, bool part, uint8_t *side, uint32_t *keep,
          rlf_err *err)
{
    uint32_t rows = (uint32_t)data->records.count;
    rlf_data *rest = data->rest;
    RLF_TRY(choose_sides(data, n, part, err, side));
    uint32_t held = list_side(side, rows, HELD, keep);
    RLF_TRY(take_rows(rest->arena, &data->records, keep, held, err,
                      &rest->records));
    rest->prompt = rlf_records_column(&rest->records, "prompt");
    uint32_t left = list_side(side, rows, TRAINED, keep);
    if (left)
        return rlf_data_keep(data, keep, left, err);
    return rlf_fail(err, RLF_USER,
                    "'%s' has no row left whose prompt is not held out: %u of "
                    "its %u rows are",
                    data->name, n, rows);
}

rlf_status
rlf_data_hold_out(rlf_data *data, uint32_t n, bool part, rlf_err *err)
{
    uint32_t rows = (uint32_t)data->records.count;
    if (n >= rows) {
        rlf_fail(err, RLF_USER,
                 "'%s' has %u rows, and held_out: %u leaves none of them",
                 data->name, rows, n);
        rlf_err_hint(err, "hold out fewer");
        return RLF_USER;
    }
    rlf_data_free(data->rest);
    rlf_data *rest = rlf_calloc(1, sizeof *rest);
    rest->arena = rlf_arena_new();
    rest->name = rlf_arena_printf(rest->arena, "%s.held_out", data->name);
    rest->max_prompt = data->max_prompt;
    rest->chat = data->chat;
    rest->tools = data->tools;
    data->rest = rest;
    uint8_t *side = rlf_try_calloc(rows, 1);
    uint32_t *keep = rlf_try_malloc(sizeof *keep * rows);
    rlf_status status =
        side && keep ? part_rows(data, n, part, side, keep, err)
                     : rlf_fail_memory(err, (sizeof *keep + 1) * (size_t)rows,
                                       "the rows that are held out");
    free(side);
    free(keep);
    return status;
}

void
rlf_data_take_rest(rlf_data *data)
{
    const rlf_data *rest = data->members[0]->rest;
    data->records = rest->records;
    data->prompt = rest->prompt;
}

/* ---- where ---- */

/* The value of each operation of a condition at one row. */
typedef union value {
    double number;
    rlf_str text;
} value;

/* The inputs of a program. */
typedef struct lookup {
    const rlf_data *data;
    const rlf_record_column *const *column; /* per input */
    bool texts;                             /* some are */
    rlf_arena *pool;                        /* of one row */
} lookup;

static bool
is_pointwise(rlf_expr_code code)
{
    return rlf_expr_is_pointwise(code) || code == RLF_EXPR_INPUT ||
           code == RLF_EXPR_CONST || code == RLF_EXPR_DOWN ||
           code == RLF_EXPR_TEXT_EQ || code == RLF_EXPR_SELECT;
}

/* The value of operation `last`, a number, at this row: NaN also where a text
 * is chosen by one. `texts`: of its row, by column; `at`: room for all values;
 * `needed`: by operation, NULL: all are. */
static double
value_at(const rlf_expr *e, int last, const bool *needed, const lookup *l,
         const rlf_record_value *texts, uint32_t row, value *at)
{
    for (int i = 0; i <= last; i++) {
        const rlf_expr_op *op = &e->ops.data[i];
        const value *a = op->arg[0] >= 0 ? &at[op->arg[0]] : NULL;
        const value *b = op->arg[1] >= 0 ? &at[op->arg[1]] : NULL;
        const value *c = op->arg[2] >= 0 ? &at[op->arg[2]] : NULL;
        if (needed && !needed[i])
            continue;
        if (op->code == RLF_EXPR_INPUT && op->text)
            at[i].text =
                texts[l->column[op->index] - l->data->records.columns].text;
        else if (op->code == RLF_EXPR_INPUT)
            at[i].number = l->column[op->index]->numbers[row];
        else if (op->code == RLF_EXPR_CONST && op->text)
            at[i].text = op->words;
        else if (op->code == RLF_EXPR_CONST)
            at[i].number = op->constant;
        else if (op->code == RLF_EXPR_DOWN)
            at[i] = *a;
        else if (op->code == RLF_EXPR_TEXT_EQ)
            at[i].number = rlf_str_eq(a->text, b->text);
        else if (op->code == RLF_EXPR_SELECT && isnan(a->number) && op->text)
            return a->number;
        else if (op->code == RLF_EXPR_SELECT)
            at[i] = isnan(a->number) ? *a : a->number != 0 ? *b : *c;
        else
            at[i].number = rlf_expr_apply(op->code, a->number,
                                          b ? b->number : 0, c ? c->number : 0);
    }
    return at[last].number;
}

/* The texts of a row, where the program reads some. */
static rlf_status
look_up(const lookup *l, uint32_t row, rlf_err *err,
        const rlf_record_value **texts)
{
    if (!l->texts)
        return RLF_OK;
    rlf_data_rest(l->pool);
    return rlf_data_row(l->data, row, l->pool, err, texts);
}

/* Finds the operations that `op` needs; false: the data does not tell all of
 * them. */
static bool
find_needed(const rlf_expr *e, int op, lookup *l, bool *needed)
{
    needed[op] = true;
    for (int i = op; i >= 0; i--) {
        const rlf_expr_op *o = &e->ops.data[i];
        if (!needed[i])
            continue;
        const rlf_record_column *c =
            o->code == RLF_EXPR_INPUT ? l->column[o->index] : NULL;
        if (!is_pointwise(o->code) ||
            (o->code == RLF_EXPR_INPUT &&
             (!c || (o->text ? c->kind != RLF_RECORD_TEXT : !c->numbers))))
            return false;
        l->texts |= c && o->text;
        for (int k = 0; k < 3; k++)
            if (o->arg[k] >= 0)
                needed[o->arg[k]] = true;
    }
    return true;
}

rlf_status
rlf_data_values(const rlf_data *data, const rlf_expr *e, int op,
                const rlf_record_column *const *column, rlf_arena *arena,
                rlf_err *err, double *out, bool *known)
{
    bool *needed = RLF_NEW_ARRAY(arena, bool, e->ops.count);
    lookup l = {.data = data, .column = column};
    *known = find_needed(e, op, &l, needed);
    if (!*known)
        return RLF_OK;
    value *at = RLF_NEW_ARRAY(arena, value, e->ops.count);
    const rlf_record_value *texts = NULL;
    rlf_status status = RLF_OK;
    l.pool = rlf_arena_new();
    for (uint32_t i = 0; i < data->records.count && status >= 0; i++) {
        status = look_up(&l, i, err, &texts);
        if (status >= 0)
            out[i] = value_at(e, op, needed, &l, texts, i, at);
    }
    rlf_arena_free(l.pool);
    return status;
}

/* Place an error at the operation that made a NaN of numbers, from `last` back,
 * with its hint. */
static void
blame(const rlf_expr *e, int last, const value *at, rlf_err *err)
{
    const rlf_expr_op *op = &e->ops.data[last];
    for (int k = 0; k < rlf_expr_arity(op->code);) {
        const rlf_expr_op *arg = &e->ops.data[op->arg[k]];
        bool taken = op->code != RLF_EXPR_SELECT || k == 0 ||
                     (at[op->arg[0]].number != 0) == (k == 1);
        if (taken && !arg->text && isnan(at[op->arg[k]].number)) {
            last = op->arg[k];
            op = arg;
            k = 0;
        } else {
            k++;
        }
    }
    rlf_nonfinite_place odd = {.span = op->span,
                               .code = op->code,
                               .value = NAN,
                               .known = rlf_expr_is_pointwise(op->code)};
    for (int k = 0; odd.known && k < rlf_expr_arity(op->code); k++)
        odd.arg[k] = at[op->arg[k]].number;
    rlf_nonfinite_blame(&odd, NULL, err);
}

/* The columns that a condition looks at. */
static rlf_status
find_columns(const rlf_data *from, const rlf_expr *condition,
             const rlf_record_column **out, rlf_err *err)
{
    for (size_t i = 0; i < condition->inputs.count; i++) {
        const rlf_expr_input *in = &condition->inputs.data[i];
        out[i] = rlf_records_column(&from->records, in->name);
        if (out[i] && (in->text ? out[i]->kind == RLF_RECORD_TEXT
                                : out[i]->numbers != NULL))
            continue;
        if (!out[i] || out[i]->kind != RLF_RECORD_CHAT)
            return rlf_fail(err, RLF_BUG, "'%s' has no field '%s' of its kind",
                            from->name, in->name);
        return rlf_fail(err, RLF_USER,
                        "'%s' of '%s' is a list of chat messages, by which no "
                        "row can be chosen",
                        in->name, from->name);
    }
    return RLF_OK;
}

/* The rows for which the condition holds, into data->row; *n: how many. */
static rlf_status
choose_rows(rlf_data *data, const rlf_expr *condition, const lookup *l,
            uint32_t *n, rlf_err *err)
{
    const rlf_data *from = l->data;
    value *at = RLF_NEW_ARRAY(data->arena, value, condition->ops.count);
    int last = condition->outputs.data[0].op;
    const rlf_record_value *texts = NULL;
    for (uint32_t i = 0; i < from->records.count; i++) {
        RLF_TRY(look_up(l, i, err, &texts));
        double x = value_at(condition, last, NULL, l, texts, i, at);
        if (isnan(x)) {
            rlf_fail(err, RLF_USER, "the condition is not a number for %s",
                     rlf_data_place(from, i, data->arena));
            rlf_err_hint(err, "%s", RLF_EXPR_NAN_HINT);
            blame(condition, last, at, err);
            return RLF_USER;
        }
        if (x < 0 || x > 0)
            data->row[(*n)++] = i;
    }
    return RLF_OK;
}

rlf_status
rlf_data_choose(rlf_data *data, const rlf_expr *condition, rlf_err *err)
{
    const rlf_data *from = data->members[0];
    rlf_arena *arena = data->arena;
    uint32_t rows = (uint32_t)from->records.count, n = 0;
    const rlf_record_column **column = RLF_NEW_ARRAY(
        arena, const rlf_record_column *, condition->inputs.count);
    lookup l = {.data = from, .column = column};
    RLF_TRY(find_columns(from, condition, column, err));
    for (size_t i = 0; i < condition->inputs.count; i++)
        l.texts |= condition->inputs.data[i].text;
    RLF_TRY(rlf_arena_try(arena, sizeof *data->row * rows,
                          "the rows that are chosen", err, &data->row));
    l.pool = rlf_arena_new();
    rlf_status status = choose_rows(data, condition, &l, &n, err);
    rlf_arena_free(l.pool);
    RLF_TRY(status);
    if (!n) {
        rlf_fail(err, RLF_USER,
                 "no row of '%s' is left: the condition holds for none of %u",
                 from->name, rows);
        rlf_err_hint(err, "choose by less, or look at what the fields hold");
        return RLF_USER;
    }
    RLF_TRY(
        take_rows(arena, &from->records, data->row, n, err, &data->records));
    data->prompt = rlf_records_column(&data->records, "prompt");
    return RLF_OK;
}

/* ---- mix ---- */

/* Does every member have a column like `c`? RLF_USER if one of another kind. */
static rlf_status
is_shared(const rlf_data *data, const rlf_record_column *c, rlf_err *err,
          bool *out)
{
    *out = true;
    for (size_t m = 1; m < data->n_members; m++) {
        const rlf_record_column *other =
            rlf_records_column(&data->members[m]->records, c->label);
        if (other && other->kind != c->kind) {
            rlf_fail(err, RLF_USER, "'%s' is %s in '%s' and %s in '%s'",
                     c->label, rlf_record_kind_word(c->kind),
                     data->members[0]->name, rlf_record_kind_word(other->kind),
                     data->members[m]->name);
            rlf_err_hint(err, "give it another label in one of them, or make "
                              "it the same kind in both");
            return RLF_USER;
        }
        *out = *out && other;
    }
    return RLF_OK;
}

/* All members have prompts, or none has. */
static rlf_status
check_prompts(const rlf_data *data, rlf_err *err)
{
    for (size_t m = 1; m < data->n_members; m++) {
        const rlf_data *a = data->members[0], *b = data->members[m];
        if (!a->prompt == !b->prompt)
            continue;
        rlf_fail(err, RLF_USER, "'%s' has prompts and '%s' has none",
                 a->prompt ? a->name : b->name, a->prompt ? b->name : a->name);
        rlf_err_hint(err, "say prompt: in both, or in neither");
        return RLF_USER;
    }
    return RLF_OK;
}

/* The members' columns like `c`: their numbers, one after the other. */
static rlf_status
join_column(const rlf_data *data, const rlf_record_column *c, rlf_err *err,
            rlf_record_column *to)
{
    size_t n = data->records.count;
    double *numbers;
    *to = (rlf_record_column){.label = c->label,
                              .field = c->field,
                              .kind = c->kind,
                              .answered = SIZE_MAX};
    if (!c->numbers)
        return RLF_OK;
    RLF_TRY(rlf_arena_try(data->arena, sizeof *numbers * n,
                          "the rows of a mixture", err, &numbers));
    to->numbers = numbers;
    for (size_t m = 0; m < data->n_members; m++) {
        const rlf_records *from = &data->members[m]->records;
        const rlf_record_column *a = rlf_records_column(from, c->label);
        memcpy(numbers + data->first[m], a->numbers,
               sizeof *numbers * from->count);
    }
    return RLF_OK;
}

rlf_status
rlf_data_join(rlf_data *data, rlf_err *err)
{
    rlf_records *to = &data->records;
    const rlf_records *model = &data->members[0]->records;
    uint64_t rows = 0;
    RLF_TRY(check_prompts(data, err));
    data->first = RLF_NEW_ARRAY(data->arena, uint32_t, data->n_members + 1);
    to->path = data->name;
    to->digest = (rlf_digest){0};
    for (size_t m = 0; m < data->n_members; m++) {
        const rlf_records *from = &data->members[m]->records;
        rows += from->count;
        if (rows >= UINT32_MAX)
            return rlf_fail(err, RLF_USER, "'%s' has more than 4 billion rows",
                            data->name);
        data->first[m + 1] = (uint32_t)rows;
        to->digest =
            rlf_digest_add(to->digest, &from->digest, sizeof from->digest);
    }
    to->count = rows;
    to->columns =
        RLF_NEW_ARRAY(data->arena, rlf_record_column, model->n_columns);
    for (size_t c = 0; c < model->n_columns; c++) {
        bool shared;
        RLF_TRY(is_shared(data, &model->columns[c], err, &shared));
        if (shared)
            RLF_TRY(join_column(data, &model->columns[c], err,
                                &to->columns[to->n_columns++]));
    }
    data->prompt = rlf_records_column(to, "prompt");
    return RLF_OK;
}
