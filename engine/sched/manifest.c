/* Writing and verifying manifests: see manifest.h.
 *
 *     {"files":[
 *      {"name":"state.json","size":412,"xxh128":"6d1c..."},
 *      ...],
 *      "journals":[{"name":"metrics.jsonl","size":990,"crc32":17},...],
 *      "ended":false,
 *      "best":{"metric":"reward","most":true,"step":40,"value":0.75},
 *      "xxh128":"99aa..."}
 *
 * The last line is the digest of all text above it. */
#include "engine/sched/manifest.h"

#include "engine/base/vec.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/sealed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *const rlf_journal_names[RLF_JOURNALS] = {"metrics.jsonl",
                                                     "samples.jsonl",
                                                     "tokens.jsonl",
                                                     "ranks.jsonl"};

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
put_file(const char *name, uint64_t size, rlf_buf *out)
{
    rlf_buf_puts(out, "{\"name\":");
    rlf_buf_json(out, name, strlen(name));
    rlf_buf_printf(out, ",\"size\":%" PRIu64, size);
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
        rlf_digest digest;
        uint64_t size;
        char text[RLF_DIGEST_TEXT];
        RLF_TRY(rlf_digest_file(path, true, err, &digest, &size));
        rlf_buf_puts(out, out->n ? ",\n " : "{\"files\":[\n ");
        put_file(relative, size, out);
        rlf_buf_printf(out, ",\"xxh128\":\"%s\"}",
                       rlf_digest_print(digest, text));
    }
    RLF_TRY(rlf_dir_sync(here, err));
    return RLF_OK;
}

/* ... and the digest, which is returned. */
static rlf_digest
put_metadata(const rlf_checkpoint_metadata *metadata, bool ended, rlf_buf *out)
{
    rlf_buf_puts(out, "],\n \"journals\":[");
    for (int i = 0; i < RLF_JOURNALS; i++) {
        rlf_buf_puts(out, i ? "," : "");
        put_file(rlf_journal_names[i], metadata->journals[i].size, out);
        rlf_buf_printf(out, ",\"crc32\":%" PRIu32,
                       metadata->journals[i].checksum);
        for (size_t k = 0; k < metadata->journals[i].foreign.count; k++)
            rlf_buf_printf(out, "%s[%" PRIu64 ",%" PRIu64 "]",
                           k ? "," : ",\"foreign\":[",
                           metadata->journals[i].foreign.data[k].from,
                           metadata->journals[i].foreign.data[k].to);
        rlf_buf_puts(out, metadata->journals[i].foreign.count ? "]}" : "}");
    }
    rlf_buf_printf(out, "],\n \"ended\":%s,\n \"keep\":%" PRIu32,
                   ended ? "true" : "false", metadata->keep);
    const rlf_best *best = &metadata->best;
    if (best->metric) {
        rlf_buf_puts(out, ",\n \"best\":{\"metric\":");
        rlf_buf_json(out, best->metric, strlen(best->metric));
        rlf_buf_printf(out, ",\"most\":%s,\"step\":%" PRIu32 ",\"value\":",
                       best->least ? "false" : "true", best->step);
        rlf_buf_number(out, best->value);
        rlf_buf_putc(out, '}');
    }
    return rlf_sealed_end(out);
}

rlf_status
rlf_manifest_write(const char *dir, const rlf_checkpoint_metadata *metadata,
                   bool ended, rlf_arena *arena, rlf_err *err,
                   rlf_digest *digest)
{
    rlf_buf text = {0};
    rlf_status status = put_files(arena, dir, "", &text, err);
    if (status >= 0) {
        *digest = put_metadata(metadata, ended, &text);
        status = rlf_file_write(path_of(dir, arena), text.p, text.n, err);
    }
    rlf_buf_free(&text);
    return status;
}

/* ---- verifying ---- */

/* As versions before wrote it. */
static rlf_status
fail_old(const char *path, rlf_err *err)
{
    rlf_fail(err, RLF_ENV, "%s has the form of an earlier version of rlflow",
             path);
    rlf_err_hint(err, "go on with the version that wrote it");
    return RLF_ENV;
}

static rlf_status
load(const char *dir, rlf_arena *arena, rlf_err *err, rlf_digest *digest,
     json_t **out)
{
    const char *path = path_of(dir, arena);
    rlf_buf text = {0};
    bool there;
    RLF_TRY(rlf_file_own(path, false, err, &there));
    rlf_status status = rlf_file_read(path, (size_t)64 << 20, err, &text);
    if (status >= 0 && !rlf_sealed_is_whole(&text, digest)) {
        rlf_buf_putc(&text, 0);
        status = strstr(text.p, "\n \"crc32\":") ? fail_old(path, err)
                                                 : rlf_sealed_fail(path, err);
    }
    if (status >= 0)
        status = rlf_json_parse(path, 1, text.p, text.n, err, out);
    rlf_buf_free(&text);
    return status;
}

/* `only`: pass over all files but this one, if it is not NULL. */
static rlf_status
check_file(const char *dir, const json_t *entry, const char *only,
           rlf_arena *arena, rlf_err *err)
{
    const char *name, *want;
    int64_t size = 0;
    uint64_t now;
    rlf_digest digest;
    char is[RLF_DIGEST_TEXT];
    RLF_TRY(rlf_json_get_text(entry, dir, "name", true, err, &name));
    RLF_TRY(rlf_json_get_int(entry, dir, "size", true, err, &size));
    RLF_TRY(rlf_json_get_text(entry, dir, "xxh128", true, err, &want));
    if (only && strcmp(name, only) != 0)
        return RLF_OK;
    const char *path = rlf_path_join(arena, dir, name);
    bool there; /* what may not be read may be whole: that is no damage */
    RLF_TRY(rlf_file_own(path, false, err, &there));
    RLF_TRY(rlf_digest_file(path, true, err, &digest, &now));
    rlf_digest_print(digest, is);
    return now == (uint64_t)size && strcmp(is, want) == 0
               ? RLF_OK
               : rlf_sealed_fail(path, err);
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
get_foreign(const json_t *entry, const char *dir, rlf_arena *arena,
            rlf_err *err, rlf_checkpoint_metadata *out, int i)
{
    json_t *list = NULL;
    RLF_TRY(rlf_json_get_array(entry, dir, "foreign", false, err, &list));
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *pair = json_array_get(list, k);
        int64_t from = 0, to = 0;
        bool good = rlf_json_as_int(json_array_get(pair, 0), &from) &&
                    rlf_json_as_int(json_array_get(pair, 1), &to) &&
                    from >= 0 && to >= from;
        if (!good)
            return rlf_sealed_fail(dir, err);
        RLF_PUSH_IN(arena, &out->journals[i].foreign,
                    ((struct rlf_foreign){(uint64_t)from, (uint64_t)to}));
    }
    return RLF_OK;
}

static rlf_status
get_metadata(const json_t *manifest, const char *dir, rlf_arena *arena,
             rlf_err *err, rlf_checkpoint_metadata *out, bool *ended)
{
    json_t *journals, *best = NULL;
    int64_t keep = 0;
    *out = (rlf_checkpoint_metadata){0};
    RLF_TRY(
        rlf_json_get_array(manifest, dir, "journals", true, err, &journals));
    for (int i = 0; i < RLF_JOURNALS; i++) {
        const json_t *entry = json_array_get(journals, (size_t)i);
        int64_t size = 0, crc = 0;
        if (!entry)
            continue; /* of an rlflow that did not have it */
        RLF_TRY(rlf_json_get_int(entry, dir, "size", true, err, &size));
        RLF_TRY(rlf_json_get_int(entry, dir, "crc32", true, err, &crc));
        out->journals[i].size = (uint64_t)size;
        out->journals[i].checksum = (uint32_t)crc;
        RLF_TRY(get_foreign(entry, dir, arena, err, out, i));
    }
    RLF_TRY(rlf_json_get_bool(manifest, dir, "ended", true, err, ended));
    RLF_TRY(rlf_json_get_int(manifest, dir, "keep", false, err, &keep));
    out->keep = keep > 0 && keep <= UINT32_MAX ? (uint32_t)keep : 0;
    RLF_TRY(rlf_json_get_object(manifest, dir, "best", false, err, &best));
    return best ? get_best(best, dir, arena, err, &out->best) : RLF_OK;
}

rlf_status
rlf_manifest_check(const char *dir, rlf_arena *arena, rlf_err *err,
                   rlf_digest *digest, rlf_checkpoint_metadata *metadata,
                   bool *ended)
{
    json_t *manifest = NULL;
    RLF_TRY(load(dir, arena, err, digest, &manifest));
    rlf_status status = check_files(dir, manifest, NULL, arena, err);
    if (status >= 0)
        status = get_metadata(manifest, dir, arena, err, metadata, ended);
    json_decref(manifest);
    return status;
}

rlf_status
rlf_manifest_check_one(const char *dir, const char *name, rlf_arena *arena,
                       rlf_err *err, rlf_digest *digest)
{
    json_t *manifest = NULL;
    RLF_TRY(load(dir, arena, err, digest, &manifest));
    rlf_status status = check_files(dir, manifest, name, arena, err);
    json_decref(manifest);
    return status;
}

/* ---- removing ---- */

/* Is the file of that name in the directory itself, through no link? */
static bool
is_within(const char *dir, const char *name, rlf_arena *arena)
{
    struct stat st;
    for (size_t i = 0; name[i]; i++)
        if (name[i] == '/' &&
            (lstat(rlf_arena_printf(arena, "%s/%.*s", dir, (int)i, name),
                   &st) != 0 ||
             !S_ISDIR(st.st_mode)))
            return false;
    return true;
}

static rlf_status
remove_listed(const char *dir, const json_t *manifest, rlf_arena *arena,
              rlf_err *err)
{
    json_t *files = NULL;
    const char *name = NULL;
    RLF_TRY(rlf_json_get_array(manifest, dir, "files", true, err, &files));
    for (size_t i = 0; i < json_array_size(files); i++) {
        RLF_TRY(rlf_json_get_text(json_array_get(files, i), dir, "name", true,
                                  err, &name));
        if (is_within(dir, name, arena))
            RLF_TRY(rlf_dir_remove(rlf_path_join(arena, dir, name), err));
    }
    return rlf_dir_remove(path_of(dir, arena), err);
}

rlf_status
rlf_manifest_remove(const char *dir, rlf_arena *arena, rlf_err *err, bool *left)
{
    json_t *manifest = NULL;
    rlf_digest ignored;
    rlf_err why = RLF_ERR_NONE;
    struct stat st;
    *left = lstat(dir, &st) == 0 && S_ISLNK(st.st_mode);
    if (*left)
        return RLF_OK;
    if (rlf_manifest_exists(dir, arena)) {
        rlf_status status = load(dir, arena, &why, &ignored, &manifest);
        if (status == RLF_USER)
            return rlf_dir_remove(dir, err);
        *left = status == RLF_ENV; /* it is a link, or cannot be read */
        if (*left)
            return RLF_OK;
        if (status >= 0)
            status = remove_listed(dir, manifest, arena, &why);
        json_decref(manifest);
        if (status < 0)
            *err = why;
        RLF_TRY(status);
    }
    return rlf_dir_remove_empty(dir, err, left);
}
