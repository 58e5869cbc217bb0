/* The rows of a family are appended once more, each product with its adapters
 * behind it. */
#include "nodes/model/adapter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/str.h"

double
rlf_lora_scale(const rlf_lora *lora)
{
    return lora->alpha /
           (lora->stable ? sqrt((double)lora->rank) : (double)lora->rank);
}

/* Is a module of a layer meant by all of its name in files, or by an end of it
 * behind a dot? */
static bool
is_named(const rlf_model_config *c, int layer, const char *module,
         const char *target)
{
    char number[16];
    snprintf(number, sizeof number, "%d", layer);
    const char *parts[] = {rlf_program_layers(c), ".", number, ".", module};
    size_t k = strlen(target), n;
    for (size_t i = RLF_COUNT(parts); i-- > 0 && k > 0; k -= n) {
        n = strlen(parts[i]);
        const char *part = parts[i];
        if (k < n) { /* the target begins in this part */
            if (part[n - k - 1] != '.')
                return false;
            part += n - k;
            n = k;
        }
        if (memcmp(target + k - n, part, n) != 0)
            return false;
    }
    return !k && *target != '.';
}

/* Has a module of a layer, "self_attn.q_proj", an adapter? */
static bool
is_targeted(const rlf_model_config *c, int layer, const char *module)
{
    for (int i = 0; i < c->lora.n_targets; i++)
        if (is_named(c, layer, module, c->lora.targets[i]))
            return true;
    return c->lora.n_targets == 0;
}

/* ---- rows ---- */

/* The rows of a program while they are appended again. */
typedef struct rewriting {
    rlf_program *r;
    rlf_var *now; /* of each old value the new one */
    const rlf_var_info *values;
    int module; /* at hand, of all that products have, with adapters or not */
} rewriting;

static rlf_model_row *
last_row(rlf_program *r)
{
    return &r->rows.data[r->rows.count - 1];
}

/* A row as it was, of values that are new. */
static void
append_again(rewriting *w, const rlf_model_row *old)
{
    rlf_program *r = w->r;
    rlf_model_row row = *old;
    for (int i = 0; i < row.n_in; i++)
        row.in[i] = w->now[old->in[i]];
    for (int i = 0; i < row.n_out; i++) {
        RLF_PUSH_IN(r->arena, &r->values, w->values[old->out[i]]);
        row.out[i] = w->now[old->out[i]] = (rlf_var)r->values.count - 1;
    }
    RLF_PUSH_IN(r->arena, &r->rows, row);
}

/* The slot that result `i` of a product has: as table.c names those of one
 * tensor. */
static const char *
slot_of(const rlf_program *r, int i, int first, int n, const char *name)
{
    return n > 1 ? rlf_arena_printf(r->arena, "%s.weight[%d]", name, i - first)
                 : rlf_arena_printf(r->arena, "%s.weight", name);
}

/* Of results first..first+n-1 of a product, which are one module's: the rows
 * behind it, and the values that later rows read in their place. */
static void
add_module(rewriting *w, const rlf_model_row *old, int first, int n)
{
    rlf_program *r = w->r;
    const char *name = old->name[first];
    const char *a = rlf_arena_printf(r->arena, "%s.lora_A", name);
    const char *b = rlf_arena_printf(r->arena, "%s.lora_B", name);
    double scale = rlf_lora_scale(&r->config->lora);
    rlf_var x = w->now[old->in[0]];
    if (r->config->lora.dropout > 0)
        x = rlf_drop(r, x, r->config->lora.dropout, w->module);
    rlf_var low = rlf_linear_to(r, x, RLF_WIDTH_RANK, a, false);
    last_row(r)->adapter = RLF_ADAPTER_A;
    for (int i = first; i < first + n; i++) {
        rlf_var y = old->out[i];
        rlf_var up = rlf_linear_to(r, low, w->values[y].width, b, false);
        last_row(r)->adapter = RLF_ADAPTER_B;
        last_row(r)->beside = slot_of(r, i, first, n, name);
        w->now[y] = rlf_add(r, w->now[y], up, scale);
    }
}

/* Returns how many results from `first` on are of one module. */
static int
module_size(const rlf_model_row *row, int first)
{
    int n = 1;
    while (first + n < row->n_out &&
           !strcmp(row->name[first + n], row->name[first]))
        n++;
    return n;
}

void
rlf_adapters_add(rlf_program *r)
{
    int layers = r->config->layers, n = rlf_program_rows(r);
    const rlf_model_row *rows = r->rows.data;
    rewriting w = {.r = r,
                   .now = RLF_NEW_ARRAY(r->arena, rlf_var, r->values.count),
                   .values = r->values.data};
    int *first = RLF_NEW_ARRAY(r->arena, int, layers + 1);
    memset(&r->rows, 0, sizeof r->rows);
    memset(&r->values, 0, sizeof r->values);
    for (int i = 0; i < n; i++) {
        const rlf_model_row *row = &rows[i];
        r->layer = row->layer;
        if (row->layer >= 0 && r->first[row->layer] == i)
            first[row->layer] = rlf_program_rows(r);
        append_again(&w, row);
        bool inside = row->layer >= 0 && row->layer < layers;
        for (int k = 0, size; rlf_is_product(row) && k < row->n_out;
             k += size) {
            size = module_size(row, k);
            w.module++;
            if (inside && is_targeted(r->config, row->layer, row->name[k]))
                add_module(&w, row, k, size);
        }
    }
    r->first = first;
    r->hidden = w.now[r->hidden];
}

/* ---- what there is ---- */

static const char *
last_word(const char *module)
{
    const char *dot = strrchr(module, '.');
    return dot ? dot + 1 : module;
}

/* The rows of the model without adapters. */
static const rlf_program *
base_of(const rlf_model_config *config, rlf_arena *arena)
{
    rlf_model_config *base = RLF_NEW(arena, rlf_model_config);
    *base = *config;
    base->lora.rank = 0;
    return rlf_program_new(base, arena);
}

static bool
is_module_of_layer(const rlf_program *r, const rlf_model_row *row)
{
    return rlf_is_product(row) && row->layer >= 0 &&
           row->layer < r->config->layers;
}

rlf_module_list
rlf_adapters_modules(const rlf_model_config *config, rlf_arena *arena)
{
    const rlf_program *r = base_of(config, arena);
    int n = rlf_program_rows(r);
    rlf_module_list out = {
        .list = RLF_NEW_ARRAY(arena, const char *, n *RLF_ROW_VALUES)};
    for (int i = 0; i < n; i++) {
        const rlf_model_row *row = &r->rows.data[i];
        for (int k = 0; is_module_of_layer(r, row) && k < row->n_out; k++) {
            const char *word = last_word(row->name[k]);
            int at = 0;
            while (at < out.n && strcmp(out.list[at], word) != 0)
                at++;
            out.list[at] = word;
            out.n += at == out.n;
        }
    }
    return out;
}

/* Is a part of a target the number of a layer? */
static bool
has_number(const char *target)
{
    for (const char *p = target; p; p = strchr(p, '.')) {
        p += *p == '.';
        size_t n = strspn(p, "0123456789");
        if (n && p[n] == '.')
            return true;
    }
    return false;
}

static const char *
layers_text(int layers, rlf_arena *arena)
{
    return layers == 1 ? "the only layer is 0, of modules"
           : layers == 2
               ? "the layers are 0 and 1, of modules"
               : rlf_arena_printf(arena, "the layers are 0 to %d, of modules",
                                  layers - 1);
}

static rlf_status
fail_missing(const rlf_model_config *config, const char *target,
             rlf_arena *arena, rlf_err *err)
{
    rlf_buf list = {0};
    rlf_module_list all = rlf_adapters_modules(config, arena);
    for (int i = 0; i < all.n; i++)
        rlf_buf_printf(&list, "%s%s", i ? ", " : "", all.list[i]);
    rlf_fail(err, RLF_USER, "no module of a layer is called '%s'", target);
    rlf_err_hint(err, "%s %s",
                 has_number(target) ? layers_text(config->layers, arena)
                                    : "there are",
                 list.p);
    rlf_buf_free(&list);
    return RLF_USER;
}

rlf_status
rlf_adapters_check(const rlf_model_config *config, rlf_arena *arena,
                   rlf_err *err)
{
    const rlf_program *r = base_of(config, arena);
    for (int t = 0; t < config->lora.n_targets; t++) {
        const char *target = config->lora.targets[t];
        bool found = false;
        for (int i = 0; i < rlf_program_rows(r) && !found; i++) {
            const rlf_model_row *row = &r->rows.data[i];
            for (int k = 0; is_module_of_layer(r, row) && k < row->n_out; k++)
                found |= is_named(config, row->layer, row->name[k], target);
        }
        if (!found)
            return fail_missing(config, target, arena, err);
    }
    return RLF_OK;
}
