/* The plan of a session: for the devices that are here, or for those of a
 * cluster; its shards and lanes, where it goes on from a checkpoint; what was
 * measured; and, for `place auto`, the plan that is searched for
 * (searching/auto.c). */
#include "engine/api/searching/auto.h"
#include "engine/api/machines/cluster.h"
#include "engine/api/plan_origin.h"
#include "engine/api/machines/profile.h"
#include "engine/api/rundir/rundir.h"
#include "engine/plan/weight_copies.h"
#include "grammar/compile.h"
#include "nodes/table.h"

#include <string.h>

/* The last of the list whose devices can be used here; the first can be
 * anywhere. */
static const rlf_backend *
any_backend(const rlf_backend *const *list)
{
    const rlf_backend *found = *list;
    while (*++list) {
        rlf_err ignored = RLF_ERR_NONE;
        int n;
        if ((*list)->count(&n, &ignored) >= 0)
            found = *list;
    }
    return found;
}

const rlf_backend *
rlf_session_backend(rlf_session *s)
{
    rlf_session_options *o = &s->options;
    if (o->any_device)
        o->backend = any_backend(rlf_backends);
    return o->backend ? o->backend : *rlf_backends;
}

/* Shards and lanes of the checkpoint, or those that the run began with, but for
 * those that may be others. */
static rlf_status
sums_before(rlf_session *s, rlf_err *err, const rlf_sums **out)
{
    size_t n = s->graph->resources.count;
    const rlf_sums *was;
    json_t *begun = rlf_record_inputs(s, s->arena);
    rlf_status status = rlf_run_sums(s->graph, rlf_session_origin(s), begun,
                                     s->arena, err, &was);
    json_decref(begun);
    RLF_TRY(status);
    if (!was)
        return RLF_OK;
    rlf_sums *sums = RLF_NEW_ARRAY(s->arena, rlf_sums, n);
    for (size_t i = 0; i < n; i++) {
        sums[i] = was[i];
        if (rlf_inputs_accepted(&s->directory.inputs, "lanes"))
            sums[i].lanes = 0;
        if (rlf_inputs_accepted(&s->directory.inputs, "shards"))
            sums[i].shards = 0;
    }
    *out = sums;
    return RLF_OK;
}

/* RLF_USER: the profile was measured on other devices than those of the part. */
static rlf_status
suits_device(const rlf_session *s, const rlf_profile *p,
             const rlf_cluster_part *part, rlf_err *err)
{
    const rlf_device_kind *device = part->machine->device;
    if (p->gpu == device->gpu)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "%s was measured on %s, and '%s' of the cluster '%s' is a %s",
             p->path, p->gpu ? "GPUs" : "CPUs", device->name,
             s->planning.cluster->name, device->gpu ? "GPU" : "CPU");
    rlf_err_hint(err, "measure on such a machine (rlflow profile), or leave it "
                      "out: then the rates that are declared count");
    return RLF_USER;
}

/* Devices take their profiles: all of them that of --profile or --like, else
 * each the one that its declaration names. Of a run on other devices --like
 * takes the lengths alone. */
static rlf_status
take_profiles(rlf_session *s, rlf_err *err)
{
    const rlf_session_options *o = &s->options;
    bool here = s->planning.cluster->this_machine;
    rlf_profile *like = NULL, *all = NULL, *own;
    if (o->like)
        RLF_TRY(rlf_profile_open(o->like, s->arena, err, &like));
    if (o->profile)
        RLF_TRY(rlf_profile_open(o->profile, s->arena, err, &all));
    if (like)
        RLF_TRY(rlf_profile_suits(like, s, here && !all, err));
    if (all)
        RLF_TRY(rlf_profile_suits(all, s, here, err));
    s->planning.like = like;
    all = all ? all : like;
    s->planning.profiles = RLF_NEW_ARRAY(s->arena, const rlf_profile *,
                                         s->planning.cluster->ranks);
    for (int i = 0, any = 0; i < s->planning.cluster->n_parts; i++) {
        const rlf_cluster_part *part = &s->planning.cluster->parts[i];
        const rlf_device_kind *device = part->machine->device;
        own = all;
        if (own == like && like && like->gpu != part->machine->device->gpu)
            own = NULL;
        if (!own && device->profile) {
            RLF_TRY(rlf_profile_of_device(device, s->arena, err, &own));
            RLF_TRY(rlf_profile_suits(own, s, false, err));
        }
        if (own)
            RLF_TRY(suits_device(s, own, part, err));
        any += own != NULL;
        for (int k = 0; k < part->count * part->machine->count; k++)
            s->planning.profiles[part->first_rank + k] = own;
        if (i + 1 == s->planning.cluster->n_parts && !any)
            s->planning.profiles = NULL;
    }
    return RLF_OK;
}

static rlf_status
fail_profile(const rlf_session_options *o, rlf_err *err)
{
    rlf_fail(err, RLF_USAGE,
             "%s is for what is planned: it goes with --cluster, or with "
             "'place auto' in the program",
             o->profile ? "--profile" : "--like");
    return RLF_USAGE;
}

/* A run has the devices that there are: a cluster says how quick they are. */
static rlf_status
check_devices(const rlf_session *s, const rlf_plan_options *plan, rlf_err *err)
{
    const rlf_cluster *c = s->planning.cluster;
    bool gpu = c->parts[0].machine->device->gpu;
    if (!rlf_auto_asked(s)) {
        rlf_fail(err, RLF_USAGE,
                 "a run takes the devices that there are, and its program does "
                 "not say 'place auto', for which --cluster would be");
        rlf_err_hint(err,
                     "'rlflow plan --cluster %s --search' prints a plan "
                     "for them, which --plan takes",
                     s->options.cluster);
        return RLF_USAGE;
    }
    if ((strcmp(plan->backend, "cpu") != 0) != gpu)
        return rlf_fail(err, RLF_USAGE,
                        "the devices of the cluster '%s' are %s, and the run "
                        "computes on %s",
                        c->name, gpu ? "GPUs" : "CPUs",
                        gpu ? "CPUs: --device cuda" : "GPUs");
    if (plan->ranks > c->ranks)
        return rlf_fail(
            err, RLF_USAGE,
            "the cluster '%s' has %d device%s, too few for %d ranks", c->name,
            c->ranks, c->ranks == 1 ? "" : "s", plan->ranks);
    return RLF_OK;
}

/* A plan for the devices of a cluster, which this machine need not have. */
static rlf_status
take_cluster(rlf_session *s, bool runs, rlf_plan_options *plan, rlf_err *err)
{
    rlf_session_options *o = &s->options;
    rlf_links *links = RLF_NEW(s->arena, rlf_links);
    RLF_TRY(rlf_cluster_open(o->cluster, s->arena, &s->program.sources,
                             &s->program.diags, err, &s->planning.cluster));
    const rlf_cluster *c = s->planning.cluster;
    *links = rlf_links_of(c, s->arena);
    plan->links = links;
    if (runs)
        return check_devices(s, plan, err);
    bool gpu = c->parts[0].machine->device->gpu;
    if (o->ranks > c->ranks) {
        rlf_fail(err, RLF_USAGE,
                 "the cluster '%s' has %d device%s, too few for "
                 "--ranks %d",
                 c->name, c->ranks, c->ranks == 1 ? "" : "s", o->ranks);
        rlf_err_hint(err, "without --ranks there is one on each device");
        return RLF_USAGE;
    }
    if (o->backend && (strcmp(o->backend->name, "cpu") != 0) != gpu)
        return rlf_fail(err, RLF_USAGE,
                        "the devices of the cluster '%s' are %s, not --device "
                        "%s",
                        c->name, gpu ? "GPUs" : "CPUs", o->backend->name);
    if (gpu && !o->backend) {
        o->real = o->dtype && strcmp(o->dtype, "f32") == 0 ? RLF_CAST_F32
                                                           : RLF_CAST_BF16;
        plan->backend = "cuda";
        plan->dtype = rlf_cast_name(o->real);
    }
    plan->ranks = o->ranks ? o->ranks : c->ranks;
    return RLF_OK;
}

/* --moves is for a search only. */
static rlf_status
check_moves(const rlf_session *s, rlf_err *err)
{
    if (!rlf_session_given(s, "--moves") || s->options.search || rlf_auto_asked(s))
        return RLF_OK;
    rlf_fail(err, RLF_USAGE,
             "--moves is how much a search tries, and none is made: there is "
             "no 'place auto'");
    rlf_err_hint(err, "leave it out, or see 'rlflow plan --search'");
    return RLF_USAGE;
}

rlf_status
rlf_planning_begin(rlf_session *s, bool runs, rlf_err *err)
{
    rlf_session_options *o = &s->options;
    RLF_TRY(check_moves(s, err));
    const rlf_backend *backend = rlf_session_backend(s);
    RLF_TRY(rlf_backend_real(backend, o->dtype, &o->real, err));
    rlf_plan_options plan = {.ranks = o->ranks,
                             .backend = backend->name,
                             .dtype = rlf_cast_name(o->real)};
    if (s->world)
        plan.ranks = rlf_comm_world_size(s->world);
    if (!plan.ranks)
        plan.ranks = rlf_comm_launcher_size();
    if (o->cluster)
        RLF_TRY(take_cluster(s, runs, &plan, err));
    else if (rlf_auto_asked(s) && !o->search)
        RLF_TRY(rlf_auto_cluster(s, plan.ranks, backend, err));
    if (s->planning.cluster)
        RLF_TRY(take_profiles(s, err));
    else if (o->profile || o->like)
        return fail_profile(o, err);
    if (rlf_session_origin(s))
        RLF_TRY(sums_before(s, err, &plan.sums));
    s->planning.options = plan;
    if (s->retraced.one_rank)
        RLF_TRY(rlf_compile_place(s->program.compiled, "one rank",
                                  "place {\n}\n", err));
    RLF_TRY(rlf_plan_make(s->graph, &plan, s->arena, err, &s->plan));
    s->planning.options.same = s->plan;
    RLF_TRY(rlf_plan_origin_check(s, err));
    if (!o->plan)
        rlf_warn_rows(s);
    return rlf_plan_fits(s->plan, err);
}

rlf_status
rlf_planning_end(rlf_session *s, rlf_status status, rlf_err *err)
{
    const char *text = NULL;
    rlf_err lost = RLF_ERR_NONE;
    s->planning.searched =
        status >= 0 && rlf_auto_asked(s) && !s->options.search;
    if (s->planning.searched && s->leads)
        status = rlf_auto_find(s, err, &text);
    rlf_status shared = rlf_processes_share(s, &text, &lost);
    if (shared < 0 && status >= 0)
        *err = lost;
    if (status < 0 || shared < 0 || !text)
        return status < 0 ? status : shared;
    RLF_TRY(rlf_compile_place(s->program.compiled, "the plan of 'place auto'",
                              text, err));
    RLF_TRY(
        rlf_plan_make(s->graph, &s->planning.options, s->arena, err, &s->plan));
    return rlf_plan_fits(s->plan, err);
}
