/* The card of a process: what has to be the same in all of them, a line each.
 * A line is what it is, a tab, its value; so a difference has a name.
 *
 * Files are compared by what is in them: the program's own as its hash, those
 * that it names by checksums. Nothing is opened as data or model here. */
#include "engine/api/session.h"

#include "config.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/lua/host.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static bool
ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

/* The rest of a line: what is in a file. A pipe cannot be read twice. */
static void
put_file(const char *path, rlf_buf *out)
{
    struct stat info;
    rlf_err ignored = RLF_ERR_NONE;
    uint32_t sum;
    uint64_t size;
    if (stat(path, &info) != 0)
        rlf_buf_puts(out, "\tnone\n");
    else if (!S_ISREG(info.st_mode))
        rlf_buf_puts(out, "\tno regular file\n");
    else if (rlf_checksum_probe(path, &ignored, &sum, &size) < 0)
        rlf_buf_puts(out, "\tone that cannot be read\n");
    else
        rlf_buf_printf(out, "\t%" PRIu64 " bytes, %08x\n", size, sum);
}

/* The same of a Lua file with all that it requires; false: it cannot be loaded
 * on its own. */
static bool
put_lua(const rlf_session *s, const char *path, rlf_buf *out)
{
    const rlf_lua_spec spec = {.path = path,
                               .dirs = &s->graph->stdlib,
                               .n_dirs = s->graph->stdlib ? 1 : 0};
    rlf_err ignored = RLF_ERR_NONE;
    const rlf_lua_program *program;
    rlf_lua_host *host;
    if (rlf_lua_program_open(s->arena, &spec, &ignored, &program) < 0 ||
        rlf_lua_host_new(program, NULL, &ignored, &host) < 0)
        return false;
    rlf_buf_printf(out, "\ttext %016" PRIx64 "\n", rlf_lua_host_hash(host));
    rlf_lua_host_free(host);
    return true;
}

/* What models and tokenizers are read from. */
static void
put_directory(const rlf_session *s, const char *path, const char *whose,
              rlf_buf *out)
{
    static const char *const endings[] = {".json", ".safetensors", ".txt"};
    const char **names;
    size_t count;
    rlf_err ignored = RLF_ERR_NONE;
    if (rlf_dir_list(path, s->arena, &ignored, &names, &count) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < RLF_COUNT(endings); k++) {
            if (!ends_in(names[i], endings[k]))
                continue;
            rlf_buf_printf(out, "file %s of %s", names[i], whose);
            put_file(rlf_path_join(s->arena, path, names[i]), out);
        }
}

static bool
is_path(const rlf_constructor *constructor, const char *name)
{
    for (int i = 0; constructor && name && i < constructor->n_formals; i++) {
        const rlf_formal *f = &constructor->formals[i];
        if (strcmp(f->name, name) == 0)
            return f->kind == RLF_FORMAL_PATH || f->kind == RLF_FORMAL_SOURCE;
    }
    return false;
}

/* The files that a declaration names. */
static void
put_files(const rlf_session *s, const rlf_classes *classes,
          const rlf_resource *r, rlf_buf *out)
{
    const rlf_constructor *constructor =
        rlf_classes_constructor(classes, r->kind, NULL, r->constructor);
    const char *whose =
        rlf_arena_printf(s->arena, "'%s'", r->name ? r->name : "");
    for (int i = 0; i < r->n_args; i++) {
        const rlf_arg *arg = &r->args[i];
        if (arg->kind != RLF_ARG_TEXT || !is_path(constructor, arg->name))
            continue;
        if (rlf_dir_exists(arg->text)) {
            put_directory(s, arg->text, whose, out);
            continue;
        }
        const char *name = strrchr(arg->text, '/');
        rlf_buf_printf(out, "file %s of %s", name ? name + 1 : arg->text,
                       whose);
        if (!ends_in(arg->text, ".lua") || !put_lua(s, arg->text, out))
            put_file(arg->text, out);
    }
}

void
rlf_card_write(const rlf_session *s, const rlf_classes *classes, rlf_buf *out)
{
    rlf_buf_puts(out, "version\t" PACKAGE_VERSION "\nexecutable file");
    put_file("/proc/self/exe", out);
    for (size_t i = 0; i < s->graph->params.count; i++) {
        const rlf_param *p = &s->graph->params.data[i];
        rlf_buf_printf(out, "parameter %s\t", p->name);
        rlf_buf_json(out, p->value, strlen(p->value));
        rlf_buf_putc(out, '\n');
    }
    const rlf_session_options *o = &s->options;
    rlf_buf_printf(out, "option --seed\t%" PRIu64 "\n", o->seed);
    rlf_buf_printf(out, "option --device\t%s\n", s->plan->numerics.backend);
    rlf_buf_printf(out, "option --dtype\t%s\n", s->plan->numerics.dtype);
    rlf_buf_printf(out, "option --resume\t%s\n", o->resume ? "yes" : "no");
    rlf_buf_printf(out, "program\t%016" PRIx64 "\n", s->plan->program_hash);
    for (size_t i = 0; i < s->graph->resources.count; i++)
        put_files(s, classes, &s->graph->resources.data[i], out);
    rlf_buf_printf(out, "plan\t%016" PRIx64 "\n", s->plan->hash);
}

rlf_status
rlf_card_compare(const char *first, const char *other, int rank, rlf_err *err)
{
    const char *a = first, *b = other;
    size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
    while (*a && n == m && memcmp(a, b, n) == 0) {
        a += n + 1;
        b += m + 1;
        n = strcspn(a, "\n");
        m = strcspn(b, "\n");
    }
    if (!*a && !*b)
        return RLF_OK;
    size_t word = strcspn(a, "\t"), other_word = strcspn(b, "\t");
    if (word == other_word && *a && memcmp(a, b, word) == 0)
        rlf_fail(err, RLF_USER,
                 "rank %d has another %.*s than rank 0: %.*s, not %.*s", rank,
                 (int)word, a, (int)(m - word - 1), b + word + 1,
                 (int)(n - word - 1), a + word + 1);
    else if (strncmp(a, "file ", 5) == 0 || strncmp(b, "file ", 5) == 0)
        rlf_fail(err, RLF_USER, "rank %d has %.*s where rank 0 has %.*s", rank,
                 (int)other_word, b, (int)word, a);
    else /* other parameters */
        rlf_fail(err, RLF_USER, "rank %d has another program than rank 0",
                 rank);
    rlf_err_hint(err, "program, its files, parameters, options and the version "
                      "of rlflow must be the same for all ranks");
    return RLF_USER;
}
