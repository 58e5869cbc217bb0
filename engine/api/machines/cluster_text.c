/* Clusters as texts: those of a session's own file, which is then no program,
 * and the one of a name. See rlflow.h. */
#include "engine/api/machines/cluster.h"
#include "engine/api/machines/profile.h"
#include "grammar/cluster.h"
#include "grammar/parse.h"

/* The profiles that its devices name are profiles. */
static rlf_status
check_profiles(const rlf_cluster *cluster, rlf_arena *arena, rlf_err *err)
{
    for (int i = 0; i < cluster->n_parts; i++) {
        const rlf_device_kind *device = cluster->parts[i].machine->device;
        rlf_profile *profile;
        if (device->profile)
            RLF_TRY(rlf_profile_of_device(device, arena, err, &profile));
    }
    return RLF_OK;
}

static rlf_status
read_file(rlf_session *s, const rlf_ast_program *program, rlf_err *err)
{
    rlf_clusters *all = RLF_NEW(s->arena, rlf_clusters);
    RLF_TRY(rlf_clusters_make(program, s->arena, &s->program.sources,
                              &s->program.diags, err, all));
    for (int i = 0; i < all->n; i++)
        RLF_TRY(check_profiles(all->list[i], s->arena, err));
    s->program.clusters = all;
    return RLF_OK;
}

/* The session's file, or its text. */
static const rlf_ast_program *
parse(const rlf_session *s, rlf_sources *sources, rlf_diags *diags,
      rlf_err *err)
{
    uint32_t source;
    rlf_status status =
        s->program.text
            ? rlf_sources_take(sources, s->program.path, s->program.text,
                               s->program.size, err, &source)
            : rlf_sources_read(sources, s->program.path, err, &source);
    return status < 0 ? NULL : rlf_parse(sources, source, s->arena, diags);
}

int
rlf_session_is_cluster(rlf_session *s)
{
    RLF_IN_LOCALE(s);
    if (!s || s->graph || rlf_session_failed(s))
        return 0;
    if (s->program.clusters)
        return 1;
    rlf_sources sources = {.arena = s->arena,
                           .columns = s->program.sources.columns,
                           .width = s->program.sources.width};
    rlf_diags diags = {.arena = s->arena, .sources = &sources};
    /* A program is not known as one by this: what is wrong in it is said when
     * it is compiled. */
    rlf_err ignored = RLF_ERR_NONE;
    const rlf_ast_program *program = parse(s, &sources, &diags, &ignored);
    if (program && !program->decls.count && !diags.errors) {
        rlf_fail(&s->err, RLF_USER,
                 "%s is empty: it declares neither a flow nor a cluster",
                 s->program.path);
        return 1;
    }
    return program && rlf_cluster_is_file(program);
}

static const rlf_cluster_text *
as_text(rlf_session *s, const rlf_cluster *cluster)
{
    rlf_buf_clear(&s->answer.text);
    rlf_cluster_print(cluster, &s->answer.text);
    s->answer.cluster =
        (rlf_cluster_text){.name = cluster->name, .text = s->answer.text.p};
    return &s->answer.cluster;
}

const rlf_cluster_text *
rlf_session_cluster(rlf_session *s, size_t i)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__, NULL))
        return NULL;
    const rlf_ast_program *program =
        s->program.clusters
            ? NULL
            : parse(s, &s->program.sources, &s->program.diags, &s->err);
    if (program)
        read_file(s, program, &s->err);
    bool there = s->program.clusters && s->err.status >= 0 &&
                 !s->program.diags.errors && i < (size_t)s->program.clusters->n;
    return there ? as_text(s, s->program.clusters->list[i]) : NULL;
}

const rlf_cluster_text *
rlf_session_cluster_called(rlf_session *s, const char *name)
{
    RLF_IN_LOCALE(s);
    rlf_cluster *cluster;
    if (!rlf_call_begins(s, __func__, RLF_POINTERS({"name", name})))
        return NULL;
    rlf_status status = rlf_cluster_open(name, s->arena, &s->program.sources,
                                         &s->program.diags, &s->err, &cluster);
    if (status >= 0)
        status = check_profiles(cluster, s->arena, &s->err);
    return status < 0 ? NULL : as_text(s, cluster);
}
