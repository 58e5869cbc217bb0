/* The digests of a run's checkpoints: see registry.h.
 *
 *     {"format":1,"checkpoints":[
 *      {"step":20,"manifest":"99aa..."},
 *      {"step":40,"manifest":"0c5f..."}],
 *      "xxh128":"77d0..."}
 */
#include "engine/sched/registry.h"

#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/sealed.h"

#include <inttypes.h>
#include <string.h>

enum { FORMAT = 1, MOST = 16 << 20 };

static void
read_entries(const json_t *list, rlf_arena *arena, rlf_registry *out)
{
    size_t n = json_array_size(list);
    out->entries = RLF_NEW_ARRAY(arena, struct rlf_registry_entry, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *from = json_array_get(list, i);
        const char *digest =
            json_string_value(json_object_get(from, "manifest"));
        int64_t step = 0;
        if (!digest || !rlf_json_as_int(json_object_get(from, "step"), &step))
            continue;
        out->entries[out->count].step = (uint32_t)step;
        out->entries[out->count++].digest = rlf_arena_strdup(arena, digest);
    }
}

void
rlf_registry_read(const char *directory, rlf_arena *arena, rlf_registry *out)
{
    rlf_err ignored = RLF_ERR_NONE;
    json_t *root = NULL;
    *out = (rlf_registry){
        .path = rlf_path_join(arena, directory, "checkpoints.json")};
    if (rlf_sealed_load(out->path, MOST, &ignored, &root) >= 0) {
        const json_t *list = json_object_get(root, "checkpoints");
        out->there = json_is_array(list);
        if (out->there)
            read_entries(list, arena, out);
    }
    json_decref(root);
}

static const struct rlf_registry_entry *
find(const rlf_registry *registry, uint32_t step)
{
    for (size_t i = 0; i < registry->count; i++)
        if (registry->entries[i].step == step)
            return &registry->entries[i];
    return NULL;
}

rlf_status
rlf_registry_check(const rlf_registry *registry, uint32_t step,
                   rlf_digest digest)
{
    const struct rlf_registry_entry *entry = find(registry, step);
    char text[RLF_DIGEST_TEXT];
    if (!entry)
        return RLF_AGAIN;
    return strcmp(entry->digest, rlf_digest_print(digest, text)) == 0
               ? RLF_OK
               : RLF_USER;
}

static void
put_entry(rlf_buf *out, uint32_t step, const char *digest)
{
    rlf_buf_printf(out, "%s\n {\"step\":%" PRIu32 ",\"manifest\":",
                   out->p[out->n - 1] == '[' ? "" : ",", step);
    rlf_buf_json(out, digest, strlen(digest));
    rlf_buf_putc(out, '}');
}

rlf_status
rlf_registry_note(const char *directory, const rlf_checkpoints *all,
                  uint32_t step, rlf_digest digest, rlf_arena *arena,
                  rlf_err *err)
{
    rlf_registry was;
    rlf_buf out = {0};
    char text[RLF_DIGEST_TEXT];
    rlf_registry_read(directory, arena, &was);
    rlf_buf_printf(&out, "{\"format\":%d,\"checkpoints\":[", FORMAT);
    for (size_t i = 0; i < all->count; i++) {
        const struct rlf_registry_entry *entry = find(&was, all->steps[i]);
        if (entry && entry->step != step)
            put_entry(&out, entry->step, entry->digest);
    }
    put_entry(&out, step, rlf_digest_print(digest, text));
    rlf_buf_putc(&out, ']');
    rlf_sealed_end(&out);
    rlf_status status = rlf_file_write(was.path, out.p, out.n, err);
    rlf_buf_free(&out);
    return status;
}
