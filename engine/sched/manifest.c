/* Writing and verifying manifests: see manifest.h.
 *
 *     {"files":[
 *      {"name":"state.json","size":412,"crc32":2212294583},
 *      ...],
 *      "journals":[{"name":"metrics.jsonl","size":990,"crc32":17},...],
 *      "ended":false,
 *      "best":{"metric":"reward","most":true,"step":40,"value":0.75},
 *      "crc32":3523407757}
 *
 * The last line is the checksum of all text above it. */
#include "engine/sched/manifest.h"

#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const rlf_journal_names[RLF_JOURNALS] = {"metrics.jsonl",
                                                     "samples.jsonl"};

static const char last_line[] = ",\n \"crc32\":";

static const char *
path_of(const char *dir, rlf_arena *arena)
{
    return rlf_path_join(arena, dir, "manifest.json");
}

bool
rlf_manifest_exists(const char *dir, rlf_arena *arena)
{
    return rlf_file_exists(path_of(dir, arena));
}

/* ---- writing ---- */

static void
put_file(const char *name, uint64_t size, uint32_t sum, rlf_buf *out)
{
    rlf_buf_puts(out, "{\"name\":");
    rlf_buf_json(out, name, strlen(name));
    rlf_buf_printf(out, ",\"size\":%" PRIu64 ",\"crc32\":%" PRIu32 "}", size,
                   sum);
}

/* Lines for every file below `dir`/`inner`, in byte order. */
static rlf_status
put_files(rlf_arena *arena, const char *dir, const char *inner, rlf_buf *out,
          rlf_err *err)
{
    const char **names;
    size_t count;
    char *here = *inner ? rlf_path_join(arena, dir, inner) : (char *)dir;
    RLF_TRY(rlf_dir_list(here, arena, err, &names, &count));
    for (size_t i = 0; i < count; i++) {
        char *relative =
            *inner ? rlf_path_join(arena, inner, names[i]) : (char *)names[i];
        char *path = rlf_path_join(arena, dir, relative);
        if (rlf_dir_exists(path)) {
            RLF_TRY(put_files(arena, dir, relative, out, err));
            continue;
        }
        uint32_t sum;
        uint64_t size;
        RLF_TRY(rlf_checksum_file(path, err, &sum, &size));
        rlf_buf_puts(out, out->n ? ",\n " : "{\"files\":[\n ");
        put_file(relative, size, sum, out);
    }
    RLF_TRY(rlf_dir_sync(here, err));
    return RLF_OK;
}

static void
put_beside(const rlf_beside *beside, bool ended, rlf_buf *out)
{
    rlf_buf_puts(out, "],\n \"journals\":[");
    for (int i = 0; i < RLF_JOURNALS; i++) {
        rlf_buf_puts(out, i ? "," : "");
        put_file(rlf_journal_names[i], beside->journals[i].size,
                 beside->journals[i].checksum, out);
    }
    rlf_buf_printf(out, "],\n \"ended\":%s,\n \"keep\":%" PRIu32,
                   ended ? "true" : "false", beside->keep);
    const rlf_best *best = &beside->best;
    if (best->metric) {
        rlf_buf_puts(out, ",\n \"best\":{\"metric\":");
        rlf_buf_json(out, best->metric, strlen(best->metric));
        rlf_buf_printf(out, ",\"most\":%s,\"step\":%" PRIu32 ",\"value\":",
                       best->least ? "false" : "true", best->step);
        rlf_buf_number(out, best->value);
        rlf_buf_putc(out, '}');
    }
    uint32_t sum = rlf_checksum(0, out->p, out->n);
    rlf_buf_printf(out, "%s%" PRIu32 "}\n", last_line, sum);
}

rlf_status
rlf_manifest_write(const char *dir, const rlf_beside *beside, bool ended,
                   rlf_arena *arena, rlf_err *err)
{
    rlf_buf text = {0};
    rlf_status status = put_files(arena, dir, "", &text, err);
    if (status >= 0) {
        put_beside(beside, ended, &text);
        status = rlf_file_write(path_of(dir, arena), text.p, text.n, err);
    }
    rlf_buf_free(&text);
    return status;
}

/* ---- verifying ---- */

static rlf_status
fail_damaged(const char *path, rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "%s is damaged: it is not what was saved",
                    path);
}

/* Are its own bytes those that were written? */
static bool
is_whole(const rlf_buf *text)
{
    const char *found = NULL, *next = text->n ? strstr(text->p, last_line) : 0;
    for (; next; next = strstr(next + 1, last_line))
        found = next;
    if (!found || strlen(text->p) != text->n)
        return false;
    char want[32];
    uint32_t sum = rlf_checksum(0, text->p, (size_t)(found - text->p));
    snprintf(want, sizeof want, "%" PRIu32 "}\n", sum);
    return strcmp(found + sizeof last_line - 1, want) == 0;
}

static rlf_status
load(const char *dir, rlf_arena *arena, rlf_err *err, json_t **out)
{
    const char *path = path_of(dir, arena);
    rlf_buf text = {0};
    bool there;
    RLF_TRY(rlf_file_own(path, false, err, &there));
    rlf_status status = rlf_file_read(path, (size_t)64 << 20, err, &text);
    rlf_buf_putc(&text, 0);
    text.n--;
    if (status >= 0 && !is_whole(&text))
        status = fail_damaged(path, err);
    if (status >= 0)
        status = rlf_json_parse(path, 1, text.p, text.n, err, out);
    rlf_buf_free(&text);
    return status;
}

static rlf_status
get_file(const json_t *entry, const char *dir, rlf_err *err, const char **name,
         uint64_t *size, uint32_t *sum)
{
    int64_t n = 0, crc = 0;
    RLF_TRY(rlf_json_get_text(entry, dir, "name", true, err, name));
    RLF_TRY(rlf_json_get_int(entry, dir, "size", true, err, &n));
    RLF_TRY(rlf_json_get_int(entry, dir, "crc32", true, err, &crc));
    *size = (uint64_t)n;
    *sum = (uint32_t)crc;
    return RLF_OK;
}

/* `only`: pass over all files but this one, if it is not NULL. */
static rlf_status
check_file(const char *dir, const json_t *entry, const char *only,
           rlf_arena *arena, rlf_err *err)
{
    const char *name;
    uint64_t size, now;
    uint32_t want, sum;
    RLF_TRY(get_file(entry, dir, err, &name, &size, &want));
    if (only && strcmp(name, only) != 0)
        return RLF_OK;
    const char *path = rlf_path_join(arena, dir, name);
    bool there; /* what may not be read may be whole: that is no damage */
    RLF_TRY(rlf_file_own(path, false, err, &there));
    RLF_TRY(rlf_checksum_file(path, err, &sum, &now));
    return now == size && sum == want ? RLF_OK : fail_damaged(path, err);
}

static rlf_status
check_files(const char *dir, const json_t *manifest, const char *only,
            rlf_arena *arena, rlf_err *err)
{
    json_t *files;
    RLF_TRY(rlf_json_get_array(manifest, dir, "files", true, err, &files));
    for (size_t i = 0; i < json_array_size(files); i++)
        RLF_TRY(check_file(dir, json_array_get(files, i), only, arena, err));
    return RLF_OK;
}

static rlf_status
get_best(const json_t *object, const char *dir, rlf_arena *arena, rlf_err *err,
         rlf_best *out)
{
    bool most = true;
    int64_t step = 0;
    RLF_TRY(rlf_json_get_text(object, dir, "metric", true, err, &out->metric));
    RLF_TRY(rlf_json_get_bool(object, dir, "most", true, err, &most));
    RLF_TRY(rlf_json_get_int(object, dir, "step", true, err, &step));
    RLF_TRY(rlf_json_get_number(object, dir, "value", false, err, &out->value));
    out->metric = rlf_arena_strdup(arena, out->metric);
    out->least = !most;
    out->step = (uint32_t)step;
    return RLF_OK;
}

static rlf_status
get_beside(const json_t *manifest, const char *dir, rlf_arena *arena,
           rlf_err *err, rlf_beside *out, bool *ended)
{
    json_t *journals, *best = NULL;
    const char *name;
    int64_t keep = 0;
    *out = (rlf_beside){0};
    RLF_TRY(
        rlf_json_get_array(manifest, dir, "journals", true, err, &journals));
    for (int i = 0; i < RLF_JOURNALS; i++)
        RLF_TRY(get_file(json_array_get(journals, (size_t)i), dir, err, &name,
                         &out->journals[i].size, &out->journals[i].checksum));
    RLF_TRY(rlf_json_get_bool(manifest, dir, "ended", true, err, ended));
    RLF_TRY(rlf_json_get_int(manifest, dir, "keep", false, err, &keep));
    out->keep = keep > 0 && keep <= UINT32_MAX ? (uint32_t)keep : 0;
    RLF_TRY(rlf_json_get_object(manifest, dir, "best", false, err, &best));
    return best ? get_best(best, dir, arena, err, &out->best) : RLF_OK;
}

rlf_status
rlf_manifest_check(const char *dir, rlf_arena *arena, rlf_err *err,
                   rlf_beside *beside, bool *ended)
{
    json_t *manifest = NULL;
    RLF_TRY(load(dir, arena, err, &manifest));
    rlf_status status = check_files(dir, manifest, NULL, arena, err);
    if (status >= 0)
        status = get_beside(manifest, dir, arena, err, beside, ended);
    json_decref(manifest);
    return status;
}

rlf_status
rlf_manifest_check_one(const char *dir, const char *name, rlf_arena *arena,
                       rlf_err *err)
{
    json_t *manifest = NULL;
    RLF_TRY(load(dir, arena, err, &manifest));
    rlf_status status = check_files(dir, manifest, name, arena, err);
    json_decref(manifest);
    return status;
}
