/* Placement as data: finding rows and printing them. See place.h. */
#include "engine/graph/place.h"

#include "engine/base/json.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"

#include <string.h>

const char *
rlf_strategy_word(rlf_strategy strategy)
{
    static const char *const word[RLF_STRATEGIES] = {
        [RLF_STRATEGY_NONE] = "",
        [RLF_STRATEGY_FLATTEN] = "flatten",
        [RLF_STRATEGY_INTERLEAVE] = "interleave",
        [RLF_STRATEGY_SEPARATE] = "separate",
        [RLF_STRATEGY_AUTO] = "auto",
    };
    return word[strategy];
}

const char *
rlf_carry_word(rlf_carry carry)
{
    static const char *const word[RLF_CARRIES] = {
        [RLF_CARRY_PAGES] = "pages", [RLF_CARRY_TOKENS] = "tokens"};
    return word[carry];
}

const char *
rlf_place_schedule(size_t i)
{
    static const char *const word[] = {
#define SCHEDULE(word, make) word,
#include "engine/graph/schedule.def"
#undef SCHEDULE
    };
    return i < RLF_COUNT(word) ? word[i] : NULL;
}

bool
rlf_place_is_table(const char *text)
{
    return strncmp(text, "places ", strlen("places ")) == 0 &&
           strchr(text, ';') != NULL;
}

rlf_place_row
rlf_place_row_new(int model, const rlf_node_class *call)
{
    static const int rank = 0;
    return (rlf_place_row){.model = model,
                           .call = call,
                           .ranks = &rank,
                           .n_ranks = 1,
                           .tp = 1,
                           .pp = 1,
                           .dp = 1,
                           .zero = -1,
                           .tokens = -1,
                           .migrate = -1,
                           .seats = -1,
                           .chunks = -1,
                           .recompute = -1,
                           .offload = -1,
                           .shards = -1,
                           .lanes = -1};
}

bool
rlf_place_can(const rlf_node *node)
{
    rlf_work_kind work = node->class->work;
    return node->receiver >= 0 && node->class->program != RLF_PROGRAM_VOCAB &&
           (work == RLF_WORK_GENERATE || work == RLF_WORK_READ ||
            work == RLF_WORK_TRAIN);
}

bool
rlf_place_calls(const rlf_node *node, int model)
{
    return node->receiver == model && rlf_place_can(node) &&
           node->class->level != RLF_LEVEL_VOCAB;
}

bool
rlf_place_reads_words(const rlf_node *node, int model)
{
    int n = node->words ? 1 : node->loss ? node->loss->n_words : 0;
    for (int k = 0; k < n; k++) {
        const rlf_vocab_program *w =
            node->words ? node->words : &node->loss->words[k];
        for (size_t i = 0; i < w->program->inputs.count; i++)
            if (w->model[i] == model && w->input[i] >= 0)
                return true;
    }
    return false;
}

bool
rlf_place_borrows(const rlf_node *node, int model)
{
    bool term = false;
    bool sums = node->class->work == RLF_WORK_WEIGHTS;
    for (int k = 0; sums && k < node->n_reads; k++)
        term |= node->reads[k] == model;
    return node->receiver != model &&
           (term || rlf_place_reads_words(node, model));
}

static const rlf_place_row *
find(const rlf_place_row *rows, int n, int model, const rlf_node_class *call)
{
    const rlf_place_row *whole = NULL;
    for (int i = 0; i < n; i++) {
        const rlf_place_row *row = &rows[i];
        if (row->model != model)
            continue;
        if (row->call && row->call == call)
            return row;
        if (!row->call)
            whole = row;
    }
    return whole;
}

const rlf_place_row *
rlf_placement_find(const rlf_placement *placement, int model,
                   const rlf_node_class *call)
{
    return placement ? find(placement->rows, placement->n_rows, model, call)
                     : NULL;
}

const rlf_place_row *
rlf_placement_pin(const rlf_placement *placement, int model,
                  const rlf_node_class *call)
{
    return placement ? find(placement->pins, placement->n_pins, model, call)
                     : NULL;
}

/* ---- printing ---- */

/* "0..3, 6": neighbours as ranges. */
static void
put_ranks(const rlf_place_row *row, rlf_buf *out)
{
    for (int i = 0; i < row->n_ranks;) {
        int last = i;
        while (last + 1 < row->n_ranks &&
               row->ranks[last + 1] == row->ranks[last] + 1)
            last++;
        rlf_buf_printf(out, "%s%d", i ? ", " : "", row->ranks[i]);
        if (last > i)
            rlf_buf_printf(out, "..%d", row->ranks[last]);
        i = last + 1;
    }
}

/* The arguments that are said, in the order in which they are documented. */
typedef struct said {
    const char *name;
    int number;       /* -1: not said */
    const char *text; /* instead of the number */
    bool flag;
} said;

enum { SAID = 14 };

static void
list_said(const rlf_place_row *row, said list[SAID])
{
    const char *schedule = row->table ? row->table : row->schedule;
    const said all[SAID] = {
        {"tp", row->tp, NULL, false},
        {"pp", row->pp, NULL, false},
        {"dp", row->dp, NULL, false},
        {"zero", row->zero, NULL, false},
        {"tokens", row->tokens, NULL, false},
        {"migrate", row->migrate, NULL, false},
        {"seats", row->seats, NULL, false},
        {"carry", -1, rlf_carry_word(row->carry), false},
        {"schedule", -1, schedule, false},
        {"chunks", row->chunks, NULL, false},
        {"recompute", row->recompute, NULL, true},
        {"offload", row->offload, NULL, true},
        {"shards", row->shards, NULL, false},
        {"lanes", row->lanes, NULL, false},
    };
    memcpy(list, all, sizeof all);
}

void
rlf_place_row_print(const rlf_graph *graph, const rlf_place_row *row,
                    rlf_buf *out)
{
    rlf_buf_printf(out, "%s%s%s%s", graph->resources.data[row->model].name,
                   row->call ? "." : "", row->call ? row->call->name : "",
                   row->n_ranks ? " on " : "");
    put_ranks(row, out);
    said list[SAID];
    list_said(row, list);
    const char *sign = " (";
    for (int i = 0; i < SAID; i++) {
        const said *a = &list[i];
        if (a->number < 0 && !a->text)
            continue;
        rlf_buf_printf(out, "%s%s: ", sign, a->name);
        if (a->text)
            rlf_buf_json(out, a->text, strlen(a->text));
        else if (a->flag)
            rlf_buf_puts(out, a->number ? "true" : "false");
        else
            rlf_buf_printf(out, "%d", a->number);
        sign = ", ";
    }
    rlf_buf_puts(out, *sign == ',' ? ")" : "");
}

/* The rows that are, or those that are to be kept: *n. */
static const rlf_place_row *
rows_of(const rlf_placement *p, int *n)
{
    *n = p->n_rows ? p->n_rows : p->n_pins;
    return p->n_rows ? p->rows : p->pins;
}

void
rlf_placement_print(const rlf_graph *graph, rlf_buf *out)
{
    const rlf_placement *p = graph->placement;
    if (!p)
        return;
    int n;
    const rlf_place_row *rows = rows_of(p, &n);
    if (p->strategy != RLF_STRATEGY_NONE)
        rlf_buf_printf(out, "place %s\n", rlf_strategy_word(p->strategy));
    if (!n)
        return;
    rlf_buf_puts(out, "place {\n");
    for (int i = 0; i < n; i++) {
        rlf_buf_puts(out, "    ");
        rlf_place_row_print(graph, &rows[i], out);
        rlf_buf_putc(out, '\n');
    }
    rlf_buf_puts(out, "}\n");
}

static void
json_row(const rlf_graph *graph, const rlf_place_row *row, rlf_buf *out)
{
    rlf_buf_putc(out, '{');
    rlf_json_text(out, "model", graph->resources.data[row->model].name);
    rlf_buf_putc(out, ',');
    rlf_json_text(out, "call", row->call ? row->call->name : NULL);
    rlf_buf_puts(out, ",\"ranks\":[");
    for (int i = 0; i < row->n_ranks; i++)
        rlf_buf_printf(out, "%s%d", i ? "," : "", row->ranks[i]);
    rlf_buf_putc(out, ']');
    said list[SAID];
    list_said(row, list);
    for (int i = 0; i < SAID; i++) {
        const said *a = &list[i];
        rlf_buf_putc(out, ',');
        if (a->text || a->number < 0)
            rlf_json_text(out, a->name, a->text);
        else if (a->flag)
            rlf_buf_printf(out, "\"%s\":%s", a->name,
                           a->number ? "true" : "false");
        else
            rlf_buf_printf(out, "\"%s\":%d", a->name, a->number);
    }
    rlf_buf_putc(out, '}');
}

void
rlf_placement_json(const rlf_graph *graph, rlf_buf *out)
{
    const rlf_placement *p = graph->placement;
    if (!p) {
        rlf_buf_puts(out, "null");
        return;
    }
    rlf_buf_putc(out, '{');
    rlf_json_text(out, "strategy",
                  p->strategy ? rlf_strategy_word(p->strategy) : NULL);
    int n;
    const rlf_place_row *rows = rows_of(p, &n);
    rlf_buf_puts(out, ",\"rows\":[");
    for (int i = 0; i < n; i++) {
        rlf_buf_puts(out, i ? ",\n  " : "\n  ");
        json_row(graph, &rows[i], out);
    }
    rlf_buf_puts(out, "]}");
}
