/* Files that options name to be written: none is written over what the command
 * reads, over what a run keeps in its directory, or over another one of them.
 * Nor does a run write over, move or remove what it reads, if that lies in its
 * directory under a name that it gives to a file of its own.
 *
 * These options, and those that name files which are read, are listed in
 * base/option.def. A file is what it is on the disk, by whatever path and links
 * it is reached; one that is not there yet is where it would be. */
#include "engine/api/machines/profile.h"
#include "engine/api/rundir/rundir.h"

#include "engine/base/digest.h"
#include "engine/base/option_table.h"
#include "engine/base/svg.h"
#include "engine/base/vec.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/output.h"

#include <string.h>
#include <sys/stat.h>

typedef struct guard {
    const rlf_output *output;
    rlf_inputs *inputs; /* of the session, once somebody asks for them */
    rlf_arena *arena;
    rlf_err *err;
    bool there; /* with this state: else it cannot be what is read */
    bool tree;  /* and all that lies in it, of a directory */
    struct stat info;
    const char *real;
} guard;

/* The part of a path behind `directory`; NULL: the path is not in there. */
static const char *
within(const char *path, const char *directory)
{
    size_t n = strlen(directory);
    bool is = strncmp(path, directory, n) == 0 && path[n] == '/';
    return is ? path + n + 1 : NULL;
}

static rlf_status
refuse(const guard *g, const char *what, const char *path)
{
    rlf_fail(g->err, RLF_USAGE, "%s %s would write over %s", g->output->option,
             g->output->path, what);
    if (path && strcmp(path, g->output->path) != 0)
        rlf_err_detail(g->err, "it is the same file as %s", path);
    rlf_err_hint(g->err, "give %s another %s", g->output->option,
                 strcmp(g->output->option, "--out") ? "file" : "directory");
    return RLF_USAGE;
}

/* Is what stands there the file at `path`? */
static bool
is_at(const guard *g, const char *path)
{
    struct stat other;
    if (!g->there || stat(path, &other) != 0)
        return false;
    if (g->tree && within(rlf_output_path(path, g->arena), g->real))
        return true;
    return other.st_ino == g->info.st_ino && other.st_dev == g->info.st_dev;
}

/* ---- what the command reads ---- */

bool
rlf_outputs_has(rlf_option option)
{
    return rlf_option_rows[option].type == RLF_OPTION_IS_OUTPUT;
}

static rlf_status
check_options(const guard *g, const rlf_session *s)
{
    for (size_t i = 0; i < s->given.count; i++) {
        const rlf_option_set *o = &s->given.data[i];
        rlf_option option = rlf_option_called(o->name);
        if (rlf_option_rows[option].type != RLF_OPTION_IS_INPUT)
            continue;
        const char *path = rlf_profile_path(o->value, g->arena);
        if (is_at(g, o->value) || is_at(g, path))
            return refuse(g,
                          rlf_arena_printf(g->arena, "the file of %s", o->name),
                          path);
    }
    return RLF_OK;
}

static rlf_status
check_sources(const guard *g, const rlf_session *s)
{
    for (size_t i = 0; i < s->program.sources.list.count; i++) {
        const rlf_source *source = &s->program.sources.list.data[i];
        if (is_at(g, source->path))
            return refuse(g,
                          i == 0           ? "the program"
                          : source->beside ? "a file that is read beside it"
                                           : "a file that the program imports",
                          source->path);
    }
    return RLF_OK;
}

static rlf_status
check_profiles(const guard *g, const rlf_session *s)
{
    for (int i = 0; s->planning.cluster && i < s->planning.cluster->n_parts;
         i++) {
        const char *path =
            s->planning.cluster->parts[i].machine->device->profile;
        if (path && is_at(g, path))
            return refuse(g, "a profile that the cluster names", path);
    }
    return RLF_OK;
}

/* "a file of the hook 'reward'": of an input that is called so, or so.PART. */
static const char *
words_of(const guard *g, const rlf_session *s, const char *name)
{
    size_t n = strcspn(name, ".");
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        if (strlen(r->name) == n && strncmp(r->name, name, n) == 0)
            return rlf_arena_printf(g->arena, "a file of the %s '%s'",
                                    r->class->name, r->name);
    }
    return rlf_arena_printf(g->arena, "a file of '%s'", name);
}

/* They are read only once. */
static rlf_status
collect(rlf_session *s, rlf_inputs *inputs, rlf_err *err)
{
    return inputs->list.count ? RLF_OK
                              : rlf_inputs_collect(s, false, err, inputs);
}

/* Data, models, hooks and what those load. */
static rlf_status
check_inputs(const guard *g, rlf_session *s)
{
    rlf_err *err = g->err;
    RLF_TRY(collect(s, g->inputs, err));
    for (size_t i = 0; i < g->inputs->list.count; i++) {
        const rlf_input *input = &g->inputs->list.data[i];
        if (input->path && is_at(g, input->path))
            return refuse(g, words_of(g, s, input->name), input->path);
    }
    return RLF_OK;
}

static rlf_status
check_read(const guard *g, rlf_session *s)
{
    rlf_err *err = g->err;
    RLF_TRY(check_options(g, s));
    RLF_TRY(check_sources(g, s));
    RLF_TRY(check_profiles(g, s));
    return check_inputs(g, s);
}

/* ---- directories of runs ---- */

/* The file below `directory` that is the output by another name (a hard link),
 * or NULL. */
static const char *
find_link(const guard *g, const char *directory)
{
    const char **names, *found = NULL;
    rlf_err ignored = RLF_ERR_NONE;
    size_t n = 0;
    if (rlf_dir_list(directory, g->arena, &ignored, &names, &n) < 0)
        return NULL;
    for (size_t i = 0; i < n && !found; i++) {
        const char *path = rlf_path_join(g->arena, directory, names[i]);
        struct stat st;
        if (lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            found = find_link(g, path);
        else if (st.st_ino == g->info.st_ino && st.st_dev == g->info.st_dev)
            found = path;
    }
    return found;
}

static rlf_status
check_run(const guard *g, const char *directory)
{
    const char *name = within(g->real, directory), *link;
    if (!name && g->there && S_ISREG(g->info.st_mode) &&
        g->info.st_nlink > 1 && (link = find_link(g, directory)))
        name = within(link, directory);
    size_t n = name ? strcspn(name, "/") : 0;
    if (!name || !rlf_directory_keeps(name, n))
        return RLF_OK;
    return refuse(g,
                  rlf_arena_printf(g->arena, "what a run keeps in %s: %s",
                                   directory, name),
                  NULL);
}

/* The run's own, which may not be there yet; what --like names; any other. */
static rlf_status
check_runs(const guard *g, const rlf_session *s)
{
    rlf_err *err = g->err;
    const char *around = rlf_directory_around(g->real, g->arena);
    const char *own = s ? s->options.directory : NULL;
    if (around)
        RLF_TRY(check_run(g, around));
    if (s && s->options.like)
        RLF_TRY(check_run(g, rlf_output_path(s->options.like, g->arena)));
    if (!own)
        return RLF_OK;
    own = rlf_output_path(own, g->arena);
    size_t n = strlen(g->real);
    bool file = !g->there || S_ISREG(g->info.st_mode);
    if (file && strncmp(own, g->real, n) == 0 && (!own[n] || own[n] == '/'))
        return refuse(
            g, rlf_arena_printf(g->arena, "the run's directory, %s", own),
            NULL);
    return check_run(g, own);
}

/* ---- the options ---- */

static guard
look(const rlf_output *output, rlf_inputs *inputs, rlf_arena *arena,
     rlf_err *err)
{
    guard g = {.output = output, .inputs = inputs, .arena = arena, .err = err};
    g.real = rlf_output_path(output->path, arena);
    g.there = stat(output->path, &g.info) == 0;
    return g;
}

/* One that is written through (a terminal, a pipe) loses nothing. */
static bool
is_through(const guard *g)
{
    return g->there && !S_ISREG(g->info.st_mode) && !S_ISDIR(g->info.st_mode);
}

static rlf_status
check_pair(const guard *g, const rlf_output *other)
{
    if (!is_at(g, other->path) &&
        strcmp(g->real, rlf_output_path(other->path, g->arena)) != 0)
        return RLF_OK;
    return refuse(g,
                  rlf_arena_printf(g->arena, "the file of %s", other->option),
                  other->path);
}

/* ---- what an earlier command wrote ---- */

/* The beginnings of files that rlflow has written: of the patterns, % is a
 * number and
 * * the rest of a line. One that begins otherwise is somebody's own, given by a
 * slip. */
typedef struct kind {
    const char *what, *begin;
    const char *empty; /* all of a file that has nothing in it, or NULL */
} kind;

static const kind trace_kind = {
    "trace",
    "[\n{\"name\": \"process_name\", \"cat\": \"\", \"ph\": \"M\", "
    "\"pid\": %, \"tid\": %, \"ts\": 0.000, "
    "\"args\": {\"name\": \"rank %\"}},\n"
    "{\"name\": \"thread_name\", \"cat\": \"\", \"ph\": \"M\", \"pid\": %, ",
    "[\n]\n"};
static const kind picture_kind = {
    "picture",
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%\" height=\"%\" "
    "*\n" RLF_SVG_MARK,
    NULL};
static const kind table_kind = {
    "table",
    "# rlflow schedule --models *\n"
    "# ends at %, holds % at most; no schedule ends before %\n"
    "places %\nmodel ",
    NULL};
static const kind profile_kind = {
    "profile",
    "{\"profile\":%,\n \"machine\":\"*\n \"program\":\"*\n \"models\":[", NULL};

static const kind report_kind = {
    "report",
    "<!doctype html>\n<!-- a report by rlflow, which replaces it -->\n", NULL};
static const kind answers_kind = {"answers", "{\"evaluation\":%,\"model\":\"",
                                  NULL};

/* The kind of file that the option writes, or NULL: any. The table of a session
 * is that of its measurements; without one it is a schedule's. */
static const kind *
kind_of(rlf_option option, const rlf_session *s)
{
    return option == RLF_OPTION_TRACE     ? &trace_kind
           : option == RLF_OPTION_SVG     ? &picture_kind
           : option == RLF_OPTION_ANSWERS ? &answers_kind
           : option == RLF_OPTION_HTML    ? &report_kind
           : option != RLF_OPTION_TABLE   ? NULL
           : s                            ? &profile_kind
                                          : &table_kind;
}

static bool
begins(const char *text, const char *pattern)
{
    for (; *pattern; pattern++) {
        size_t n = *pattern == '%'   ? strspn(text, "0123456789.e+-")
                   : *pattern == '*' ? strcspn(text, "\n")
                                     : *text == *pattern;
        if (!n && *pattern != '*')
            return false;
        text += n;
    }
    return true;
}

/* The beginning of a file, as a text. */
static rlf_status
read_begin(const guard *g, char **text)
{
    enum { MOST = 1 << 16 }; /* a command line's models are in it */
    rlf_err *err = g->err;
    rlf_infile *file;
    RLF_TRY(rlf_infile_open(g->real, err, &file));
    uint64_t n = rlf_infile_size(file);
    n = n < MOST ? n : MOST;
    *text = rlf_arena_alloc(g->arena, n + 1);
    (*text)[n] = '\0';
    rlf_status status = rlf_infile_read(file, 0, *text, n, err);
    rlf_infile_close(file);
    return status;
}

static rlf_status
check_kind(const guard *g, const rlf_session *s)
{
    const kind *like = kind_of(rlf_option_called(g->output->option), s);
    rlf_err *err = g->err;
    char *text;
    if (!like || !g->there || !S_ISREG(g->info.st_mode) || !g->info.st_size)
        return RLF_OK;
    RLF_TRY(read_begin(g, &text));
    if (begins(text, like->begin) ||
        (like->empty && strcmp(text, like->empty) == 0))
        return RLF_OK;
    refuse(g,
           rlf_arena_printf(g->arena,
                            "a file that is no %s of an earlier command",
                            like->what),
           NULL);
    rlf_err_hint(err, "or remove this one");
    return RLF_USAGE;
}

rlf_status
rlf_outputs_kinds(const rlf_outputs *outputs, rlf_session *s, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < outputs->count && status >= 0; i++) {
        rlf_output output = outputs->data[i];
        output.path = s ? rlf_session_own_file(s, output.path) : output.path;
        const guard g = look(&output, NULL, arena, err);
        status = check_kind(&g, s);
    }
    rlf_arena_free(arena);
    return status;
}

static rlf_status
check_all(const rlf_outputs *outputs, rlf_session *s, rlf_inputs *inputs,
          rlf_arena *arena, rlf_err *err)
{
    for (size_t i = 0; i < outputs->count; i++) {
        rlf_output output = outputs->data[i];
        output.path = s ? rlf_session_own_file(s, output.path) : output.path;
        const guard g = look(&output, inputs, arena, err);
        if (is_through(&g))
            continue;
        for (size_t k = 0; k < i; k++)
            RLF_TRY(check_pair(&g, &outputs->data[k]));
        RLF_TRY(check_runs(&g, s));
        if (g.there && s)
            RLF_TRY(check_read(&g, s));
    }
    return RLF_OK;
}

/* ---- the run's directory ---- */

/* Has a run left anything in the directory, however it ended? One that failed
 * while it began has written copies of its inputs, the program among them. */
static bool
has_traces(rlf_session *s, const char *directory, rlf_arena *arena)
{
    static const char *const traces[] = {"lock", "metrics.jsonl"};
    bool has =
        rlf_record_is_there(s) ||
        rlf_dir_exists(rlf_path_join(arena, directory, "inputs/program"));
    for (size_t i = 0; i < RLF_COUNT(traces); i++)
        has |= rlf_file_exists(rlf_path_join(arena, directory, traces[i]));
    return has;
}

/* Is it a file that the run replaces by itself, and may be given: the plan that
 * it wrote, when it goes on? */
static bool
is_own(rlf_session *s, const char *name, const char *path)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_digest digest;
    uint64_t size;
    return s->options.resume && strcmp(name, "plan.rlf") == 0 &&
           rlf_digest_file(path, true, &ignored, &digest, &size) >= 0 &&
           rlf_record_has_plan(s, digest);
}

static rlf_status
check_entry(rlf_session *s, const char *name, rlf_inputs *inputs,
            rlf_arena *arena, rlf_err *err)
{
    const char *path = rlf_path_join(arena, s->options.directory, name);
    const rlf_output output = {.option = "--out", .path = path};
    guard g = look(&output, inputs, arena, err);
    g.tree = g.there && S_ISDIR(g.info.st_mode);
    return g.there && !is_own(s, name, path) ? check_read(&g, s) : RLF_OK;
}

/* The place of an input's copy may hold something else, which is moved. */
static rlf_status
check_copies(rlf_session *s, rlf_inputs *inputs, rlf_arena *arena, rlf_err *err)
{
    RLF_TRY(collect(s, inputs, err));
    for (size_t i = 0; i < inputs->list.count; i++) {
        const rlf_input *in = &inputs->list.data[i];
        if (!in->copy)
            continue;
        const char *to = rlf_path_join(arena, s->options.directory, in->copy);
        const rlf_output output = {.option = "--out", .path = to};
        const guard g = look(&output, inputs, arena, err);
        rlf_err ignored = RLF_ERR_NONE;
        rlf_digest digest;
        char is[RLF_DIGEST_TEXT];
        uint64_t size;
        bool same = g.there &&
                    rlf_digest_file(to, true, &ignored, &digest, &size) >= 0 &&
                    strcmp(rlf_digest_print(digest, is), in->value) == 0;
        if (g.there && !same)
            RLF_TRY(check_read(&g, s));
    }
    return RLF_OK;
}

/* Files that the command reads stay as they are, whatever the directory holds.
 */
static rlf_status
check_kept(rlf_session *s, rlf_inputs *inputs, rlf_arena *arena, rlf_err *err)
{
    const char *directory = s->options.directory, **names;
    size_t n;
    bool may;
    RLF_TRY(rlf_dir_own(directory, err, &may));
    RLF_TRY(rlf_dir_list(directory, arena, err, &names, &n));
    for (size_t i = 0; i < n; i++)
        if (rlf_directory_changes(names[i]))
            RLF_TRY(check_entry(s, names[i], inputs, arena, err));
    return check_copies(s, inputs, arena, err);
}

/* A run writes files into its directory: over none that it reads, and a new one
 * over none that no run has left there. */
static rlf_status
check_directory(rlf_session *s, rlf_inputs *inputs, rlf_arena *arena,
                rlf_err *err)
{
    const char *name, *directory = s->options.directory;
    if (!directory || !s->leads || !rlf_dir_exists(directory))
        return RLF_OK;
    RLF_TRY(check_kept(s, inputs, arena, err));
    if (has_traces(s, directory, arena))
        return RLF_OK;
    for (size_t i = 0; (name = rlf_directory_replaces(i)); i++) {
        const char *path = rlf_path_join(arena, directory, name);
        bool there;
        RLF_TRY(rlf_file_find(path, err, &there));
        if (there)
            return rlf_directory_in_way(path, err);
    }
    return RLF_OK;
}

void
rlf_outputs_add(rlf_outputs *outputs, rlf_arena *arena, const char *option,
                const char *path)
{
    const rlf_output output = {.option = rlf_arena_strdup(arena, option),
                               .path = rlf_arena_strdup(arena, path)};
    RLF_PUSH_IN(arena, outputs, output);
}

rlf_status
rlf_outputs_try(const rlf_outputs *outputs, rlf_err *err)
{
    for (size_t i = 0; i < outputs->count; i++)
        RLF_TRY(rlf_output_check(outputs->data[i].path, err));
    return rlf_outputs_check(outputs, NULL, err);
}

rlf_status
rlf_outputs_check(const rlf_outputs *outputs, rlf_session *s, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_inputs inputs = {0};
    rlf_status status = check_all(outputs, s, &inputs, arena, err);
    if (status >= 0 && s)
        status = check_directory(s, &inputs, arena, err);
    if (status >= 0 && s)
        status = rlf_outputs_kinds(outputs, s, err);
    rlf_arena_free(arena);
    return status;
}
