/* rlflow cluster: check a cluster, and print it as a cluster file with what it
 * holds; `rlflow check` of such a file does the same. */
#include "engine/cmd/inside.h"

#include "engine/api/cluster.h"
#include "engine/api/profile.h"
#include "grammar/cluster.h"
#include "grammar/parse.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct reading {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_diags diags;
    rlf_err err;
} reading;

static void
begin(reading *r)
{
    *r = (reading){.arena = rlf_arena_new(), .err = RLF_ERR_NONE};
    r->sources.arena = r->diags.arena = r->arena;
    r->sources.columns = rlf_cmd_columns(STDERR_FILENO);
    r->diags.sources = &r->sources;
}

/* Print what is wrong, or the warnings; the exit status. */
static int
end(reading *r, rlf_status status)
{
    bool json = rlf_cmd_diag_json();
    rlf_buf text = {0};
    if (r->diags.list.count)
        (json ? rlf_diags_print_json : rlf_diags_print)(&r->diags, &text);
    else if (r->err.status < 0)
        (json ? rlf_err_print_json : rlf_err_print)(&r->err, &r->sources,
                                                    &text);
    fflush(stdout);
    if (text.n && json)
        rlf_cmd_put_text(text.p, stderr);
    else if (text.n)
        rlf_cmd_put_message(text.p);
    rlf_buf_free(&text);
    rlf_arena_free(r->arena);
    return rlf_cmd_status(rlf_session_result(status));
}

static void
put_cluster(const rlf_cluster *cluster)
{
    rlf_buf text = {0};
    rlf_cluster_print(cluster, &text);
    rlf_cmd_put_text(text.p, stdout);
    rlf_buf_free(&text);
}

int
rlf_cmd_cluster(const rlf_command_line *line)
{
    reading r;
    rlf_cluster *cluster;
    begin(&r);
    rlf_status status = rlf_cluster_open(line->files[0], r.arena, &r.sources,
                                         &r.diags, &r.err, &cluster);
    if (status >= 0)
        put_cluster(cluster);
    return end(&r, status);
}

/* The word of something that a program can be given, and a cluster cannot; or
 * NULL. The environment is for all commands. */
static const char *
not_of_clusters(const rlf_command_line *line)
{
    static const char *const words[] = {
#define OPTION(name, word, ...) "--" word,
#include "engine/base/option.def"
#undef OPTION
    };
    for (int i = 0; i < RLF_OPTIONS; i++)
        if (i != RLF_OPTION_DIAG && line->options[i].given &&
            !line->options[i].variable)
            return words[i];
    return line->n_settings ? line->settings[0].name : NULL;
}

/* The profiles that its devices name are profiles. */
static rlf_status
check_profiles(const rlf_cluster *cluster, rlf_arena *arena, rlf_err *err)
{
    for (int i = 0; i < cluster->n_parts; i++) {
        const char *path = cluster->parts[i].machine->device->profile;
        rlf_profile *profile;
        if (path)
            RLF_TRY(rlf_profile_open(path, arena, err, &profile));
    }
    return RLF_OK;
}

bool
rlf_cmd_check_cluster(const rlf_command_line *line, int *exit_status)
{
    reading r;
    uint32_t source;
    rlf_clusters all = {0};
    begin(&r);
    const rlf_ast_program *program = NULL;
    if (rlf_sources_read(&r.sources, line->files[0], &r.err, &source) >= 0)
        program = rlf_parse(&r.sources, source, r.arena, &r.diags);
    if (program && !program->decls.count && !r.diags.errors) {
        *exit_status = end(
            &r,
            rlf_fail(&r.err, RLF_USER,
                     "%s is empty: it declares neither a flow nor a cluster",
                     line->files[0]));
        return true;
    }
    if (!program || !rlf_cluster_is_file(program)) {
        rlf_arena_free(r.arena);
        return false;
    }
    const char *extra = not_of_clusters(line);
    rlf_status status =
        extra ? rlf_fail(&r.err, RLF_USAGE,
                         "%s declares a cluster, which takes no %s",
                         line->files[0], extra)
              : rlf_clusters_make(program, r.arena, &r.sources, &r.diags,
                                  &r.err, &all);
    for (int i = 0; i < all.n && status >= 0; i++)
        status = check_profiles(all.list[i], r.arena, &r.err);
    for (int i = 0; i < all.n && status >= 0; i++) {
        printf("%s%s: cluster %s is right\n", i ? "\n" : "", line->files[0],
               all.list[i]->name);
        put_cluster(all.list[i]);
    }
    *exit_status = end(&r, status);
    return true;
}
