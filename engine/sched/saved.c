/* The contents of checkpoints by declaration: see saved.h. */
#include "engine/sched/saved.h"

#include "engine/graph/class.h"
#include "engine/io/json.h"

#include <string.h>

/* One entry of the list. */
typedef struct entry {
    const char *name, *kind;
    const char *rows; /* of a state: its data; "": it is one number */
} entry;

/* Is anything of it in checkpoints, or is it what its files say? */
static bool
is_saved(const rlf_run *run, size_t i)
{
    const rlf_resource_class *class = run->graph->resources.data[i].class;
    const rlf_weight_copies *copies = &run->plan->copies[i];
    return class->saved &&
           (!class->model || (copies->n && !copies->list[0].fixed));
}

static entry
entry_of(const rlf_run *run, size_t i)
{
    const rlf_resource *r = &run->graph->resources.data[i];
    bool rows = r->class->values && r->source >= 0;
    return (entry){r->name, r->class->name,
                   rows ? run->graph->resources.data[r->source].name : ""};
}

void
rlf_saved_print(const rlf_run *run, rlf_buf *out)
{
    const char *between = "[";
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        if (!is_saved(run, i))
            continue;
        entry e = entry_of(run, i);
        rlf_buf_puts(out, between);
        rlf_buf_puts(out, "\n  {\"name\":");
        rlf_buf_json(out, e.name, strlen(e.name));
        rlf_buf_printf(out, ",\"kind\":\"%s\"", e.kind);
        if (*e.rows) {
            rlf_buf_puts(out, ",\"rows\":");
            rlf_buf_json(out, e.rows, strlen(e.rows));
        }
        rlf_buf_putc(out, '}');
        between = ",";
    }
    rlf_buf_puts(out, *between == ',' ? "]" : "[]");
}

/* ---- compared ---- */

static rlf_status
read_entries(const json_t *list, const char *dir, rlf_err *err, entry *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *from = json_array_get(list, i);
        out[i].rows = "";
        RLF_TRY(rlf_json_get_text(from, dir, "name", true, err, &out[i].name));
        RLF_TRY(rlf_json_get_text(from, dir, "kind", true, err, &out[i].kind));
        RLF_TRY(rlf_json_get_text(from, dir, "rows", false, err, &out[i].rows));
    }
    return RLF_OK;
}

static const entry *
find(const entry *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static bool
declares(const rlf_run *run, const char *name)
{
    const rlf_graph *graph = run->graph;
    for (size_t i = 0; i < graph->resources.count; i++)
        if (strcmp(graph->resources.data[i].name, name) == 0)
            return true;
    return false;
}

/* "a state with a number per row of 'prompts'". Of what the program has none of
 * it is only said which kind it is. */
static const char *
describe(const rlf_run *run, const entry *e)
{
    if (*e->rows)
        return rlf_arena_printf(run->kept, "a %s with a number per row of '%s'",
                                e->kind, e->rows);
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        const rlf_resource_class *class = run->graph->resources.data[i].class;
        if (class->saved && strcmp(class->name, e->kind) == 0)
            return class->saved;
    }
    return rlf_arena_printf(run->kept, "a %s", e->kind);
}

/* Can the models go on from what the checkpoint `dir` has of them? */
static rlf_status
check_models(const rlf_run *run, const char *dir, rlf_err *err)
{
    const rlf_env *env = &run->ranks[0].env;
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        if (r->class->model && is_saved(run, i))
            RLF_TRY(r->class->model->suits(env, r, env->resource[i], dir, err));
    }
    return RLF_OK;
}

/* Nothing can stand in for what was never saved. */
static rlf_status
refuse(const rlf_run *run, const char *dir, const entry *need,
       const entry *list, size_t n, rlf_err *err)
{
    const char *begin = strcmp(need->kind, "model") == 0
                            ? ""
                            : ", which may "
                              "read the models of the checkpoint";
    const entry *gone = NULL, *was = find(list, n, need->name);
    size_t others = 0;
    for (size_t i = 0; i < n; i++) {
        bool same = strcmp(list[i].kind, need->kind) == 0 &&
                    !*list[i].rows == !*need->rows;
        if (!same || declares(run, list[i].name))
            continue;
        gone = &list[i];
        others++;
    }
    if (was)
        rlf_fail(err, RLF_USER, "'%s' is %s, and in %s it is %s", need->name,
                 describe(run, need), dir, describe(run, was));
    else
        rlf_fail(err, RLF_USER, "%s has nothing of '%s', which is %s", dir,
                 need->name, describe(run, need));
    if (!was && others == 1)
        rlf_err_hint(err,
                     "if it is what was called '%s', call it so again; else "
                     "begin a new run in another --out: --accept cannot help",
                     gone->name);
    else
        rlf_err_hint(err,
                     "--accept cannot help: give the program what it had, or "
                     "begin a new run in another --out%s",
                     begin);
    return RLF_USER;
}

rlf_status
rlf_saved_check(const rlf_run *run, const char *dir, const json_t *state,
                rlf_err *err, rlf_buf *said)
{
    json_t *list = NULL;
    RLF_TRY(rlf_json_get_array(state, dir, "saved", true, err, &list));
    size_t n = json_array_size(list);
    entry *entries = RLF_NEW_ARRAY(run->kept, entry, n + 1);
    RLF_TRY(read_entries(list, dir, err, entries));
    size_t used = 0;
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        if (!is_saved(run, i))
            continue;
        entry need = entry_of(run, i);
        const entry *has = find(entries, n, need.name);
        if (!has || strcmp(has->kind, need.kind) != 0 ||
            strcmp(has->rows, need.rows) != 0)
            return refuse(run, dir, &need, entries, n, err);
        entries[has - entries].kind = ""; /* found */
        used++;
    }
    RLF_TRY(check_models(run, dir, err));
    for (size_t i = 0; i < n && used < n; i++)
        if (*entries[i].kind)
            rlf_buf_printf(said,
                           "'%s', %s in %s, is %s: what it had become is not "
                           "used, and is not in later checkpoints\n",
                           entries[i].name, describe(run, &entries[i]), dir,
                           declares(run, entries[i].name)
                               ? "what its declaration says again"
                               : "not in the program");
    return RLF_OK;
}
