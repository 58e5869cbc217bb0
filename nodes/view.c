/* Data made of data: the rows for which a condition holds, and mixtures.
 *
 * Columns are gathered, texts are not copied: they stay those of the member,
 * which lives as long. Not here: in which order rows are drawn (draws.c). */
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

void
rlf_data_prompt(const rlf_data *data, uint32_t row, rlf_prompt *out)
{
    if (!data->prompt)
        out->text = RLF_STR("");
    else if (data->prompt->kind == RLF_RECORD_CHAT) {
        out->messages = data->prompt->chats[row].messages;
        out->n_messages = (uint32_t)data->prompt->chats[row].count;
    } else
        out->text = data->prompt->texts[row];
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

/* The rows keep[] of `from` as the columns of `to`. */
static rlf_status
take_rows(rlf_arena *arena, const rlf_records *from, const uint32_t *keep,
          uint32_t n, rlf_err *err, rlf_records *to)
{
    *to = *from;
    to->count = n;
    RLF_TRY(gather(arena, from->lines, sizeof *from->lines, keep, n, err,
                   &to->lines));
    RLF_TRY(gather(arena, from->file_of, sizeof *from->file_of, keep, n, err,
                   &to->file_of));
    to->columns = RLF_NEW_ARRAY(arena, rlf_record_column, from->n_columns);
    for (size_t c = 0; c < from->n_columns; c++) {
        const rlf_record_column *a = &from->columns[c];
        rlf_record_column *b = &to->columns[c];
        *b = *a;
        RLF_TRY(gather(arena, a->numbers, sizeof *a->numbers, keep, n, err,
                       &b->numbers));
        RLF_TRY(
            gather(arena, a->texts, sizeof *a->texts, keep, n, err, &b->texts));
        RLF_TRY(
            gather(arena, a->chats, sizeof *a->chats, keep, n, err, &b->chats));
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
add_cell(rlf_digest digest, const rlf_record_column *c, uint32_t row)
{
    if (c->numbers)
        return rlf_digest_add(digest, &c->numbers[row], sizeof *c->numbers);
    if (c->texts)
        return add_text(digest, c->texts[row]);
    for (size_t i = 0; i < c->chats[row].count; i++) {
        const rlf_message *m = &c->chats[row].messages[i];
        digest = add_text(add_text(digest, m->role), m->content);
        digest = add_text(digest, m->json);
    }
    return digest;
}

/* A row by what stands in it. */
typedef struct lot {
    rlf_digest digest;
    uint32_t row;
} lot;

static int
by_digest(const void *a, const void *b)
{
    const lot *x = a, *y = b;
    if (x->digest.high != y->digest.high)
        return x->digest.high < y->digest.high ? -1 : 1;
    if (x->digest.low != y->digest.low)
        return x->digest.low < y->digest.low ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static rlf_status
draw_lots(const rlf_data *data, rlf_err *err, lot **out)
{
    uint32_t rows = (uint32_t)data->records.count;
    lot *lots = *out = rlf_try_malloc(sizeof *lots * ((size_t)rows + 1));
    if (!lots)
        return rlf_fail_memory(err, sizeof *lots * rows,
                               "the rows that are held out");
    for (uint32_t i = 0; i < rows; i++) {
        lots[i] = (lot){.row = i};
        for (size_t c = 0; c < data->records.n_columns; c++) {
            const rlf_record_column *column = &data->records.columns[c];
            if (!data->prompt || column == data->prompt)
                lots[i].digest = add_cell(lots[i].digest, column, i);
        }
    }
    qsort(lots, rows, sizeof *lots, by_digest);
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

/* Where each row goes; *equal: how many nowhere. */
static uint8_t *
choose_sides(const lot *lots, uint32_t rows, uint32_t n, bool part,
             uint64_t *equal)
{
    enum { TRAINED, HELD, NEITHER };
    uint8_t *side = rlf_calloc(rows, 1);
    for (uint32_t i = 0; i < rows; i++) {
        bool same = i >= n && !part &&
                    rlf_digest_equal(lots[i].digest, lots[n - 1].digest);
        side[lots[i].row] = i < n ? HELD : same ? NEITHER : TRAINED;
        *equal += same;
    }
    return side;
}

rlf_status
rlf_data_hold_out(rlf_data *data, uint32_t n, bool part, rlf_err *err)
{
    uint32_t rows = (uint32_t)data->records.count;
    lot *lots;
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
    data->rest = rest;
    RLF_TRY(draw_lots(data, err, &lots));
    uint8_t *side = choose_sides(lots, rows, n, part, &data->equal);
    free(lots);
    uint32_t *keep = RLF_NEW_ARRAY(data->arena, uint32_t, rows);
    uint32_t held = list_side(side, rows, 1, keep);
    rlf_status status =
        take_rows(rest->arena, &data->records, keep, held, err, &rest->records);
    rest->prompt = rlf_records_column(&rest->records, "prompt");
    uint32_t left = list_side(side, rows, 0, keep);
    free(side);
    RLF_TRY(status);
    if (left)
        return rlf_data_keep(data, keep, left, err);
    return rlf_fail(err, RLF_USER,
                    "'%s' has no row left whose prompt is not held out: %u of "
                    "its %u rows are",
                    data->name, n, rows);
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

static bool
is_pointwise(rlf_expr_code code)
{
    return rlf_expr_is_pointwise(code) || code == RLF_EXPR_INPUT ||
           code == RLF_EXPR_CONST || code == RLF_EXPR_DOWN ||
           code == RLF_EXPR_TEXT_EQ || code == RLF_EXPR_SELECT;
}

/* The value of operation `last`, a number, at this row: NaN also where a text
 * is chosen by one. `column`: per input; `at`: room for all values; `needed`:
 * by operation, NULL: all are. */
static double
value_at(const rlf_expr *e, int last, const bool *needed,
         const rlf_record_column *const *column, uint32_t row, value *at)
{
    for (int i = 0; i <= last; i++) {
        const rlf_expr_op *op = &e->ops.data[i];
        const value *a = op->arg[0] >= 0 ? &at[op->arg[0]] : NULL;
        const value *b = op->arg[1] >= 0 ? &at[op->arg[1]] : NULL;
        const value *c = op->arg[2] >= 0 ? &at[op->arg[2]] : NULL;
        if (needed && !needed[i])
            continue;
        if (op->code == RLF_EXPR_INPUT && op->text)
            at[i].text = column[op->index]->texts[row];
        else if (op->code == RLF_EXPR_INPUT)
            at[i].number = column[op->index]->numbers[row];
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

bool
rlf_data_values(const rlf_data *data, const rlf_expr *e, int op,
                const rlf_record_column *const *column, rlf_arena *arena,
                double *out)
{
    bool *needed = RLF_NEW_ARRAY(arena, bool, e->ops.count);
    needed[op] = true;
    for (int i = op; i >= 0; i--) {
        const rlf_expr_op *o = &e->ops.data[i];
        if (!needed[i])
            continue;
        const rlf_record_column *c =
            o->code == RLF_EXPR_INPUT ? column[o->index] : NULL;
        if (!is_pointwise(o->code) ||
            (o->code == RLF_EXPR_INPUT &&
             (!c || (o->text ? !c->texts : !c->numbers))))
            return false;
        for (int k = 0; k < 3; k++)
            if (o->arg[k] >= 0)
                needed[o->arg[k]] = true;
    }
    value *at = RLF_NEW_ARRAY(arena, value, e->ops.count);
    for (uint32_t i = 0; i < data->records.count; i++)
        out[i] = value_at(e, op, needed, column, i, at);
    return true;
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
    rlf_odd_place odd = {.span = op->span,
                         .code = op->code,
                         .value = NAN,
                         .known = rlf_expr_is_pointwise(op->code)};
    for (int k = 0; odd.known && k < rlf_expr_arity(op->code); k++)
        odd.arg[k] = at[op->arg[k]].number;
    rlf_odd_blame(&odd, NULL, err);
}

/* The columns that a condition looks at. */
static rlf_status
find_columns(const rlf_data *from, const rlf_expr *condition,
             const rlf_record_column **out, rlf_err *err)
{
    for (size_t i = 0; i < condition->inputs.count; i++) {
        const rlf_expr_input *in = &condition->inputs.data[i];
        out[i] = rlf_records_column(&from->records, in->name);
        if (out[i] &&
            (in->text ? out[i]->texts != NULL : out[i]->numbers != NULL))
            continue;
        if (!out[i] || !out[i]->chats)
            return rlf_fail(err, RLF_BUG, "'%s' has no field '%s' of its kind",
                            from->name, in->name);
        return rlf_fail(err, RLF_USER,
                        "'%s' of '%s' is a list of chat messages, by which no "
                        "row can be chosen",
                        in->name, from->name);
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
    value *at = RLF_NEW_ARRAY(arena, value, condition->ops.count);
    int last = condition->outputs.data[0].op;
    RLF_TRY(find_columns(from, condition, column, err));
    RLF_TRY(rlf_arena_try(arena, sizeof *data->row * rows,
                          "the rows that are chosen", err, &data->row));
    for (uint32_t i = 0; i < rows; i++) {
        double x = value_at(condition, last, NULL, column, i, at);
        if (isnan(x)) {
            rlf_fail(err, RLF_USER, "the condition is not a number for %s",
                     rlf_data_place(from, i, arena));
            rlf_err_hint(err, "%s", RLF_EXPR_NAN_HINT);
            blame(condition, last, at, err);
            return RLF_USER;
        }
        if (x < 0 || x > 0)
            data->row[n++] = i;
    }
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

/* The members' columns like `c`, one after the other. */
static rlf_status
join_column(const rlf_data *data, const rlf_record_column *c, rlf_err *err,
            rlf_record_column *to)
{
    static const char what[] = "the rows of a mixture";
    size_t n = data->records.count;
    double *numbers = NULL;
    rlf_str *texts = NULL;
    rlf_chat *chats = NULL;
    *to = (rlf_record_column){
        .label = c->label, .field = c->field, .kind = c->kind};
    if (c->numbers)
        RLF_TRY(rlf_arena_try(data->arena, sizeof *numbers * n, what, err,
                              &numbers));
    if (c->texts)
        RLF_TRY(
            rlf_arena_try(data->arena, sizeof *texts * n, what, err, &texts));
    if (c->chats)
        RLF_TRY(
            rlf_arena_try(data->arena, sizeof *chats * n, what, err, &chats));
    to->numbers = numbers;
    to->texts = texts;
    to->chats = chats;
    for (size_t m = 0; m < data->n_members; m++) {
        const rlf_records *from = &data->members[m]->records;
        const rlf_record_column *a = rlf_records_column(from, c->label);
        uint32_t at = data->first[m];
        for (size_t i = 0; i < from->count; i++, at++) {
            if (numbers)
                numbers[at] = a->numbers[i];
            else if (texts)
                texts[at] = a->texts[i];
            else
                chats[at] = a->chats[i];
        }
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
