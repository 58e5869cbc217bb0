/* Rollouts that were made ahead, in checkpoints: a file for each step that they
 * are made for.
 *
 *     ahead-00000021.bin    for step 21: metrics and tokens so far, spaces,
 *                           values
 *
 * Values are known by what they are made of (rlf_plan.values), not by their
 * number, so that a program with more or fewer metrics goes on. */
#include "engine/graph/class.h"
#include "engine/io/file.h"
#include "engine/sched/serialize.h"
#include "engine/sched/state.h"

#include <stdio.h>
#include <string.h>

static const char mark[8] = "rlfahea2";

static const char *
path_of(rlf_arena *arena, const char *directory, uint32_t step)
{
    char name[32];
    snprintf(name, sizeof name, "ahead-%08u.bin", step);
    return rlf_path_join(arena, directory, name);
}

static rlf_serializer
keeper_of(const rlf_rank *rank, rlf_err *err)
{
    return (rlf_serializer){
        .graph = rank->graph, .resource = rank->env.resource, .err = err};
}

/* Of the values that are made of the same it is this one. */
static uint32_t
twin(const rlf_plan *plan, int value)
{
    uint32_t n = 0;
    for (int v = 0; v < value; v++)
        n += rlf_digest_equal(plan->values[v], plan->values[value]);
    return n;
}

/* ---- saving ---- */

static void
serialize_metrics(rlf_serializer *k, const rlf_metrics *metrics)
{
    uint32_t n = 0;
    for (size_t i = 0; i < metrics->count; i++)
        n += rlf_metric_reported(&metrics->data[i]);
    RLF_SERIALIZE(k, n);
    for (size_t i = 0; i < metrics->count; i++) {
        const rlf_metric *m = &metrics->data[i];
        if (!rlf_metric_reported(m))
            continue;
        rlf_serialize_text(k, rlf_str_of(m->name));
        RLF_SERIALIZE(k, m->node);
        RLF_SERIALIZE(k, m->sum);
        RLF_SERIALIZE(k, m->count);
    }
}

/* A value that is saved: `later` counts from the last step that is done; of one
 * that failed the controller is a step further. */
static void
serialize_content(rlf_serializer *k, const rlf_run *run, int value, int later)
{
    rlf_origin at = rlf_order_later(rlf_control_order(run->control),
                                    later - (run->failed ? 1 : 0), value);
    rlf_serialize_content(
        k, &run->graph->values.data[value],
        &run->ranks[0].slots.data[at.instance].call.out[at.port]);
}

/* A value of the file. */
typedef struct kept {
    rlf_digest digest;
    uint32_t number;
    uint64_t size;
    uint64_t at;
    int value;
} kept;

/* The values of a step, with the bytes that each takes. */
static kept *
count_values(rlf_serializer *k, const rlf_run *run, int later, rlf_arena *arena,
             uint32_t *n)
{
    const rlf_node *node;
    *n = 0;
    for (int i = 0; (node = rlf_order_restored(run->graph, i)); i++)
        *n += (uint32_t)node->n_outputs;
    kept *list = RLF_NEW_ARRAY(arena, kept, *n + 1), *next = list;
    for (int i = 0; (node = rlf_order_restored(run->graph, i)); i++)
        for (int o = 0; o < node->n_outputs; o++, next++) {
            int value = node->outputs[o];
            uint64_t from = k->at;
            serialize_content(k, run, value, later);
            *next = (kept){.digest = run->plan->values[value],
                           .number = twin(run->plan, value),
                           .size = k->at - from,
                           .value = value};
        }
    return list;
}

static void
serialize_step(rlf_serializer *k, const rlf_run *run, int later,
               const kept *list, uint32_t n)
{
    uint32_t step = run->step + (uint32_t)later;
    const run_step *told = &run->steps[step % run->n_steps];
    RLF_SERIALIZE(k, mark);
    serialize_metrics(k, &told->metrics);
    RLF_SERIALIZE(k, told->tokens);
    rlf_serialize_spaces(k);
    RLF_SERIALIZE(k, n);
    for (uint32_t i = 0; i < n && !k->torn; i++) {
        RLF_SERIALIZE(k, list[i].digest);
        RLF_SERIALIZE(k, list[i].number);
        RLF_SERIALIZE(k, list[i].size);
        uint64_t from = k->at;
        serialize_content(k, run, list[i].value, later);
        RLF_ASSERT(k->at - from == list[i].size);
    }
}

static rlf_status
save_step(const rlf_run *run, const char *directory, int later,
          rlf_arena *arena, rlf_err *err)
{
    uint32_t step = run->step + (uint32_t)later, n = 0;
    rlf_serializer k = keeper_of(&run->ranks[0], err);
    rlf_writer *file = NULL;
    const kept *list = count_values(&k, run, later, arena, &n);
    rlf_status status =
        rlf_writer_open(path_of(arena, directory, step), err, &file);
    if (status >= 0) {
        k.to = file;
        serialize_step(&k, run, later, list, n);
        status = rlf_serialize_end(&k);
        if (status >= 0)
            status = rlf_writer_commit(file, err);
        else
            rlf_writer_drop(file);
    }
    rlf_serializer_free(&k);
    return status;
}

rlf_status
rlf_run_save_ahead(const rlf_run *run, const char *directory, rlf_arena *arena,
                   rlf_err *err)
{
    /* before the first step nothing is made */
    for (int later = 1; run->step && later <= (int)run->graph->ahead; later++)
        RLF_TRY(save_step(run, directory, later, arena, err));
    return RLF_OK;
}

/* ---- restoring ---- */

static void
deserialize_metrics(rlf_serializer *k, rlf_metrics *metrics)
{
    uint32_t n;
    RLF_DESERIALIZE(k, n);
    for (uint32_t i = 0; i < n && !k->torn; i++) {
        rlf_metric m = {.name = rlf_deserialize_text(k).p};
        RLF_DESERIALIZE(k, m.node);
        RLF_DESERIALIZE(k, m.sum);
        RLF_DESERIALIZE(k, m.count);
        if (!k->torn && rlf_metric_reported(&m))
            rlf_metrics_merge(metrics, &m);
    }
}

static const kept *
find(const kept *list, uint32_t n, rlf_digest digest, uint32_t number)
{
    for (uint32_t i = 0; i < n; i++)
        if (rlf_digest_equal(list[i].digest, digest) &&
            list[i].number == number)
            return &list[i];
    return NULL;
}

static kept *
deserialize_values(rlf_serializer *k, uint32_t *n)
{
    RLF_DESERIALIZE(k, *n);
    k->torn |= *n > k->end - k->at;
    if (k->torn)
        return NULL;
    kept *list = rlf_deserialize_room(k, (*n + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < *n && !k->torn; i++) {
        RLF_DESERIALIZE(k, list[i].digest);
        RLF_DESERIALIZE(k, list[i].number);
        RLF_DESERIALIZE(k, list[i].size);
        k->torn |= list[i].size > k->end - k->at;
        list[i].at = k->at;
        k->at += list[i].size;
    }
    return list;
}

static rlf_status
restore_value(rlf_rank *rank, rlf_serializer *k, const kept *list, uint32_t n,
              int value, const char *path, rlf_err *err, rlf_content *out)
{
    const rlf_value *v = &rank->graph->values.data[value];
    const kept *is =
        find(list, n, rank->plan->values[value], twin(rank->plan, value));
    if (!is) {
        rlf_fail(err, RLF_USER,
                 "%s has no '%s', which this program needs of it", path,
                 v->name ? v->name : "value");
        rlf_err_hint(err, "the program that was saved did not keep it: go on "
                          "with that one until these steps are over, or start "
                          "anew");
        rlf_err_place(err, v->span, NULL);
        return RLF_USER;
    }
    k->at = is->at;
    k->end = is->at + is->size;
    *out = rlf_deserialize_content(k, v);
    k->torn |= k->at != k->end;
    return RLF_OK;
}

/* The slot of a node's instance, as if it had been carried out. */
static rlf_status
slot_at(rlf_rank *rank, size_t instance, const rlf_node *node, rlf_err *err,
        slot **out)
{
    rank_step *at = &rank->steps[instance % (size_t)rank->n_steps];
    RLF_TRY(rlf_rank_slots(rank, instance + 1, err));
    slot *s = *out = &rank->slots.data[instance];
    *s = (slot){.call = {.env = &at->env,
                         .node = node,
                         .out = RLF_NEW_ARRAY(at->env.pool, rlf_content,
                                              node->n_outputs + 1),
                         .branch = -1,
                         .inputs_done = true},
                .opened = true};
    return RLF_OK;
}

static rlf_status
restore_values(rlf_rank *rank, rlf_serializer *k, uint32_t step,
               const char *path, rlf_err *err)
{
    size_t n_steps = (size_t)rank->n_steps;
    const rlf_node *node;
    uint32_t n = 0;
    rlf_deserialize_spaces(k);
    const kept *list = deserialize_values(k, &n);
    k->torn |= k->at != k->end;
    for (int i = 0; (node = rlf_order_restored(rank->graph, i)); i++) {
        slot *s;
        RLF_TRY(
            slot_at(rank, (size_t)i * n_steps + step % n_steps, node, err, &s));
        for (int o = 0; o < node->n_outputs && !k->torn; o++)
            RLF_TRY(restore_value(rank, k, list, n, node->outputs[o], path, err,
                                  &s->call.out[o]));
    }
    RLF_TRY(rlf_serializer_check(k));
    if (k->torn)
        return rlf_fail(err, RLF_USER, "%s is not what was saved", path);
    return RLF_OK;
}

static rlf_status
restore_step(rlf_rank *rank, const char *directory, uint32_t step, rlf_err *err)
{
    rank_step *at = &rank->steps[step % (uint32_t)rank->n_steps];
    const char *path = path_of(rank->env.pool, directory, step);
    rlf_infile *file = NULL;
    rlf_serializer k = keeper_of(rank, err);
    char is[sizeof mark];
    rlf_metrics passed = {0};
    RLF_TRY(rlf_infile_open(path, err, &file));
    k.arena = at->env.pool;
    k.from = file;
    k.end = rlf_infile_size(file);
    RLF_DESERIALIZE(&k, is);
    k.torn |= memcmp(is, mark, sizeof is) != 0;
    deserialize_metrics(&k, rank->rank ? &passed : &at->metrics);
    uint64_t tokens = 0;
    RLF_DESERIALIZE(&k, tokens);
    at->tokens = rank->rank ? 0 : tokens;
    rlf_status status = restore_values(rank, &k, step, path, err);
    rlf_metrics_free(&passed);
    rlf_serializer_free(&k);
    rlf_infile_close(file);
    return status;
}

rlf_status
rlf_rank_restore_ahead(rlf_rank *rank, const rlf_rank_command *command,
                       rlf_err *err)
{
    for (uint32_t i = 1; command->step && i <= rank->graph->ahead; i++) {
        rlf_rank_begin_step(rank, command->step + i, command->step);
        RLF_TRY(restore_step(rank, command->directory, command->step + i, err));
    }
    return RLF_OK;
}
