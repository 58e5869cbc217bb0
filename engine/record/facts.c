/* What a run is, who started it, how that ended and what it has saved:
 * run.json, checkpoints.json, checkpoints/, prediction.json. They are replaced
 * as a whole, so each is read again once it has changed. What is damaged is
 * used as far as it is JSON, and noted. */
#include "engine/record/record.h"

#include "engine/base/hash.h"
#include "engine/io/json.h"
#include "engine/io/sealed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256 << 20 }; /* bytes of a file that are read */

/* ---- members ---- */

static const char *
text_at(const json_t *object, const char *key, const char *otherwise)
{
    const json_t *v = json_object_get(object, key);
    return json_is_string(v) ? json_string_value(v) : otherwise;
}

static uint64_t
number_at(const json_t *object, const char *key)
{
    int64_t out = 0;
    return rlf_json_as_int(json_object_get(object, key), &out) && out > 0
               ? (uint64_t)out
               : 0;
}

/* A copy of a text, for who asks without json. */
static const char *
kept(rlf_record_facts *f, const char *text)
{
    return text ? rlf_arena_strdup(f->arena, text) : NULL;
}

static const char *
dumped(rlf_record_facts *f, const json_t *value)
{
    char *text =
        value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    const char *out = kept(f, text ? text : "{}");
    free(text);
    return out;
}

/* ---- files ---- */

/* An object, or NULL. A text without its last line is noted. */
static json_t *
load(rlf_record *record, const char *name)
{
    rlf_err why = RLF_ERR_NONE;
    rlf_buf text = {0};
    json_t *root = NULL;
    rlf_json_found found;
    rlf_digest digest;
    const char *path = rlf_record_own(record, record->facts.arena, name);
    if (!path || !rlf_file_exists(path))
        return NULL;
    rlf_status status = rlf_file_read(path, MOST, &why, &text);
    if (status >= 0 && !rlf_sealed_is_whole(&text, &digest))
        rlf_record_leave_out(record,
                             "%s is not as it was written: its digest "
                             "is another one",
                             path);
    if (status >= 0)
        status = rlf_json_parse_exact(path, 1, text.p ? text.p : "", text.n,
                                      &why, &root, &found);
    if (status < 0)
        rlf_record_leave_out(record, "%s", why.sentence);
    rlf_buf_free(&text);
    if (root && !json_is_object(root)) {
        rlf_record_leave_out(record, "%s is no object", path);
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* ---- run.json ---- */

static void
take_parameters(rlf_record_facts *f)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(f->run, "parameters"), name,
                        value) if (json_is_string(value))
        RLF_PUSH_IN(f->arena, &f->parameters,
                    (rlf_recorded_setting){kept(f, name),
                                           kept(f, json_string_value(value))});
}

static void
take_inputs(rlf_record_facts *f)
{
    const json_t *list = json_object_get(f->run, "inputs");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *input = json_array_get(list, i);
        const char *name = text_at(input, "name", NULL);
        if (!name)
            continue;
        RLF_PUSH_IN(f->arena, &f->inputs,
                    (rlf_recorded_input){
                        .name = kept(f, name),
                        .part = kept(f, text_at(input, "part", "")),
                        .value = kept(f, text_at(input, "value", "")),
                        .path = kept(f, text_at(input, "path", NULL)),
                        .copy = kept(f, text_at(input, "copy", NULL))});
    }
}

static rlf_recorded_start
start_of(rlf_record_facts *f, const json_t *start)
{
    const json_t *process =
                     json_array_get(json_object_get(start, "processes"), 0),
                 *end = json_object_get(start, "end");
    return (rlf_recorded_start){
        .time = kept(f, text_at(start, "time", "")),
        .resume = json_is_true(json_object_get(start, "resume")),
        .step = number_at(start, "step"),
        .version = kept(f, text_at(start, "rlflow", "")),
        .device = kept(f, text_at(start, "device", "")),
        .dtype = kept(f, text_at(start, "dtype", "")),
        .host = kept(f, text_at(process, "host", "")),
        .host_directory = kept(f, text_at(process, "directory", "")),
        .ranks = number_at(start, "ranks"),
        .threads = number_at(start, "threads"),
        .how = kept(f, text_at(end, "how", NULL)),
        .end_time = kept(f, text_at(end, "time", NULL)),
        .end_step = number_at(end, "step"),
        .message = kept(f, text_at(end, "message", text_at(end, "in", NULL))),
        .options = dumped(f, json_object_get(start, "options")),
        .json = dumped(f, start)};
}

static void
take_run(rlf_record *record)
{
    rlf_record_facts *f = &record->facts;
    f->run = load(record, "run.json");
    f->program = kept(f, text_at(f->run, "program", NULL));
    take_parameters(f);
    take_inputs(f);
    const json_t *list = json_object_get(f->run, "starts");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_object(json_array_get(list, i)))
            RLF_PUSH_IN(f->arena, &f->starts,
                        start_of(f, json_array_get(list, i)));
}

/* ---- checkpoints ---- */

static int
by_step(const void *a, const void *b)
{
    const rlf_recorded_checkpoint *x = a, *y = b;
    return (x->step > y->step) - (x->step < y->step);
}

static void
add_checkpoint(rlf_record_facts *f, uint64_t step, bool there)
{
    for (size_t i = 0; i < f->checkpoints.count; i++)
        if (f->checkpoints.data[i].step == step) {
            f->checkpoints.data[i].there |= there;
            return;
        }
    RLF_PUSH_IN(f->arena, &f->checkpoints,
                (rlf_recorded_checkpoint){step, there});
}

static void
take_checkpoints(rlf_record *record)
{
    rlf_record_facts *f = &record->facts;
    rlf_err ignored = RLF_ERR_NONE;
    const char *dir = rlf_record_own(record, f->arena, "checkpoints");
    const char **names = NULL;
    size_t n = 0;
    json_t *root = load(record, "checkpoints.json");
    const json_t *list = json_object_get(root, "checkpoints");
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t step = number_at(json_array_get(list, i), "step");
        if (step)
            add_checkpoint(f, step, false);
    }
    json_decref(root);
    if (dir && rlf_dir_exists(dir) &&
        rlf_dir_list(dir, f->arena, &ignored, &names, &n) < 0)
        rlf_record_leave_out(record, "%s", ignored.sentence);
    for (size_t i = 0; i < n; i++) {
        unsigned long long step;
        int used = 0;
        if (sscanf(names[i], "step-%llu%n", &step, &used) == 1 &&
            !names[i][used])
            add_checkpoint(f, step, true);
    }
    if (f->checkpoints.count)
        qsort(f->checkpoints.data, f->checkpoints.count,
              sizeof *f->checkpoints.data, by_step);
}

/* ---- does it go on ---- */

/* Does a process of this machine hold the lock of the directory? The kernel
 * lists locks by their files' numbers; to try it would be in the way of a run
 * that starts at this moment. */
static bool
is_held(const char *path)
{
    struct stat st;
    char line[256];
    bool held = false;
    FILE *locks = stat(path, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && !held && fgets(line, sizeof line, locks)) {
        unsigned high, low;
        unsigned long long inode;
        held = strstr(line, "FLOCK") &&
               sscanf(line, "%*s %*s %*s %*s %*s %x:%x:%llu", &high, &low,
                      &inode) == 3 &&
               inode == (unsigned long long)st.st_ino &&
               high == major(st.st_dev) && low == minor(st.st_dev);
    }
    if (locks)
        fclose(locks);
    return held;
}

/* Did the last start run here, in this very directory? Then nobody has it who
 * does not hold its lock. A copy, and what another machine writes, has no lock
 * here. */
static bool
ran_here(const rlf_record *record, const rlf_recorded_start *start)
{
    char host[256] = "";
    struct stat was, is;
    const json_t *list = json_object_get(record->facts.run, "starts");
    const json_t *options = json_object_get(
        json_array_get(list, json_array_size(list) - 1), "options");
    const char *out = text_at(options, "--out", NULL);
    gethostname(host, sizeof host - 1);
    if (!out || !*start->host_directory || strcmp(start->host, host) != 0)
        return false;
    rlf_arena *arena = rlf_arena_new();
    const char *path = rlf_path_join(arena, start->host_directory, out);
    bool here = stat(path, &was) == 0 && stat(record->directory, &is) == 0 &&
                was.st_ino == is.st_ino && was.st_dev == is.st_dev;
    rlf_arena_free(arena);
    return here;
}

/* Seconds since a file of the run was written; -1: there is none. */
static double
seconds_since(const rlf_record *record)
{
    const char *const paths[] = {record->metrics_path, record->samples_path,
                                 record->ranks_path};
    struct timespec now;
    double least = -1;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < RLF_COUNT(paths); i++) {
        struct stat st;
        if (!*paths[i] || stat(paths[i], &st) != 0)
            continue;
        double age = difftime(now.tv_sec, st.st_mtim.tv_sec);
        age = age > 0 ? age : 0;
        least = least < 0 || age < least ? age : least;
    }
    return least;
}

/* Was it written to a moment ago: within a minute, or three of its steps? */
static bool
is_recent(const rlf_record *record, double seconds)
{
    const rlf_metric_column *c = rlf_metric_find(record, "seconds");
    double step = c && c->value.count ? c->value.data[c->value.count - 1] : 0;
    return seconds >= 0 &&
           (seconds < 60 || (isfinite(step) && seconds < 3 * step));
}

void
rlf_record_tell_state(rlf_record *record, rlf_recorded_run *out)
{
    static const char *const words[] = {
        [RLF_RUN_UNKNOWN] = "not known",
        [RLF_RUN_GOES_ON] = "goes on",
        [RLF_RUN_KILLED] = "killed",
        [RLF_RUN_DONE] = "done",
        [RLF_RUN_STOPPED] = "stopped",
        [RLF_RUN_CLOSED] = "closed",
        [RLF_RUN_FAILED] = "failed",
        [RLF_RUN_COPIED] = "no process of this machine has it"};
    const rlf_record_facts *f = &record->facts;
    const rlf_recorded_start *last =
        f->starts.count ? &f->starts.data[f->starts.count - 1] : NULL;
    out->state = f->goes_on ? RLF_RUN_GOES_ON : RLF_RUN_UNKNOWN;
    for (int i = RLF_RUN_KILLED;
         !f->goes_on && last && last->how && i <= RLF_RUN_FAILED; i++)
        if (strcmp(last->how, words[i]) == 0)
            out->state = (rlf_run_state)i;
    double seconds = seconds_since(record);
    bool copied = last && !last->how && !f->goes_on &&
                  !ran_here(record, last) && is_recent(record, seconds);
    if (last && !last->how && !f->goes_on)
        out->state = copied ? RLF_RUN_COPIED : RLF_RUN_KILLED;
    if (record->gone)
        out->state = RLF_RUN_UNKNOWN;
    rlf_buf_clear(&record->state_text);
    rlf_buf_puts(&record->state_text,
                 record->gone ? "its directory is not there any more"
                              : words[out->state]);
    if (out->state == RLF_RUN_COPIED)
        rlf_buf_printf(&record->state_text, ", written to %.0f s ago", seconds);
    if (out->state == RLF_RUN_KILLED && last->message)
        rlf_buf_printf(&record->state_text, " in %s", last->message);
    out->state_text = record->state_text.p;
    out->why = out->state == RLF_RUN_FAILED ? last->message : NULL;
    out->steps = 0;
    if (last)
        out->steps = number_at(
            json_array_get(json_object_get(f->run, "starts"),
                           json_array_size(json_object_get(f->run, "starts")) -
                               1),
            "steps");
}

bool
rlf_record_find_need(const rlf_record *record, uint64_t rank, size_t i,
                     rlf_recorded_need *out)
{
    const json_t *starts = json_object_get(record->facts.run, "starts");
    size_t n = json_array_size(starts);
    const json_t *list =
        json_object_get(n ? json_array_get(starts, n - 1) : NULL, "memory");
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *group = json_array_get(list, k);
        const json_t *ranks = json_object_get(group, "ranks");
        int64_t is = -1;
        size_t at = 0;
        while (at < json_array_size(ranks) &&
               !(rlf_json_as_int(json_array_get(ranks, at), &is) &&
                 is == (int64_t)rank))
            at++;
        if (at == json_array_size(ranks))
            continue;
        const json_t *parts = json_object_get(group, "parts");
        const json_t *part = json_array_get(parts, i);
        *out = (rlf_recorded_need){.owner = text_at(part, "owner", ""),
                                   .purpose = text_at(part, "purpose", ""),
                                   .device = number_at(part, "device"),
                                   .host = number_at(part, "host")};
        return i < json_array_size(parts);
    }
    return false;
}

const rlf_recorded_input *
rlf_record_program(const rlf_record *record)
{
    const rlf_record_facts *f = &record->facts;
    for (size_t i = 0; i < f->inputs.count; i++)
        if (strcmp(f->inputs.data[i].name, "program") == 0 &&
            strcmp(f->inputs.data[i].part, "file") == 0 &&
            f->inputs.data[i].copy)
            return &f->inputs.data[i];
    return NULL;
}

/* ---- all of it ---- */

void
rlf_record_facts_free(rlf_record_facts *f)
{
    json_decref(f->run);
    json_decref(f->prediction);
    rlf_arena_free(f->arena);
    *f = (rlf_record_facts){0};
}

/* What changes when one of the files does. */
static uint64_t
look(rlf_record *record, rlf_arena *arena, bool *goes_on)
{
    static const char *const names[] = {"run.json", "checkpoints.json",
                                        "prediction.json", "checkpoints"};
    uint64_t hash = RLF_HASH_INIT;
    for (size_t i = 0; i < RLF_COUNT(names); i++) {
        struct stat st;
        bool there = stat(rlf_record_path(record, arena, names[i]), &st) == 0;
        uint64_t is[] = {there, there ? (uint64_t)st.st_size : 0,
                         there ? (uint64_t)st.st_mtim.tv_sec : 0,
                         there ? (uint64_t)st.st_mtim.tv_nsec : 0,
                         there ? (uint64_t)st.st_ino : 0};
        hash = rlf_hash(hash, is, sizeof is);
    }
    *goes_on = is_held(rlf_record_path(record, arena, "lock"));
    return rlf_hash_mix(rlf_hash(hash, goes_on, sizeof *goes_on));
}

rlf_status
rlf_record_read_facts(rlf_record *record, rlf_err *err, bool *changed)
{
    rlf_record_facts *f = &record->facts;
    bool goes_on;
    (void)err;
    rlf_arena *arena = rlf_arena_new();
    uint64_t seen = look(record, arena, &goes_on);
    *changed = !f->arena || f->seen != seen;
    if (!*changed) {
        rlf_arena_free(arena);
        return RLF_OK;
    }
    rlf_record_facts_free(f);
    f->arena = arena;
    f->seen = seen;
    f->goes_on = goes_on;
    take_run(record);
    take_checkpoints(record);
    f->prediction = load(record, "prediction.json");
    rlf_record_check_files(record);
    return RLF_OK;
}
