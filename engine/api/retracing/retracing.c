/* Steps of a run again, up to one whose sample is looked at: see
 * rlf_session_open_sample in rlflow.h.
 *
 * The session is of the run's own program, with the parameters and inputs that
 * run.json has, and resumes from the run's directory without changing anything
 * there. As a resume it compares all inputs, so that what it shows is what the
 * run computed; then the sample's line and the metrics of the step are compared
 * with those that the run wrote. */
#include "engine/api/retracing/retracing.h"

#include "engine/graph/sample_trace.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/record/record.h"
#include "engine/sched/retention.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the program ---- */

/* The file of the program, in the directory in which the run was started. */
static const char *
program_path(rlf_record *record, rlf_arena *arena, const char *path)
{
    const char *from = NULL;
    const rlf_recorded_start *start;
    for (size_t i = 0; (start = rlf_record_start(record, i)); i++)
        from = start->host_directory;
    return *path == '/' || !from || !*from || rlf_file_exists(path)
               ? path
               : rlf_path_join(arena, from, path);
}

/* Is the file still what the run read? */
static bool
is_same(const char *path, const char *digest)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_digest now;
    uint64_t size;
    char text[RLF_DIGEST_TEXT];
    bool same = rlf_file_exists(path) &&
                rlf_digest_file(path, true, &ignored, &now, &size) >= 0 &&
                strcmp(rlf_digest_print(now, text), digest) == 0;
    rlf_err_clear(&ignored);
    return same;
}

/* A session of the program: of its file, or, where that has changed since, of
 * the run's copy, as if it stood there. */
static rlf_session *
open_program(rlf_record *record, rlf_arena *arena, rlf_err *err)
{
    const rlf_recorded_input *program = rlf_record_program(record);
    size_t n;
    if (!program || !program->path) {
        rlf_fail(err, RLF_USER, "%s has no copy of its program",
                 record->directory);
        return rlf_session_open("");
    }
    const char *path = program_path(record, arena, program->path);
    if (is_same(path, program->value))
        return rlf_session_open(path);
    const char *text = rlf_record_file_text(record, program->copy, &n);
    if (text)
        return rlf_session_open_text(path, text, n);
    rlf_fail(err, RLF_USER, "%s has changed since, and the run's copy of it, "
             "%s, cannot be read", path, program->copy);
    return rlf_session_open(path);
}

/* ---- what the run was begun with ---- */

/* The value of an input; NULL: the run has none of that name. */
static const char *
input_of(rlf_record *record, const char *name)
{
    const rlf_recorded_input *in;
    for (size_t i = 0; (in = rlf_record_input(record, i)); i++)
        if (strcmp(in->name, name) == 0 && !*in->part)
            return in->value;
    return NULL;
}

/* On CPUs no bit depends on where a run computes, so one rank does all, and has
 * all that is asked for; on GPUs the plan is the run's. */
static void
set_up(rlf_session *s, rlf_record *record)
{
    static const struct {
        const char *input, *option;
    } inputs[] = {{"seed", "--seed"}, {"dtype", "--dtype"},
                  {"device", "--device"}};
    const rlf_recorded_setting *p;
    const rlf_recorded_start *start, *last = NULL;
    for (size_t i = 0; (p = rlf_record_parameter(record, i)); i++)
        rlf_session_set(s, p->name, p->value);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const char *value = input_of(record, inputs[i].input);
        if (value)
            rlf_session_set(s, inputs[i].option, value);
    }
    uint64_t steps = rlf_record_run(record)->steps;
    if (steps)
        rlf_session_set(s, "--steps",
                        rlf_arena_printf(s->arena, "%" PRIu64, steps));
    for (size_t i = 0; (start = rlf_record_start(record, i)); i++)
        last = start;
    const char *plan = rlf_record_path(record, s->arena, "plan.rlf");
    const char *device = input_of(record, "device");
    if (!device || strcmp(device, "cpu") == 0) {
        rlf_session_set(s, "--ranks", "1");
        s->retraced.one_rank = true;
    } else if (last && last->ranks > 1 && rlf_file_exists(plan)) {
        rlf_session_set(s, "--ranks",
                        rlf_arena_printf(s->arena, "%" PRIu64, last->ranks));
        rlf_session_set(s, "--plan", plan);
    }
    s->options.samples = UINT32_MAX;
}

/* ---- the step to go on from ---- */

/* A checkpoint has what was sampled ahead for later steps: once the program is
 * known, one from before the sample was made is taken. */
static rlf_status
find_origin(rlf_session *s, rlf_err *err)
{
    rlf_checkpoints all;
    uint64_t ahead = s->graph ? s->graph->ahead : 0;
    RLF_TRY(rlf_checkpoints_list(s->retraced.directory, s->arena, err, &all));
    s->retraced.from = 0;
    for (size_t i = 0; i < all.count; i++)
        if (all.steps[i] + ahead < s->retraced.step)
            s->retraced.from = all.steps[i];
    return RLF_OK;
}

/* The sample as the run has recorded it; UINT64_MAX: it has not. */
static uint64_t
recorded_sample(rlf_record *record, uint32_t step, const char *set,
                uint64_t sample)
{
    uint64_t n = rlf_record_run(record)->samples;
    for (uint64_t i = 0; i < n; i++) {
        const rlf_recorded_sample *one = rlf_record_sample(record, i);
        if (one->step == step && one->sample == sample &&
            (!set || strcmp(one->set, set) == 0))
            return i;
    }
    return UINT64_MAX;
}

static rlf_status
check_asked(rlf_session *s, rlf_record *record, uint64_t step, rlf_err *err)
{
    const rlf_recorded_run *run = rlf_record_run(record);
    if (step < 1 || step > UINT32_MAX || step > run->step) {
        rlf_fail(err, RLF_USER, "%s has no step %" PRIu64 ": it has steps 1 to "
                 "%" PRIu64, record->directory, step, run->step);
        return RLF_USER;
    }
    s->retraced.step = (uint32_t)step;
    return find_origin(s, err);
}

rlf_session *
rlf_session_open_sample(rlf_record *record, uint64_t step, const char *set,
                        uint64_t sample)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_session *s = NULL;
    if (!record)
        err.status = RLF_MEMORY;
    else if (rlf_record_status(record) < 0)
        err = record->err;
    s = err.status < 0 ? rlf_session_open("")
                       : open_program(record, arena, &err);
    if (s && err.status >= 0) {
        s->retraced.directory = rlf_arena_strdup(s->arena, record->directory);
        s->retraced.record = record;
        s->retraced.sample = sample;
        check_asked(s, record, step, &err);
    }
    if (s && err.status >= 0) {
        uint64_t i = recorded_sample(record, s->retraced.step, set, sample);
        const char *own =
            i == UINT64_MAX ? set : rlf_record_sample(record, i)->set;
        s->retraced.set = own ? rlf_arena_strdup(s->arena, own) : NULL;
        set_up(s, record);
    }
    if (s && err.status < 0 && s->err.status >= 0)
        s->err = err;
    rlf_arena_free(arena);
    return s;
}

uint64_t
rlf_session_sample_from(rlf_session *s)
{
    if (!s || !s->retraced.directory || rlf_session_check(s) != RLF_RESULT_OK ||
        find_origin(s, &s->err) < 0)
        return 0;
    return s->retraced.from;
}

/* ---- while it runs ---- */

void
rlf_retraced_hint(const rlf_session *s, rlf_err *err)
{
    if (!s->retraced.directory || !strstr(err->hint, "--accept"))
        return;
    char *rest = strstr(err->hint, ", or go on");
    *(rest ? rest : err->hint) = 0;
    if (!rest)
        rlf_err_hint(err,
                     "put back what the run has read: %s/inputs has copies of "
                     "all files but large ones",
                     s->retraced.directory);
}

rlf_status
rlf_retraced_begin(rlf_session *s, rlf_err *err)
{
    if (!s->retraced.directory)
        return RLF_OK;
    RLF_TRY(find_origin(s, err));
    int set = rlf_sampled_set(s->graph, s->retraced.set);
    if (set < 0)
        return rlf_fail(err, RLF_USER, "the program has no responses%s%s%s",
                        s->retraced.set ? " that it calls '" : "",
                        s->retraced.set ? s->retraced.set : "",
                        s->retraced.set ? "'" : "");
    s->retraced.trace = rlf_sample_trace_new(
        s->arena, s->graph, s->retraced.step, set, s->retraced.sample);
    return RLF_OK;
}

rlf_status
rlf_retraced_step(rlf_session *s, rlf_err *err)
{
    const rlf_sample_trace *t = s->retraced.trace;
    if (!t || rlf_run_steps(s->run) != t->step || t->found)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "step %u has no sample %" PRIu64 " of '%s'",
             t->step, t->number, s->graph->sets.data[t->set].name);
    if (t->least <= t->most)
        rlf_err_hint(err, "it has %" PRIu64 " to %" PRIu64, t->least, t->most);
    return RLF_USER;
}

void
rlf_retraced_close(rlf_session *s)
{
    rlf_sample_trace_free(s->retraced.trace);
    rlf_buf_free(&s->retraced.text);
}

/* ---- what came of it ---- */

/* The line of the sample as it was made again; NULL: it was not made. */
static const char *
line_of(rlf_session *s)
{
    const char *line;
    for (size_t i = 0; (line = rlf_session_sample(s, i)); i++) {
        json_t *one = json_loads(line, JSON_ALLOW_NUL, NULL);
        const char *set = json_string_value(json_object_get(one, "set"));
        bool is = (uint64_t)json_integer_value(
                      json_object_get(one, "sample")) == s->retraced.sample &&
                  set && (!s->retraced.set || strcmp(set, s->retraced.set) == 0);
        json_decref(one);
        if (is)
            return line;
    }
    return NULL;
}

/* Member "recorded": is the sample as the run recorded it, and are the metrics
 * of its step? */
static void
put_recorded(rlf_session *s, const char *line, rlf_buf *out)
{
    rlf_record *record = s->retraced.record;
    size_t n, equal = 0, all = 0;
    uint64_t i = recorded_sample(record, s->retraced.step, s->retraced.set,
                                 s->retraced.sample);
    const char *was = i == UINT64_MAX
                          ? NULL
                          : rlf_record_text(record, i, RLF_SAMPLE_LINE, &n);
    rlf_buf differ = {0};
    bool same = was && line && strlen(line) == n && memcmp(line, was, n) == 0;
    rlf_buf_printf(out, ",\n\"recorded\":{\"sample\":%s",
                   !was   ? "null"
                   : same ? "true"
                          : "false");
    if (was && !same)
        rlf_buf_printf(out, ",\"line\":%.*s", (int)n, was);
    const rlf_recorded_metric *m;
    for (size_t k = 0; (m = rlf_record_metric(record, k)); k++) {
        size_t at = 0;
        while (at < m->n && m->step[at] != s->retraced.step)
            at++;
        if (at == m->n || rlf_metric_is_time(m->name) ||
            strcmp(m->name, "tokens") == 0)
            continue;
        double now = rlf_session_metric(s, m->name);
        all++;
        if (now == m->value[at] || (isnan(now) && isnan(m->value[at]))) {
            equal++;
            continue;
        }
        rlf_buf_puts(&differ, differ.n ? "," : "");
        rlf_buf_json(&differ, m->name, strlen(m->name));
    }
    rlf_buf_printf(out, ",\"metrics\":%zu,\"equal\":%zu,\"different\":[%s]}",
                   all, equal, differ.n ? differ.p : "");
    rlf_buf_free(&differ);
}

static void
put_trace(rlf_session *s, rlf_buf *out)
{
    const rlf_sample_trace *t = s->retraced.trace;
    const char *set = s->retraced.set ? s->retraced.set
                                      : s->graph->sets.data[t->set].name;
    const char *line = line_of(s);
    rlf_buf_printf(out, "{\"run\":");
    rlf_buf_json(out, s->retraced.directory, strlen(s->retraced.directory));
    rlf_buf_printf(out, ",\"program\":");
    rlf_buf_json(out, s->program.path, strlen(s->program.path));
    rlf_buf_printf(out, ",\"step\":%u,\"set\":", t->step);
    rlf_buf_json(out, set, strlen(set));
    rlf_buf_printf(out, ",\"sample\":%" PRIu64 ",\"from\":%u", t->number,
                   s->steps.resumed);
    put_recorded(s, line, out);
    rlf_buf_printf(out, ",\n\"line\":%s,\n\"facts\":[\n", line ? line : "null");
    rlf_buf_add(out, t->facts.p, t->facts.n);
    rlf_buf_puts(out, "]}\n");
}

const char *
rlf_session_sample_trace(rlf_session *s, int json)
{
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if (!s->retraced.trace || !s->retraced.trace->found || !s->run ||
        rlf_run_steps(s->run) != s->retraced.step) {
        rlf_why(s, s->retraced.directory
                       ? "the step of the sample is not the last one"
                       : "the session looks at no sample "
                         "(rlf_session_open_sample)");
        return NULL;
    }
    RLF_IN_LOCALE(s);
    rlf_buf all = {0};
    put_trace(s, &all);
    rlf_buf_clear(&s->retraced.text);
    if (json) {
        rlf_buf_add(&s->retraced.text, all.p, all.n);
    } else {
        json_t *trace = json_loadb(
            all.p, all.n, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
        RLF_ASSERT(trace);
        rlf_retraced_print(trace, &s->retraced.text);
        json_decref(trace);
    }
    rlf_buf_free(&all);
    return s->retraced.text.p;
}
