/* The files that a path of data names: see shards.h. */
#include "engine/io/shards.h"

#include "engine/base/map.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"
#include "engine/io/arrow.h"
#include "engine/io/file.h"
#include "engine/io/parquet.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 }; /* files */

typedef RLF_VEC(const char *) path_list;

static const struct {
    const char *words; /* for messages */
    const char *endings[4];
} formats[] = {
    [RLF_SHARD_JSON] = {".jsonl or .json", {".jsonl", ".ndjson", ".json"}},
    [RLF_SHARD_CSV] = {".csv or .tsv", {".csv", ".tsv"}},
    [RLF_SHARD_PARQUET] = {".parquet or .arrow", {".parquet", ".arrow"}},
};

/* Files beside data sets, which say something of them. */
static const char *const beside[] = {
    "dataset_info.json", "dataset_infos.json", "dataset_dict.json",
    "state.json",        "metadata.json",
};

/* ---- names ---- */

/* The first n bytes of the name end so. */
static bool
ends_in(const char *name, size_t n, const char *ending)
{
    size_t m = strlen(ending);
    return n > m && memcmp(name + n - m, ending, m) == 0;
}

/* The length of the name without the format's ending; 0: it has none. */
static size_t
stem(const char *name, rlf_shard_format format)
{
    size_t n = strlen(name);
    if (*name == '.' || *name == '_')
        return 0;
    for (size_t i = 0; i < RLF_COUNT(beside); i++)
        if (strcmp(name, beside[i]) == 0)
            return 0;
    if (ends_in(name, n, ".arrow") && strncmp(name, "cache-", 6) == 0)
        return 0; /* what the library `datasets` has computed since */
    if (format != RLF_SHARD_PARQUET && ends_in(name, n, ".gz"))
        n -= 3;
    else if (format != RLF_SHARD_PARQUET && ends_in(name, n, ".zst"))
        n -= 4;
    for (const char *const *e = formats[format].endings; *e; e++)
        if (ends_in(name, n, *e))
            return n - strlen(*e);
    return 0;
}

static size_t
without_digits(const char *name, size_t n)
{
    while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    return n;
}

/* The length of the split's name, of a stem of n bytes; *numbered: "-of-" and
 * a count stand behind it. */
static size_t
split_of(const char *name, size_t n, bool *numbered)
{
    size_t m = without_digits(name, n);
    *numbered = false;
    if (m == n)
        return n;
    if (m > 4 && memcmp(name + m - 4, "-of-", 4) == 0) {
        size_t k = without_digits(name, m - 4);
        if (k < m - 4 && k && name[k - 1] == '-') {
            *numbered = true;
            return k - 1;
        }
    }
    return m && strchr("-_.", name[m - 1]) ? m - 1 : n;
}

/* Names that splits have wherever they are called so. */
static bool
is_usual(const char *name, size_t n)
{
    static const char *const usual[] = {
        "train",      "training",   "test",  "testing", "eval",
        "evaluation", "validation", "valid", "val",     "dev"};
    bool is = false;
    for (size_t i = 0; i < RLF_COUNT(usual); i++)
        is = is || (strlen(usual[i]) == n && memcmp(name, usual[i], n) == 0);
    return is;
}

static int
compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---- patterns ---- */

static bool
is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* All that `rest`, names with '/' between, is in `dir`. */
static rlf_status
match(const char *dir, const char *rest, rlf_arena *arena, rlf_err *err,
      path_list *out)
{
    rest += strspn(rest, "/");
    size_t n = strcspn(rest, "/");
    const char *name = rlf_arena_strndup(arena, rest, n);
    const char *path = rlf_path_join(arena, dir, name), **names;
    size_t count;
    bool last = rest[n] == 0;
    if (rlf_file_exists(path) || rlf_dir_exists(path) || !is_pattern(name)) {
        if (!last)
            return match(path, rest + n, arena, err, out);
        if (rlf_file_exists(path) && !rlf_dir_exists(path))
            RLF_PUSH_IN(arena, out, path);
        return RLF_OK;
    }
    const char *where = *dir ? dir : ".";
    if (!rlf_dir_exists(where))
        return RLF_OK;
    RLF_TRY(rlf_dir_list(where, arena, err, &names, &count));
    for (size_t i = 0; i < count; i++) {
        if (fnmatch(name, names[i], FNM_PERIOD) != 0)
            continue;
        path = rlf_path_join(arena, dir, names[i]);
        if (last && !rlf_dir_exists(path))
            RLF_PUSH_IN(arena, out, path);
        else if (!last && rlf_dir_exists(path))
            RLF_TRY(match(path, rest + n, arena, err, out));
        if (out->count > MOST)
            return rlf_fail(err, RLF_USER, "%s: more than a million files",
                            dir);
    }
    return RLF_OK;
}

/* ---- folders ---- */

/* The format's files in one folder, of `split`; *splits: all that they are of,
 * for messages, if `several`. */
typedef struct folder {
    const char *path;
    path_list files;
    rlf_buf splits;
    bool several;
    size_t all;      /* files of the format, whatever their split */
    rlf_buf folders; /* the names of those in it */
    bool has_data, has_split;
} folder;

static rlf_status
look(folder *f, rlf_shard_format format, const char *split, rlf_arena *arena,
     rlf_err *err)
{
    const char **names;
    size_t count;
    bool usual = false;
    rlf_map splits = {.arena = arena};
    RLF_TRY(rlf_dir_list(f->path, arena, err, &names, &count));
    for (size_t i = 0; i < count; i++) {
        const char *path = rlf_path_join(arena, f->path, names[i]);
        bool numbered;
        if (rlf_dir_exists(path)) {
            f->has_data = f->has_data || strcmp(names[i], "data") == 0;
            f->has_split =
                f->has_split || (split && strcmp(names[i], split) == 0);
            if (names[i][0] != '.')
                rlf_buf_printf(&f->folders, "%s%s", f->folders.n ? ", " : "",
                               names[i]);
            continue;
        }
        size_t n = stem(names[i], format);
        if (!n)
            continue;
        n = split_of(names[i], n, &numbered);
        usual = usual || numbered || is_usual(names[i], n);
        const char *own = rlf_arena_strndup(arena, names[i], n);
        if (!rlf_map_put(&splits, own, f)) { /* the first of its split */
            f->several = f->several || f->all;
            rlf_buf_printf(&f->splits, "%s%s", f->all ? ", " : "", own);
        }
        f->all++;
        if (!split || strcmp(split, own) == 0)
            RLF_PUSH_IN(arena, &f->files, path);
        if (f->all > MOST)
            return rlf_fail(err, RLF_USER, "%s: more than a million files",
                            f->path);
    }
    f->several = f->several && usual;
    return RLF_OK;
}

/* There is none whose name ends so. */
static rlf_status
fail_none(const folder *f, const char *path, const char *words, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "folder %s has no file that ends in %s", path,
             words);
    if (f->folders.n)
        rlf_err_hint(err, "the folders in it are %.*s: name one",
                     RLF_CUT(300, f->folders.p));
    return RLF_USER;
}

/* Checks a folder without a split: all files must be of one. `any`: files of
 * the other formats would do. */
static rlf_status
check_folder(const folder *f, const char *path, rlf_shard_format format,
             const char *split, bool any, rlf_err *err)
{
    if (!f->all)
        return fail_none(f, path,
                         any ? ".jsonl, .json, .csv, .tsv, .parquet or "
                               ".arrow"
                             : formats[format].words,
                         err);
    if (!f->files.count) {
        rlf_fail(err, RLF_USER, "folder %s has no files of the split \"%s\"",
                 path, split);
        rlf_err_hint(err, "it has %.*s", RLF_CUT(300, f->splits.p));
        return RLF_USER;
    }
    if (split || !f->several)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "folder %s has several splits: %.*s", path,
             RLF_CUT(300, f->splits.p));
    rlf_err_hint(err, "say which: split: \"%.*s\"",
                 (int)strcspn(f->splits.p, ","), f->splits.p);
    return RLF_USER;
}

static void
forget(folder *f)
{
    rlf_buf_free(&f->splits);
    rlf_buf_free(&f->folders);
}

/* In the folder itself, else in `data`, else in the split's own, where files
 * may be called as they like. */
static rlf_status
list_folder(const char *path, rlf_shard_format format, const char *split,
            bool any, rlf_arena *arena, rlf_err *err, path_list *out)
{
    folder f = {.path = path}, own = {0};
    rlf_status status = look(&f, format, split, arena, err);
    bool of_split = f.has_split && !f.files.count;
    if (status >= 0 && !f.all && f.has_data) {
        own.path = rlf_path_join(arena, path, "data");
        status = look(&own, format, split, arena, err);
        of_split = of_split && !own.files.count;
    }
    if (status >= 0 && of_split) {
        forget(&own);
        own = (folder){.path = rlf_path_join(arena, path, split)};
        status = look(&own, format, NULL, arena, err);
    }
    const folder *best = own.all ? &own : &f;
    if (status >= 0)
        status = check_folder(best, own.all ? own.path : path, format, split,
                              any, err);
    *out = best->files;
    forget(&f);
    forget(&own);
    return status;
}

/* ---- all ---- */

/* Sets the files' names: their paths without the folders that all of them begin
 * with. */
static void
cut_names(rlf_arena *arena, rlf_shard_files *shards)
{
    const char *first = shards->paths[0], *slash = strrchr(first, '/');
    size_t shared = slash ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < shards->count; i++)
        while (strncmp(first, shards->paths[i], shared) != 0)
            for (shared--; shared && first[shared - 1] != '/';)
                shared--;
    shards->names = RLF_NEW_ARRAY(arena, const char *, shards->count);
    for (size_t i = 0; i < shards->count; i++)
        shards->names[i] = shards->paths[i] + shared;
}

static rlf_status
list(const char *path, rlf_shard_format format, const char *split, bool any,
     rlf_arena *arena, rlf_err *err, rlf_shard_files *out)
{
    path_list paths = {0};
    bool is_folder = rlf_dir_exists(path);
    if (split && !is_folder) {
        rlf_fail(err, RLF_USER,
                 "%s is no folder, whose split \"%s\" could be "
                 "read",
                 path, split);
        rlf_err_hint(err, "split: is for folders; a file is named by itself");
        return RLF_USER;
    }
    if (is_folder)
        RLF_TRY(list_folder(path, format, split, any, arena, err, &paths));
    else if (rlf_file_exists(path) || !is_pattern(path))
        RLF_PUSH_IN(arena, &paths, rlf_arena_strdup(arena, path));
    else
        RLF_TRY(match(*path == '/' ? "/" : "", path, arena, err, &paths));
    if (!paths.count) {
        rlf_fail(err, RLF_USER, "no file is called as %s", path);
        rlf_err_hint(err, "* and ? stand for parts of names, and a path is "
                          "relative to the program's file");
        return RLF_USER;
    }
    qsort(paths.data, paths.count, sizeof *paths.data, compare);
    *out = (rlf_shard_files){.paths = paths.data, .count = paths.count};
    cut_names(arena, out);
    return RLF_OK;
}

rlf_status
rlf_shard_files_list(const char *path, rlf_shard_format format,
                     const char *split, rlf_arena *arena, rlf_err *err,
                     rlf_shard_files *out)
{
    return list(path, format, split, false, arena, err, out);
}

/* Files of any format in a folder; *format: that they are of. */
static rlf_status
list_any(const char *path, const char *split, rlf_arena *arena, rlf_err *err,
         rlf_shard_format *format, rlf_shard_files *out)
{
    static const rlf_shard_format order[] = {RLF_SHARD_PARQUET, RLF_SHARD_CSV,
                                             RLF_SHARD_JSON};
    rlf_status status = RLF_USER;
    rlf_err first = RLF_ERR_NONE;
    for (size_t i = 0; i < RLF_COUNT(order) && status < 0; i++) {
        rlf_err why = RLF_ERR_NONE;
        *format = order[i];
        status = list(path, *format, split, true, arena, &why, out);
        /* splits that are there tell more than a format that is not */
        if (status < 0 && (!first.status || strstr(why.sentence, "split")))
            first = why;
    }
    if (status < 0)
        *err = first;
    return status;
}

rlf_status
rlf_shard_files_find(const char *path, const char *split, rlf_arena *arena,
                     rlf_err *err, rlf_shard_format *format,
                     rlf_shard_files *out)
{
    static const char *const endings[] = {".csv",    ".tsv",     ".csv.gz",
                                          ".tsv.gz", ".csv.zst", ".tsv.zst"};
    size_t n = strlen(path);
    *format = RLF_SHARD_JSON;
    if (rlf_dir_exists(path))
        return list_any(path, split, arena, err, format, out);
    for (size_t i = 0; i < RLF_COUNT(endings); i++)
        if (ends_in(path, n, endings[i]))
            *format = RLF_SHARD_CSV;
    if (rlf_parquet_is(path) || rlf_arrow_is(path) ||
        ends_in(path, n, ".parquet") || ends_in(path, n, ".arrow"))
        *format = RLF_SHARD_PARQUET;
    return rlf_shard_files_list(path, *format, split, arena, err, out);
}
