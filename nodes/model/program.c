/* Rows are appended; see program.h. */
#include "nodes/model/program.h"

#include <string.h>

#include "nodes/model/adapter.h"
#include "nodes/model/families/families.h"

#define IN(i) (1 << (i))
#define ROW(name_, doc_, reads_, reads_out_, over_) \
    [RLF_ROW_##name_] = {reads_, reads_out_, over_},
const rlf_row_info rlf_row_infos[] = {
#include "nodes/model/row.def"
};
#undef ROW
#undef IN

int64_t
rlf_width_size(const rlf_model_config *c, rlf_width width)
{
    switch (width) {
    case RLF_WIDTH_HIDDEN:
        return c->hidden;
    case RLF_WIDTH_HEAD:
        return c->head_dim;
    case RLF_WIDTH_Q:
        return (int64_t)c->heads * c->head_dim;
    case RLF_WIDTH_KV:
        return (int64_t)c->kv_heads * c->head_dim;
    case RLF_WIDTH_FFN:
        return c->ffn;
    case RLF_WIDTH_PLACES:
        return (int64_t)c->context * c->hidden;
    case RLF_WIDTH_RANK:
        return c->lora.rank;
    case RLF_WIDTH_VOCAB:
        break;
    }
    return c->vocab;
}

const char *
rlf_program_layers(const rlf_model_config *c)
{
    return c->family && c->family->layers ? c->family->layers : "model.layers";
}

const char *
rlf_head_name(const rlf_model_config *c)
{
    return c->family && c->family->head ? c->family->head : "lm_head.weight";
}

static rlf_var
new_value(rlf_program *r, rlf_width width)
{
    RLF_PUSH_IN(r->arena, &r->values,
                (rlf_var_info){.width = width, .layer = r->layer});
    return (rlf_var)r->values.count - 1;
}

/* Fields that are not given yet are the caller's. */
static rlf_model_row *
new_row(rlf_program *r, rlf_row_kind kind)
{
    RLF_PUSH_IN(r->arena, &r->rows,
                (rlf_model_row){.kind = kind, .layer = r->layer});
    return &r->rows.data[r->rows.count - 1];
}

static void
read_value(rlf_model_row *row, rlf_var x)
{
    row->in[row->n_in++] = x;
}

/* One more result, with the tensor that it is made with (or NULL). */
static rlf_var
give_value(rlf_program *r, rlf_model_row *row, rlf_width width,
           const char *name)
{
    row->name[row->n_out] = name;
    return row->out[row->n_out++] = new_value(r, width);
}

/* ---- the last layer ---- */

static int
last_attention(const rlf_program *r)
{
    int i = rlf_program_rows(r) - 1;
    while (i > 0 && r->rows.data[i].kind != RLF_ROW_ATTEND)
        i--;
    RLF_ASSERT(r->rows.data[i].layer == r->config->layers - 1);
    return i;
}

/* From model row `from` on, y stands for x. Returns whether any model row reads
 * it. */
static bool
replace_reads(rlf_program *r, int from, rlf_var x, rlf_var y)
{
    bool any = false;
    for (int i = from; i < rlf_program_rows(r); i++)
        for (int k = 0; k < r->rows.data[i].n_in; k++)
            if (r->rows.data[i].in[k] == x) {
                r->rows.data[i].in[k] = y;
                any = true;
            }
    return any;
}

/* Behind the last attention: of each value that later model rows read, in the
 * order in which values are given. */
static void
gather_rows(rlf_program *r)
{
    int at = last_attention(r) + 1, end = r->rows.data[at - 1].out[0] + 1;
    for (rlf_var x = end; x < (rlf_var)r->values.count; x++)
        r->values.data[x].rows = true;
    for (rlf_var x = 0; x < end; x++) {
        rlf_var y = (rlf_var)r->values.count;
        if (!replace_reads(r, at, x, y))
            continue;
        new_value(r, r->values.data[x].width);
        r->values.data[y].layer = r->config->layers - 1;
        r->values.data[y].rows = true;
        rlf_model_row gather = *new_row(r, RLF_ROW_GATHER);
        gather.layer = r->config->layers - 1;
        gather.n_in = gather.n_out = 1;
        gather.in[0] = x;
        gather.out[0] = y;
        memmove(&r->rows.data[at + 1], &r->rows.data[at],
                (size_t)(rlf_program_rows(r) - 1 - at) * sizeof gather);
        r->rows.data[at++] = gather;
        r->first[r->config->layers]++;
    }
}

/* Checks what program.h asks of a family. */
static void
check(const rlf_program *r)
{
    rlf_arena *arena = rlf_arena_new();
    bool *read = RLF_NEW_ARRAY(arena, bool, r->values.count);
    read[r->hidden] = true;
    RLF_ASSERT(r->rows.data[0].kind == RLF_ROW_EMBED);
    for (int i = 0; i < rlf_program_rows(r); i++) {
        const rlf_model_row *row = &r->rows.data[i];
        const rlf_model_row *before =
            row->layer < 0 ? row : &r->rows.data[r->first[row->layer] - 1];
        for (int k = 0; k < row->n_in; k++) {
            bool own = r->values.data[row->in[k]].layer == row->layer;
            RLF_ASSERT(own || row->in[k] == before->out[0]);
            read[row->in[k]] = true;
        }
    }
    for (size_t x = 0; x < r->values.count; x++)
        RLF_ASSERT(read[x]);
    rlf_arena_free(arena);
}

const rlf_program *
rlf_program_new(const rlf_model_config *config, rlf_arena *arena)
{
    rlf_program *r = RLF_NEW(arena, rlf_program);
    *r = (rlf_program){.config = config, .arena = arena, .layer = -1};
    r->first = RLF_NEW_ARRAY(arena, int, config->layers + 1);
    if (config->family)
        config->family->rows(r);
    else
        rlf_llama_rows(r);
    if (config->lora.rank)
        rlf_adapters_add(r);
    gather_rows(r);
    check(r);
    return r;
}

const rlf_program *
rlf_program_undropped(const rlf_program *program, rlf_arena *arena)
{
    if (!program->drops)
        return program;
    int n = rlf_program_rows(program), n_values = (int)program->values.count;
    rlf_program *r = RLF_NEW(arena, rlf_program);
    rlf_var *now = RLF_NEW_ARRAY(arena, rlf_var, n_values);
    *r = *program;
    r->rows.data = RLF_NEW_ARRAY(arena, rlf_model_row, n);
    for (rlf_var x = 0; x < n_values; x++)
        now[x] = x;
    for (int i = 0; i < n; i++) {
        rlf_model_row *row = &r->rows.data[i];
        *row = program->rows.data[i];
        for (int k = 0; k < row->n_in; k++)
            row->in[k] = now[row->in[k]];
        if (row->kind != RLF_ROW_DROP)
            continue;
        now[row->out[0]] = row->in[0];
        row->n_in = row->n_out = 0;
    }
    return r;
}

static void
begin_layer(rlf_program *r, int layer)
{
    r->layer = layer;
    r->first[layer] = rlf_program_rows(r);
}

rlf_var
rlf_layers(rlf_program *r, rlf_var x,
           rlf_var (*layer)(rlf_program *r, rlf_var x))
{
    for (int i = 0; i < r->config->layers; i++) {
        begin_layer(r, i);
        x = layer(r, x);
    }
    begin_layer(r, r->config->layers);
    return x;
}

rlf_var
rlf_embed(rlf_program *r, const char *name)
{
    rlf_model_row *row = new_row(r, RLF_ROW_EMBED);
    return give_value(r, row, RLF_WIDTH_HIDDEN, name);
}

rlf_var
rlf_embed_places(rlf_program *r, const char *name)
{
    rlf_model_row *row = new_row(r, RLF_ROW_EMBED);
    row->places = true;
    return give_value(r, row, RLF_WIDTH_HIDDEN, name);
}

rlf_var
rlf_norm(rlf_program *r, rlf_var x, const char *name)
{
    rlf_model_row *row = new_row(r, RLF_ROW_NORM);
    read_value(row, x);
    return give_value(r, row, r->values.data[x].width, name);
}

rlf_var
rlf_layer_norm(rlf_program *r, rlf_var x, const char *name, bool bias)
{
    rlf_model_row *row = new_row(r, RLF_ROW_NORM);
    read_value(row, x);
    row->centred = true;
    row->bias = bias;
    return give_value(r, row, r->values.data[x].width, name);
}

rlf_var
rlf_head_layer_norm(rlf_program *r, rlf_var x, const char *name)
{
    rlf_var y = rlf_layer_norm(r, x, name, false);
    r->rows.data[r->rows.count - 1].by_head = true;
    return y;
}

rlf_heads
rlf_linear_heads(rlf_program *r, rlf_var x, const char *q, const char *k,
                 const char *v, bool bias)
{
    rlf_model_row *row = new_row(r, RLF_ROW_LINEAR);
    rlf_heads h;
    read_value(row, x);
    row->bias = bias;
    h.q = give_value(r, row, RLF_WIDTH_Q, q);
    h.k = give_value(r, row, RLF_WIDTH_KV, k);
    h.v = give_value(r, row, RLF_WIDTH_KV, v);
    return h;
}

/* New queries and keys, made of the old ones. */
static rlf_heads
renew_heads(rlf_program *r, rlf_row_kind kind, rlf_heads h, const char *q,
            const char *k)
{
    rlf_model_row *row = new_row(r, kind);
    read_value(row, h.q);
    read_value(row, h.k);
    h.q = give_value(r, row, RLF_WIDTH_Q, q);
    h.k = give_value(r, row, RLF_WIDTH_KV, k);
    return h;
}

rlf_heads
rlf_head_norms(rlf_program *r, rlf_heads h, const char *q, const char *k)
{
    return renew_heads(r, RLF_ROW_HEAD_NORM, h, q, k);
}

rlf_heads
rlf_rotate(rlf_program *r, rlf_heads h)
{
    return renew_heads(r, RLF_ROW_ROTATE, h, NULL, NULL);
}

rlf_heads
rlf_rotate_local(rlf_program *r, rlf_heads h)
{
    h = rlf_rotate(r, h);
    r->rows.data[r->rows.count - 1].local = true;
    return h;
}

rlf_var
rlf_attend(rlf_program *r, rlf_heads h, int window, double scale, double cap)
{
    rlf_model_row *row = new_row(r, RLF_ROW_ATTEND);
    read_value(row, h.q);
    read_value(row, h.k);
    read_value(row, h.v);
    row->window = window;
    row->scale = scale;
    row->cap = cap;
    return give_value(r, row, RLF_WIDTH_Q, NULL);
}

rlf_var
rlf_linear_to(rlf_program *r, rlf_var x, rlf_width width, const char *name,
              bool bias)
{
    rlf_model_row *row = new_row(r, RLF_ROW_LINEAR);
    read_value(row, x);
    row->bias = bias;
    return give_value(r, row, width, name);
}

rlf_var
rlf_linear(rlf_program *r, rlf_var x, const char *name, bool bias)
{
    return rlf_linear_to(r, x, RLF_WIDTH_HIDDEN, name, bias);
}

/* A model row of one value or two (b < 0: one), whose result is as wide as the
 * first.
 */
static rlf_model_row *
append(rlf_program *r, rlf_row_kind kind, rlf_var a, rlf_var b)
{
    rlf_model_row *row = new_row(r, kind);
    read_value(row, a);
    if (b >= 0)
        read_value(row, b);
    give_value(r, row, r->values.data[a].width, NULL);
    return row;
}

rlf_var
rlf_add(rlf_program *r, rlf_var a, rlf_var b, double scale)
{
    rlf_model_row *row = append(r, RLF_ROW_ADD, a, b);
    row->scale = scale;
    return row->out[0];
}

rlf_var
rlf_scale(rlf_program *r, rlf_var a, double scale)
{
    return rlf_add(r, a, -1, scale);
}

rlf_var
rlf_drop(rlf_program *r, rlf_var x, double rate, int module)
{
    rlf_model_row *row = append(r, RLF_ROW_DROP, x, -1);
    row->rate = rate;
    row->module = module;
    r->drops = true;
    return row->out[0];
}

rlf_var
rlf_clip(rlf_program *r, rlf_var x, double bound)
{
    rlf_model_row *row = append(r, RLF_ROW_CLIP, x, -1);
    row->rate = bound;
    return row->out[0];
}

rlf_var
rlf_scale_rounded(rlf_program *r, rlf_var a, double scale)
{
    rlf_var y = rlf_scale(r, a, scale);
    r->rows.data[r->rows.count - 1].rounded = true;
    return y;
}

rlf_var
rlf_linear_onto(rlf_program *r, rlf_var to, rlf_var x, const char *name,
                bool bias)
{
    rlf_model_row *row = new_row(r, RLF_ROW_ONTO);
    read_value(row, x);
    read_value(row, to);
    row->bias = bias;
    return give_value(r, row, r->values.data[to].width, name);
}

rlf_gates
rlf_linear_gates(rlf_program *r, rlf_var x, const char *gate, const char *up,
                 bool bias)
{
    rlf_model_row *row = new_row(r, RLF_ROW_LINEAR);
    rlf_gates g;
    read_value(row, x);
    row->bias = bias;
    g.gate = give_value(r, row, RLF_WIDTH_FFN, gate);
    g.up = give_value(r, row, RLF_WIDTH_FFN, up);
    return g;
}

rlf_var
rlf_glu(rlf_program *r, rlf_gates g, rlf_act act)
{
    rlf_model_row *row = append(r, RLF_ROW_GLU, g.gate, g.up);
    row->act = act;
    return row->out[0];
}

rlf_var
rlf_activate(rlf_program *r, rlf_var x, rlf_act act)
{
    return rlf_glu(r, (rlf_gates){x, -1}, act);
}
