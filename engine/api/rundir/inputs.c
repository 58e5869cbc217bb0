/* The list of a run's inputs (engine/sched/inputs.h), made of a session that is
 * compiled and planned: its own options, the program with its imports, the
 * parameters, and the files that declarations name, with what those load.
 *
 * Nothing is opened as data or model here: that a model directory has a file
 * that is read is known from the table below. A Lua file is loaded, so that the
 * modules that it requires are known. */
#include "engine/api/rundir/rundir.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/lua/host.h"
#include "engine/text/template.h"
#include "nodes/data.h"
#include "nodes/table.h"
#include "nodes/update.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* A text up to this size is copied into the run's directory. */
#define COPY_MOST ((uint64_t)16 << 20)

typedef struct collector {
    rlf_session *session;
    bool whole; /* digests of all bytes, of large files too */
    bool notes; /* no digests, only states */
    rlf_inputs *out;
    rlf_err *err;
    rlf_status status; /* of the first file that the machine did not give */
} collector;

/* The files of a model directory that a run reads, by the end of their names.
 * A new one is a row here. */
static const struct {
    const char *ending, *part; /* of the model, as --accept names it */
    bool text;
} model_files[] = {
    {"generation_config.json", "generation_config", true},
    {"tokenizer_config.json", "tokenizer", true},
    {"special_tokens_map.json", "tokenizer", true},
    {"added_tokens.json", "tokenizer", true},
    {"chat_template.json", "tokenizer", true},
    {"chat_template.jinja", "tokenizer", true},
    {"tokenizer.json", "tokenizer", true},
    {"vocab.json", "tokenizer", true},
    {"merges.txt", "tokenizer", true},
    {".safetensors.index.json", "weights", true},
    {".safetensors", "weights", false},
    {"config.json", "config", true}, /* and adapter_config.json */
};

static bool
ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A file that is wrong is an input like others; but what could not be found out
 * must not be left out. Whether that is so. */
static bool
fails(collector *c, rlf_status status, const rlf_err *why)
{
    if (status >= 0 || status == RLF_USER)
        return false;
    if (c->status >= 0)
        *c->err = *why;
    c->status = status;
    return true;
}

/* ---- entries ---- */

static rlf_input *
add(collector *c, const char *name, const char *part, const char *value)
{
    rlf_arena *arena = c->session->arena;
    rlf_input input = {.name = rlf_arena_strdup(arena, name),
                       .part = rlf_arena_strdup(arena, part),
                       .value = rlf_arena_strdup(arena, value)};
    RLF_PUSH_IN(arena, &c->out->list, input);
    return &c->out->list.data[c->out->list.count - 1];
}

/* Plans the place of a file's copy: as it was called, under the input's name.
 */
static void
plan_copy(const collector *c, rlf_input *input, const char *file)
{
    rlf_buf path = {0};
    rlf_buf_printf(&path, "inputs/%s/", input->name);
    for (; strncmp(file, "../", 3) == 0; file += 3)
        rlf_buf_puts(&path, "up/");
    rlf_buf_puts(&path, file + strspn(file, "/"));
    if (input->bytes <= COPY_MOST)
        input->copy = rlf_arena_strdup(c->session->arena, path.p);
    rlf_buf_free(&path);
}

static void
add_digest(collector *c, const char *name, const char *part, const char *path,
           rlf_digest digest, uint64_t bytes, const char *copy)
{
    char text[RLF_DIGEST_TEXT];
    rlf_input *input = add(c, name, part, rlf_digest_print(digest, text));
    input->path = rlf_arena_strdup(c->session->arena, path);
    input->bytes = bytes;
    if (copy)
        plan_copy(c, input, copy);
}

static int64_t
nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Of the last entry, whose file has been read. */
static void
add_state(collector *c)
{
    rlf_input *input = &c->out->list.data[c->out->list.count - 1];
    struct stat info;
    if (stat(input->path, &info) != 0)
        return;
    input->state = (rlf_input_state){.device = (uint64_t)info.st_dev,
                                     .inode = (uint64_t)info.st_ino,
                                     .size = (uint64_t)info.st_size,
                                     .modified = nanoseconds(info.st_mtim),
                                     .changed = nanoseconds(info.st_ctim)};
}

/* The digest of a file's bytes. A pipe cannot be read twice. */
static void
add_file(collector *c, const char *name, const char *part, const char *path,
         const char *copy)
{
    struct stat info;
    rlf_err why = RLF_ERR_NONE;
    rlf_digest digest;
    uint64_t size;
    bool there = stat(path, &info) == 0;
    rlf_status status =
        there ? RLF_OK : rlf_fail_path(&why, "cannot look at %s", path);
    if (there && S_ISREG(info.st_mode)) {
        digest = (rlf_digest){0};
        size = 0;
        if (!c->notes)
            status = rlf_digest_file(path, c->whole, &why, &digest, &size);
        if (status >= 0) {
            add_digest(c, name, part, path, digest, size, copy);
            add_state(c);
            return;
        }
    }
    if (fails(c, status, &why))
        return;
    rlf_input *input =
        add(c, name, part, there ? "one that cannot be read" : "none");
    input->path = rlf_arena_strdup(c->session->arena, path);
    if (there && !S_ISREG(info.st_mode)) {
        input->value = "no regular file";
        input->rows = true;
    }
}

/* ---- Lua ---- */

static double
number_of(const rlf_resource *r, const char *name)
{
    const rlf_arg *arg = rlf_args_find(r->args, r->n_args, name);
    return arg && arg->kind == RLF_ARG_NUMBER ? arg->number : 0;
}

static const char *
part_of(const collector *c, const char *module)
{
    return *module ? rlf_arena_printf(c->session->arena, "module %s", module)
                   : "";
}

/* The texts that a host has read. */
static void
add_sources(collector *c, const char *name, const char *path,
            const rlf_lua_host *host)
{
    rlf_arena *arena = c->session->arena;
    rlf_err why = RLF_ERR_NONE;
    size_t n;
    const rlf_lua_source *sources = rlf_lua_host_sources(host, &n);
    for (size_t i = 0; i < n; i++) {
        const char *module = sources[i].module;
        char *copy = rlf_arena_strdup(arena, base_name(path));
        if (*module) {
            copy = rlf_arena_strdup(arena, module);
            for (char *p = copy; *p; p++)
                *p = *p == '.' ? '/' : *p;
            copy = rlf_arena_printf(arena, "%s.lua", copy);
        }
        struct stat info = {0};
        if (stat(sources[i].path, &info) != 0)
            fails(c, rlf_fail_path(&why, "cannot look at %s", sources[i].path),
                  &why);
        uint64_t bytes = (uint64_t)info.st_size;
        add_digest(c, name, part_of(c, module), sources[i].path,
                   sources[i].digest, bytes, copy);
        add_state(c);
    }
}

/* The files that a host which did not come to its end would have loaded are not
 * known, but for what it did not find. host: NULL: nor was that begun. */
static void
add_unloaded(collector *c, const char *name, const char *path,
             const rlf_lua_host *host, const rlf_err *why)
{
    rlf_arena *arena = c->session->arena;
    size_t n = 0;
    const char *const *missing = host ? rlf_lua_host_missing(host, &n) : NULL;
    const char **absent = RLF_NEW_ARRAY(arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        absent[i] = part_of(c, rlf_arena_strdup(arena, missing[i]));
    rlf_unloaded entry = {.name = rlf_arena_strdup(arena, name),
                          .path = rlf_arena_strdup(arena, path),
                          .why = rlf_arena_strdup(arena, why->sentence),
                          .absent = absent,
                          .n_absent = n};
    RLF_PUSH_IN(arena, &c->out->unloaded, entry);
}

/* A Lua file with all that it requires, loaded for what calls it. Before the
 * run has loaded it that is within the default limits: a process that hangs
 * here would be waited for as one that reads large files. */
static void
add_lua(collector *c, const char *name, const char *path, const rlf_resource *r,
        rlf_lua_per per)
{
    const rlf_session *s = c->session;
    rlf_lua_spec spec = {.path = path,
                         .dirs = &s->graph->stdlib,
                         .n_dirs = s->graph->stdlib ? 1 : 0,
                         .per = per};
    if (s->closable) {
        spec.instructions = (uint64_t)number_of(r, "instructions");
        spec.memory = (uint64_t)number_of(r, "memory");
        spec.time = number_of(r, "time");
    }
    rlf_err why = RLF_ERR_NONE;
    const rlf_lua_program *program;
    rlf_lua_options options = {.unloaded = true};
    rlf_lua_host *host = NULL;
    rlf_status status = rlf_lua_program_open(s->arena, &spec, &why, &program);
    if (status >= 0)
        status = rlf_lua_host_new(program, &options, &why, &host);
    bool failed = fails(c, status, &why);
    if (!failed && host)
        add_sources(c, name, path, host);
    else if (!failed)
        add_file(c, name, "", path, base_name(path));
    if (!failed && status < 0)
        add_unloaded(c, name, path, host, &why);
    rlf_lua_host_free(host);
}

/* ---- models ---- */

/* Returns the row of the table that the file belongs to; -1: none, it is not
 * read. */
static int
row_of(const char *file)
{
    for (size_t i = 0; i < RLF_COUNT(model_files); i++)
        if (ends_in(file, model_files[i].ending))
            return (int)i;
    return -1;
}

/* The files of a directory that are read: weights and configuration of a model,
 * the tokenizer's, or both; generation_config.json is read with either, and is
 * the tokenizer's where that has a directory of its own. */
static void
add_directory(collector *c, const char *model, const char *path, bool weights,
              bool tokenizer)
{
    const rlf_session *s = c->session;
    const char **names;
    size_t count;
    rlf_err why = RLF_ERR_NONE;
    bool single = false;
    rlf_status status = rlf_dir_list(path, s->arena, &why, &names, &count);
    if (status < 0) {
        fails(c, status, &why);
        return;
    }
    for (size_t i = 0; i < count; i++)
        single |= strcmp(names[i], "model.safetensors") == 0;
    for (size_t i = 0; i < count; i++) {
        int row = row_of(names[i]);
        if (row < 0)
            continue;
        const char *part = model_files[row].part;
        bool is_weights = strcmp(part, "weights") == 0;
        bool is_config = strcmp(part, "config") == 0;
        if (strcmp(part, "tokenizer") == 0 ? !tokenizer
            : is_weights || is_config      ? !weights
                                           : false)
            continue;
        if (is_weights && single && strcmp(names[i], "model.safetensors") != 0)
            continue;
        if (!weights)
            part = "tokenizer";
        add_file(c, rlf_arena_printf(s->arena, "%s.%s", model, part), names[i],
                 rlf_path_join(s->arena, path, names[i]),
                 model_files[row].text ? names[i] : NULL);
    }
}

/* Chat templates that have names, in a folder beside a tokenizer. */
static void
add_templates(collector *c, const char *model, const char *path)
{
    rlf_arena *arena = c->session->arena;
    const char **paths;
    size_t count = 0;
    rlf_err why = RLF_ERR_NONE;
    rlf_status status = rlf_template_files(path, arena, &why, &paths, &count);
    if (status < 0)
        fails(c, status, &why);
    for (size_t i = 0; i < count && status >= 0; i++) {
        const char *name =
            rlf_path_join(arena, RLF_TEMPLATE_FOLDER, base_name(paths[i]));
        add_file(c, rlf_arena_printf(arena, "%s.tokenizer", model), name,
                 paths[i], name);
    }
}

/* A tokenizer by its directory, or by the one file that it is, beside which
 * the others lie. */
static void
add_tokenizer(collector *c, const char *model, const char *path)
{
    rlf_arena *arena = c->session->arena;
    if (rlf_dir_exists(path)) {
        add_directory(c, model, path, false, true);
        add_templates(c, model, path);
        return;
    }
    add_file(c, rlf_arena_printf(arena, "%s.tokenizer", model), "file", path,
             base_name(path));
    add_directory(c, model, rlf_path_parent(arena, path), false, true);
    add_templates(c, model, rlf_path_parent(arena, path));
}

/* The day on which the run began is an input where a tokenizer's template is to
 * be told it. */
static void
add_day(collector *c, const rlf_resource *r, const char *path)
{
    rlf_arena *arena = c->session->arena;
    rlf_err why = RLF_ERR_NONE;
    rlf_named_templates all;
    unsigned day = c->session->steps.day;
    rlf_status status = rlf_tokenizer_templates(path, arena, &why, &all);
    bool asks = false;
    if (status < 0 && fails(c, status, &why))
        return;
    for (size_t i = 0; status >= 0 && i < all.count; i++)
        asks |= all.data[i].source.p &&
                strstr(all.data[i].source.p, "strftime_now");
    if (!asks || rlf_args_find(r->args, r->n_args, "date") ||
        rlf_args_find(r->args, r->n_args, "template"))
        return;
    for (size_t i = 0; i < c->out->list.count; i++)
        if (strcmp(c->out->list.data[i].name, "date") == 0)
            return;
    add(c, "date", "",
        rlf_arena_printf(arena, "%04u-%02u-%02u", day / 10000, day / 100 % 100,
                         day % 100));
}

/* The adapter that a model begins with, if it is read. */
static void
add_adapter(collector *c, const rlf_resource *r)
{
    static const char *const files[] = {"adapter_config.json",
                                        "adapter_model.safetensors"};
    const rlf_arg *lora = rlf_args_find(r->args, r->n_args, "lora");
    const rlf_arg *from = lora && lora->kind == RLF_ARG_LIST
                              ? rlf_args_find(lora->list, lora->n_list, "from")
                              : NULL;
    rlf_arena *arena = c->session->arena;
    for (size_t i = 0; from && i < RLF_COUNT(files); i++)
        add_file(c, rlf_arena_printf(arena, "%s.lora", r->name), files[i],
                 rlf_path_join(arena, from->text, files[i]),
                 i == 0 ? files[i] : NULL);
}

static void
add_model(collector *c, const rlf_resource *r)
{
    const rlf_arg *from = rlf_args_plain(r->args, r->n_args, 0);
    const rlf_arg *tokenizer = rlf_args_find(r->args, r->n_args, "tokenizer");
    const rlf_arg *template = rlf_args_find(r->args, r->n_args, "template");
    const rlf_arg *tools = rlf_args_find(r->args, r->n_args, "tools");
    rlf_arena *arena = c->session->arena;
    if (!from)
        from = rlf_args_find(r->args, r->n_args, "from");
    bool own = tokenizer && tokenizer->kind == RLF_ARG_TEXT;
    if (from && from->kind == RLF_ARG_TEXT)
        add_directory(c, r->name, from->text, true, !own);
    if (from && from->kind == RLF_ARG_TEXT && !own)
        add_templates(c, r->name, from->text);
    add_adapter(c, r);
    if (own)
        add_tokenizer(c, r->name, tokenizer->text);
    if (own || (from && from->kind == RLF_ARG_TEXT))
        add_day(c, r, own ? tokenizer->text : from->text);
    if (tools && tools->kind == RLF_ARG_TEXT)
        add_file(c, rlf_arena_printf(arena, "%s.tools", r->name), "",
                 tools->text, base_name(tools->text));
    if (template && template->kind == RLF_ARG_TEXT)
        add_lua(c, rlf_arena_printf(arena, "%s.template", r->name),
                template->text, r, RLF_LUA_PER_TEMPLATE);
}

/* ---- declarations ---- */

static bool
is_compressed(const char *path)
{
    return ends_in(path, ".gz") || ends_in(path, ".zst");
}

static uint64_t
size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode)
               ? (uint64_t)info.st_size
               : 0;
}

/* One file, or several by their names; copies are made of those that are small
 * together. */
static void
add_files(collector *c, const rlf_resource *r, const char *path)
{
    rlf_shard_files shards;
    rlf_err why = RLF_ERR_NONE;
    uint64_t bytes = 0;
    rlf_status status = rlf_data_shards(r, c->session->arena, &why, &shards);
    if (status < 0 && !fails(c, status, &why))
        add(c, r->name, "", "none")->path = path;
    if (status < 0)
        return;
    bool one = shards.count == 1 && strcmp(shards.paths[0], path) == 0;
    for (size_t i = 0; i < shards.count; i++)
        bytes += size_of(shards.paths[i]);
    for (size_t i = 0; i < shards.count; i++)
        add_file(c, r->name, one ? "" : shards.names[i], shards.paths[i],
                 is_compressed(shards.paths[i]) ||
                         (shards.count > 1 && bytes > COPY_MOST)
                     ? NULL
                     : shards.names[i]);
}

static void
add_resource(collector *c, const rlf_resource *r)
{
    if (r->class->model) {
        add_model(c, r);
        return;
    }
    if (strcmp(r->constructor, "host") == 0)
        add(c, r->name, "", "a function of the host program");
    for (int i = 0; i < r->n_args; i++) {
        const rlf_arg *arg = &r->args[i];
        if (arg->kind != RLF_ARG_TEXT || !arg->path)
            continue;
        if (r->class->hook || ends_in(arg->text, ".lua"))
            add_lua(c, r->name, arg->text, r, RLF_LUA_PER_SAMPLE);
        else
            add_files(c, r, arg->text);
    }
}

/* A path as it is from the program's own directory or the library's, so that a
 * program that is moved with its files is the same. */
static const char *
short_path(const rlf_session *s, const char *path)
{
    const char *dir = rlf_path_parent(s->arena, s->program.path);
    const char *library = s->graph->stdlib;
    size_t n = strlen(dir), m = library ? strlen(library) : 0;
    if (m && strncmp(path, library, m) == 0 && path[m] == '/')
        return rlf_arena_printf(s->arena, "std%s", path + m);
    if (strncmp(path, dir, n) == 0 && path[n] == '/')
        return path + n + 1;
    return *path == '/' ? base_name(path) : path;
}

/* The program is what it computes; its texts are there to be compared when that
 * differs. */
static void
add_program(collector *c)
{
    const rlf_session *s = c->session;
    char digest[RLF_DIGEST_TEXT];
    add(c, "program", "", rlf_digest_print(s->plan->program, digest));
    for (size_t i = 0; i < s->program.sources.list.count; i++) {
        const rlf_source *source = &s->program.sources.list.data[i];
        if (source->beside)
            continue;
        const char *name = short_path(s, source->path);
        add_digest(c, "program", i ? name : "file", source->path,
                   rlf_digest_of(source->text, source->size), source->size,
                   name);
        rlf_input *input = &c->out->list.data[c->out->list.count - 1];
        input->noted = true;
        if (i == 0 && s->program.text)
            input->text = source->text;
    }
}

/* A path counts by what is in the file, which the declarations that use it have
 * in the list. */
static void
add_params(collector *c)
{
    const rlf_graph *graph = c->session->graph;
    for (size_t i = 0; i < graph->params.count; i++) {
        const rlf_param *p = &graph->params.data[i];
        if (strcmp(p->type, "path") != 0)
            add(c, p->name, "", p->value);
    }
}

/* Updates with `shared: true`, by the names that their metrics have. */
static void
add_shared(collector *c)
{
    const rlf_graph *graph = c->session->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->loss && node->loss->shared)
            add(c, "shared",
                rlf_update_metric(graph, node, "update", c->session->arena),
                "true");
    }
}

static void
add_numerics(collector *c)
{
    const rlf_plan *plan = c->session->plan;
    char number[32];
    add(c, "device", "", plan->numerics.backend);
    add(c, "dtype", "", plan->numerics.dtype);
    add(c, "version", "", plan->numerics.version);
    /* known once devices are open */
    const char *products =
        c->session->run ? rlf_run_products(c->session->run) : "";
    if (*products)
        add(c, "device", "products", products);
    for (size_t i = 0; i < plan->graph->resources.count; i++) {
        const rlf_resource *r = &plan->graph->resources.data[i];
        if (!r->class->model)
            continue;
        snprintf(number, sizeof number, "%d", plan->sums[i].shards);
        add(c, "shards", r->name, number);
        snprintf(number, sizeof number, "%d", plan->sums[i].lanes);
        add(c, "lanes", r->name, number);
    }
    add_shared(c);
}

static rlf_status
collect(collector *c)
{
    rlf_session *s = c->session;
    rlf_inputs *out = c->out;
    char number[32];
    out->list.data = NULL;
    out->list.count = out->list.room = 0;
    out->unloaded.data = NULL;
    out->unloaded.count = out->unloaded.room = 0;
    add_params(c);
    snprintf(number, sizeof number, "%" PRIu64, s->options.seed);
    add(c, "seed", "", number);
    for (size_t i = 0; i < s->graph->resources.count; i++)
        add_resource(c, &s->graph->resources.data[i]);
    add_program(c);
    add_numerics(c);
    return c->status;
}

rlf_status
rlf_inputs_collect(rlf_session *s, bool whole, rlf_err *err, rlf_inputs *out)
{
    collector c = {.session = s, .whole = whole, .out = out, .err = err};
    return collect(&c);
}

void
rlf_inputs_note(rlf_session *s)
{
    rlf_err ignored = RLF_ERR_NONE;
    collector c = {.session = s,
                   .notes = true,
                   .out = &s->directory.noted,
                   .err = &ignored};
    collect(&c);
}

static bool
is_same(const rlf_input_state *a, const rlf_input_state *b)
{
    return a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->modified == b->modified &&
           a->changed == b->changed;
}

static rlf_status
fail_changed(const rlf_input *input, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "%s changed while the run was begun", input->path);
    rlf_err_hint(err, "begin it again when nobody writes to that file");
    return RLF_USER;
}

rlf_status
rlf_inputs_same(const rlf_session *s, const rlf_inputs *inputs, rlf_err *err)
{
    size_t at = 0, n = s->directory.noted.list.count;
    for (size_t i = 0; i < inputs->list.count; i++) {
        const rlf_input *input = &inputs->list.data[i];
        if (!input->state.inode)
            continue;
        for (size_t k = 0; k < n; k++, at = (at + 1) % n) {
            const rlf_input *was = &s->directory.noted.list.data[at];
            if (!was->state.inode || strcmp(was->name, input->name) != 0 ||
                strcmp(was->path, input->path) != 0)
                continue;
            if (!is_same(&was->state, &input->state))
                return fail_changed(input, err);
            break;
        }
    }
    return RLF_OK;
}

/* ---- copies ---- */

/* A file with the digest `is` stands where a copy goes: an input as it was
 * before, which a checkpoint may still be of, or a damaged copy. */
static rlf_status
put_aside(rlf_session *s, const rlf_input *input, const char *path,
          const char *is, rlf_err *err)
{
    const char *aside = rlf_arena_printf(s->arena, "%s.was-%.8s", path, is);
    RLF_TRY(rlf_path_rename(path, aside, err));
    /* a start that was killed before it had a run.json may have left half */
    if (rlf_record_is_there(s) && !rlf_record_has_copy(s, input->copy, is))
        rlf_buf_line(&s->warned.lines,
                     "%s is not the copy that run.json tells of: it is "
                     "damaged, or of a start that was killed; it is now %s, "
                     "and %s is copied again\n",
                     path, aside, input->path);
    return RLF_OK;
}

static rlf_status
put_copy(rlf_session *s, const rlf_input *input, const char *to, rlf_err *err)
{
    rlf_buf text = {0}, there = {0};
    char is[RLF_DIGEST_TEXT];
    rlf_err ignored = RLF_ERR_NONE;
    rlf_status status = RLF_OK;
    if (input->text)
        rlf_buf_add(&text, input->text, input->bytes);
    else
        status = rlf_file_read(input->path, SIZE_MAX, err, &text);
    if (status >= 0 &&
        strcmp(rlf_digest_print(rlf_digest_of(text.p, text.n), is),
               input->value) != 0)
        status = fail_changed(input, err);
    bool has = false;
    if (status >= 0)
        status = rlf_file_own(to, false, err, &has);
    has = has && status >= 0 &&
          rlf_file_read(to, SIZE_MAX, &ignored, &there) >= 0;
    rlf_digest_print(rlf_digest_of(there.p, there.n), is);
    bool same = has && strcmp(is, input->value) == 0;
    if (has && !same)
        status = put_aside(s, input, to, is, err);
    else if (!has && status >= 0 && rlf_record_has_copy(s, input->copy, NULL))
        rlf_buf_line(&s->warned.lines,
                     "%s, of which run.json tells, is missing; %s is copied "
                     "again\n",
                     to, input->path);
    if (status >= 0 && !same)
        status = rlf_file_append(to, text.p, text.n, false, NULL, err);
    rlf_buf_free(&text);
    rlf_buf_free(&there);
    return status;
}

rlf_status
rlf_inputs_copy(rlf_session *s, const rlf_inputs *inputs, rlf_err *err)
{
    for (size_t i = 0; i < inputs->list.count; i++) {
        const rlf_input *input = &inputs->list.data[i];
        if (!input->copy)
            continue;
        const char *to =
            rlf_path_join(s->arena, s->options.directory, input->copy);
        rlf_status status = rlf_dir_make_in(s->options.directory,
                                            rlf_path_parent(s->arena, to), err);
        RLF_TRY(rlf_directory_blame(s, status, err));
        RLF_TRY(rlf_path_own(to, err));
        RLF_TRY(put_copy(s, input, to, err));
    }
    return RLF_OK;
}
