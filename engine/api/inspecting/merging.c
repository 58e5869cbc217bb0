/* A model with an adapter becomes a model of its own, as a directory that other
 * programs read.
 *
 * It is written beside, as DIR.part, and gets its name when all of it is on the
 * disk. That name is given to no second writer: one that is there, of a merge
 * that was killed or of one that goes on, is refused. */
#include "engine/api/session.h"

#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "engine/text/files.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/merge.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static rlf_status
check_directory(const char *path, rlf_arena *arena, rlf_err *err)
{
    if (rlf_dir_exists(path))
        return RLF_OK;
    rlf_fail(err, RLF_USER, "%s is no directory", path);
    rlf_err_hint(err,
                 "merge takes the directory of a model, that of an "
                 "adapter, and the one to write%s",
                 rlf_hub_advice(path, arena));
    return RLF_USER;
}

/* The adapter is one, and the model is none. */
static rlf_status
check_kind(const char *path, bool adapter, rlf_err *err)
{
    if (rlf_adapter_is(path) == adapter)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             adapter ? "%s is no adapter: it has no " RLF_ADAPTER_CONFIG
                     : "%s is an adapter, where the model is asked for",
             path);
    rlf_err_hint(err, "write rlflow merge MODEL ADAPTER DIRECTORY");
    return RLF_USER;
}

/* Nothing is there yet, not even a link. */
static rlf_status
check_new(const char *dir, rlf_err *err)
{
    bool there;
    RLF_TRY(rlf_file_find(dir, err, &there));
    if (!there)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "%s is there already", dir);
    rlf_err_hint(err, "merge writes a new directory: give it another name");
    return RLF_USER;
}

/* Make the directory that is written, which must not be there. */
static rlf_status
make_part(const char *part, rlf_arena *arena, rlf_err *err)
{
    RLF_TRY(rlf_dir_make(rlf_path_parent(arena, part), err));
    if (mkdir(part, 0777) == 0)
        return RLF_OK;
    if (errno != EEXIST)
        return rlf_fail_errno(err, "cannot make directory %s", part);
    rlf_fail(err, RLF_USER, "%s is there already", part);
    rlf_err_hint(err, "another merge writes it, or was killed: then remove it");
    return RLF_USER;
}

static rlf_status
fill(const char *base, const char *adapter, const char *part, rlf_arena *arena,
     rlf_err *err, rlf_merged *out)
{
    rlf_tokenizer_files files;
    RLF_TRY(rlf_merge_write(base, adapter, part, arena, err, out));
    RLF_TRY(rlf_tokenizer_files_read(base, arena, err, &files));
    return rlf_tokenizer_files_write(&files, part, err);
}

/* A failure removes the files that were written, and its message stays. */
static rlf_status
merge(const char *base, const char *adapter, const char *dir, rlf_arena *arena,
      rlf_err *err, rlf_merged *out)
{
    rlf_err ignored = RLF_ERR_NONE;
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    const char *name = rlf_arena_strndup(arena, dir, n);
    const char *part = rlf_arena_printf(arena, "%s.part", name);
    base = rlf_hub_path(base, base, arena);
    adapter = rlf_hub_path(adapter, adapter, arena);
    RLF_TRY(check_directory(base, arena, err));
    RLF_TRY(check_directory(adapter, arena, err));
    RLF_TRY(check_kind(base, false, err));
    RLF_TRY(check_kind(adapter, true, err));
    RLF_TRY(check_new(name, err));
    RLF_TRY(make_part(part, arena, err));
    rlf_status status = fill(base, adapter, part, arena, err, out);
    if (status >= 0)
        status = check_new(name, err);
    if (status >= 0)
        status = rlf_path_rename(part, name, err);
    if (status < 0)
        rlf_dir_remove(part, &ignored);
    return status < 0 ? status : rlf_memory_check(err);
}

const char *
rlf_session_merge(rlf_session *s, const char *model, const char *adapter,
                  const char *directory)
{
    RLF_IN_LOCALE(s);
    rlf_merged merged;
    char bytes[RLF_BYTES_TEXT];
    if (!rlf_call_begins(s, __func__,
                         RLF_POINTERS({"model", model}, {"adapter", adapter},
                                      {"directory", directory})))
        return NULL;
    if (merge(model, adapter, directory, s->arena, &s->err, &merged) < 0)
        return NULL;
    rlf_buf out = {0};
    rlf_buf_line(&out, "%s: %s, %d tensors, %s, with adapters in %d of them\n",
                 directory, merged.architecture, merged.tensors,
                 rlf_bytes_text(merged.bytes, bytes), merged.adapted);
    if (merged.untied)
        rlf_buf_line(&out,
                     "%s: its files have an lm_head.weight that is not the "
                     "embedding, though config.json has "
                     "\"tie_word_embeddings\": true: that head is taken, and "
                     "%s says false\n",
                     model, directory);
    const char *text = rlf_arena_strndup(s->arena, out.p, out.n);
    rlf_buf_free(&out);
    return text;
}
