/* Finds whether a program has room on a cluster, and how many machines it
 * takes.
 *
 * The bytes that all models keep, wherever they lie, are known from a few
 * layouts, before all are measured; that there is no placement, when the search
 * is over. */
#include "engine/api/searching/candidate.h"

#include <math.h>

#include "engine/api/machines/planned_device.h"
#include "engine/base/memory.h"
#include "engine/plan/candidate.h"
#include "engine/plan/rank_classes.h"
#include "engine/search/fixed_rows.h"

enum { TRIES = 6 };
/* Ranks; of those all words are tried; placements. */
enum { MOST_TRIED = 512, MOST_WORDS = 32, TRIED_MOVES = 400 };

/* Bytes of the plan of a placement, on the rank that takes most; INFINITY:
 * there is no plan. */
static double
plan_bytes(const rlf_searching *s, const rlf_pareto *pareto, const int *choice,
           bool gpu, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_plan *plan;
    rlf_opened opened;
    const int *ranks;
    double most = 0;
    int n;
    rlf_place_row *rows = rlf_pareto_rows(pareto, choice, arena, &n);
    if (rlf_plan_candidate(s->session->graph, rows, n, pareto->options.plan,
                           arena, &err, &plan) < 0)
        return INFINITY;
    n = rlf_rank_classes(plan, rlf_outline_layers(s->outline), arena, &ranks);
    for (int i = 0; i < n; i++) {
        if (rlf_outline_rank(s->outline, plan, ranks[i], arena, &err, &opened) <
            0)
            return INFINITY;
        most = fmax(most, rlf_planned_memory(&opened, gpu, arena));
    }
    return most;
}

/* Is a placement found whose plan fits, into devices that are alike? Where it
 * does not the search is made again with as much less, until that did not help
 * two times. */
static bool
fits_anyhow(const rlf_searching *s, rlf_pareto *pareto, rlf_arena *arena)
{
    const rlf_search_options few = {.moves = TRIED_MOVES};
    const rlf_device_kind *device =
        pareto->options.speeds->cluster->parts[0].machine->device;
    int ranks = pareto->problem.devices, alike = 0;
    double *memory = RLF_NEW_ARRAY(arena, double, ranks), part = 1;
    double least = INFINITY; /* bytes of a plan */
    pareto->problem.memory = memory;
    for (int try = 0; try < TRIES; try++) {
        rlf_found found;
        for (int r = 0; r < ranks; r++)
            memory[r] = part * device->memory;
        rlf_search(&pareto->problem, &few, arena, &found);
        if (!isfinite(found.best.period))
            return false;
        double bytes =
            plan_bytes(s, pareto, found.best.choice, device->gpu, arena);
        alike = bytes < least ? 0 : alike + 1;
        least = fmin(least, bytes);
        if (bytes <= device->memory)
            return true;
        if (alike == 2)
            return false;
        part *= 0.98 * device->memory / bytes;
    }
    return false;
}

/* Bytes that the fullest rank of a choice has at least; pages of a generation
 * are as many as there is memory for. */
static double
choice_bytes(const rlf_choice *at)
{
    double bytes = at->kept;
    if (at->pages)
        return bytes;
    bytes += at->own - at->lends;
    if (at->stages) {
        bytes = 0;
        for (int stage = 0; stage < at->pp; stage++)
            bytes = fmax(bytes, at->stages[stage].all - at->stages[stage].lends);
    }
    return bytes + at->work;
}

/* What no placement can do without: bytes of the call that takes most of a rank
 * in the way of it that takes least. */
static double
rank_bytes(const rlf_problem *p)
{
    double most = 0;
    for (int c = 0; c < p->n_calls; c++) {
        double least = INFINITY;
        for (int k = 0; k < p->calls[c].n_choices; k++)
            least = fmin(least, choice_bytes(&p->calls[c].choices[k]));
        most = fmax(most, least);
    }
    return most;
}

/* Does the program fit into so many machines of the cluster's kind? */
static bool
fits_into(const rlf_searching *s, int machines, rlf_arena *arena)
{
    rlf_cluster cluster = *s->session->planning.cluster;
    rlf_cluster_part part = cluster.parts[0];
    rlf_err err = RLF_ERR_NONE;
    part.count = machines;
    part.link = isfinite(part.link) ? part.link : part.machine->link;
    cluster.parts = &part;
    if (rlf_cluster_number(&cluster, &err) < 0)
        return false;
    rlf_speeds speeds = s->speeds;
    rlf_plan_options plan = s->plan;
    speeds.cluster = &cluster;
    plan.ranks = cluster.ranks;
    plan.sums = s->options->sums;
    rlf_pareto_options options = s->out->pareto.options;
    options.speeds = &speeds;
    options.plan = &plan;
    options.like = NULL;
    options.moves = NULL;
    rlf_pareto pareto;
    /* Words that take least of one call may leave more to a stage than others:
     * chunks divide layers more evenly. */
    for (int room = 1; room >= (cluster.ranks > MOST_WORDS); room--) {
        options.room = room;
        if (rlf_pareto_make(&options, arena, &err, &pareto) >= 0 &&
            rank_bytes(&pareto.problem) <= part.machine->device->memory &&
            fits_anyhow(s, &pareto, arena))
            return true;
    }
    return false;
}

static bool
fits_alone(const rlf_searching *s, int machines)
{
    rlf_arena *arena = rlf_arena_new();
    bool fits = fits_into(s, machines, arena);
    rlf_arena_free(arena);
    return fits;
}

/* Bytes that all devices together hold at least: what each model keeps for one
 * of its calls where it is cut into the fewest in all. */
static double
least_bytes(const rlf_problem *p)
{
    double sum = 0;
    for (int model = 0; model < p->n_models; model++) {
        double most = 0;
        for (int c = 0; c < p->n_calls; c++) {
            double least = INFINITY;
            if (p->calls[c].model != model)
                continue;
            for (int k = 0; k < p->calls[c].n_choices; k++) {
                const rlf_choice *at = &p->calls[c].choices[k];
                least = fmin(least, (at->kept + at->own) * at->count);
            }
            most = fmax(most, least);
        }
        sum += most;
    }
    return sum;
}

/* Cuts on more devices, with other lanes, may take less than those that are
 * known, but not less than this part. */
#define SURELY (2.0 / 3)

/* Machines below which a cluster of its kind has too little memory for the
 * program, however it is placed. */
static int
machines_too_few(const rlf_searching *s)
{
    const rlf_machine_kind *m = s->session->planning.cluster->parts[0].machine;
    double bytes =
        SURELY *
        (s->least > 0 ? s->least : least_bytes(&s->out->pareto.problem));
    return (int)fmin(bytes / (m->count * m->device->memory), MOST_TRIED);
}

/* Up to so many machines it is said to one. */
#define EXACT 32

/* The fewest machines of its kind, from so many on, that were found to do: of
 * those between two powers of two, of which the smaller does not do, by halves,
 * of many until they differ by an eighth; so wherever one begins the answer is
 * the same. 0: not known. */
int
rlf_search_room_machines(const rlf_searching *s, int first)
{
    const rlf_cluster *c = s->session->planning.cluster;
    int each = c->parts[0].machine->count, does = 1;
    if (c->n_parts != 1)
        return 0;
    int few = machines_too_few(s);
    if (few < first)
        few = first - 1;
    while (does <= few)
        does *= 2;
    while (!s->cut && does * each <= MOST_TRIED && !fits_alone(s, does))
        does *= 2;
    if (s->cut || does * each > MOST_TRIED)
        return 0;
    int lacks = does / 2;
    while (does - lacks > 1 && !s->cut &&
           (does <= EXACT || 8 * (does - lacks) > does)) {
        int middle = lacks + (does - lacks) / 2;
        if (middle > few && fits_alone(s, middle))
            does = middle;
        else
            lacks = middle;
    }
    return does;
}

/* ---- how much is missing ---- */

/* Placements that are looked at with so much more memory, how often that is
 * done, and the part to which it is then known. */
enum { LACK_MOVES = 4000, LACK_TRIES = 10, LACK_PART = 200 };

/* Bytes that the plan lacks of the placement that a search finds, or that comes
 * closest, if each device had so many `more`; INFINITY: there is none. */
static double
lack_with(rlf_searching *s, double more, bool *stopped)
{
    const rlf_search_options few = {.moves = LACK_MOVES,
                                    .stop = s->options->search.stop,
                                    .arg = s->options->search.arg};
    rlf_arena *arena = rlf_arena_new();
    rlf_err ignored = RLF_ERR_NONE;
    rlf_problem problem = s->out->pareto.problem;
    double *memory = RLF_NEW_ARRAY(arena, double, problem.devices);
    double lacks = INFINITY;
    rlf_found found;
    for (int r = 0; r < problem.devices; r++)
        memory[r] = problem.memory[r] + more;
    problem.memory = memory;
    rlf_search(&problem, &few, arena, &found);
    rlf_search_candidate j = {.placing = found.best};
    if ((isfinite(found.best.period) || isfinite(found.best.over)) &&
        rlf_search_candidate_plan(s, &j, &ignored) >= 0 && !j.host_lacks)
        lacks = j.lacks;
    *stopped = found.stopped;
    rlf_arena_free(arena);
    return lacks;
}

void
rlf_search_room_lack(rlf_searching *s)
{
    double least = 0;
    bool stopped = s->out->stopped;
    for (int try = 0; try < LACK_TRIES && !stopped && s->lacks > 0 &&
                      LACK_PART * (s->lacks - least) > s->lacks;
         try++) {
        double more = try ? (least + s->lacks) / 2 : s->lacks;
        double lacks = lack_with(s, more, &stopped);
        if (lacks > more && try)
            least = more;
        if (lacks > 0)
            s->lacks = fmin(s->lacks, lacks);
    }
}

/* Rounded up to four digits: with what is said it fits. */
static double
enough(double bytes)
{
    double unit = bytes > 0 ? pow(10, floor(log10(bytes)) - 3) : 1;
    return ceil(bytes / unit - 1e-6) * unit;
}

/* The hint names what would do. */
static rlf_status
add_hint(const rlf_searching *s, rlf_err *err)
{
    if (s->options->unhinted)
        return RLF_USER;
    int machines =
        rlf_search_room_machines(s, s->session->planning.cluster->machines + 1);
    if (machines)
        rlf_err_hint(err,
                     "it fits into %d of these machines; or take smaller "
                     "models, or lower caps (max_new:, tokens:, rows of "
                     "the draw)",
                     machines);
    else
        rlf_err_hint(err, "take more machines, smaller models, or lower caps "
                          "(max_new:, tokens:, rows of the draw)");
    return RLF_USER;
}

rlf_status
rlf_search_room_fail(const rlf_searching *s, rlf_err *err)
{
    if (s->out->stopped)
        return rlf_fail(err, RLF_STOPPED,
                        "the search was stopped before anything was found "
                        "that fits");
    RLF_TRY(rlf_fixed_rows_fit(&s->out->pareto, err));
    bool kept = rlf_fixed_rows_any(&s->out->pareto);
    char lacks[RLF_BYTES_TEXT];
    double bytes = s->lacks > 0 ? s->lacks : s->out->found.best.over;
    rlf_fail(err, RLF_USER,
             "the program does not fit into the cluster '%s'%s: the fullest "
             "device lacks %s",
             s->session->planning.cluster->name, kept ? " as its rows say" : "",
             rlf_gb_text(enough(bytes), 4, lacks));
    if (!kept)
        return add_hint(s, err);
    rlf_err_hint(err, "leave out some of the rows, or take more machines");
    return RLF_USER;
}

/* ---- before anything is measured ---- */

/* Bytes of the program's own plan on the rank that takes most; 0: it has none.
 */
static double
own_bytes(const rlf_searching *s, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_opened opened;
    const rlf_plan *plan = s->session->plan;
    double most = 0;
    const int *ranks;
    int n =
        rlf_rank_classes(plan, rlf_outline_layers(s->outline), arena, &ranks);
    for (int i = 0; i < n; i++) {
        if (rlf_outline_rank(s->outline, plan, ranks[i], arena, &err, &opened) <
            0)
            return 0;
        const rlf_device_kind *device =
            rlf_cluster_part_of(s->session->planning.cluster, ranks[i])
                ->machine->device;
        most = fmax(most, rlf_planned_memory(&opened, device->gpu, arena));
    }
    return most;
}

/* The least that all calls take of the devices; 0: it is not known. */
static double
ask_least(const rlf_searching *s, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_pareto room;
    rlf_pareto_options options = s->out->pareto.options;
    options.room = true;
    if (rlf_pareto_make(&options, arena, &err, &room) < 0)
        return 0;
    return least_bytes(&room.problem);
}

rlf_status
rlf_search_room_check(rlf_searching *s, rlf_err *err)
{
    const rlf_cluster *cluster = s->session->planning.cluster;
    rlf_arena *arena = rlf_arena_new();
    double all = 0;
    for (int r = 0; r < s->plan.ranks; r++)
        all += rlf_cluster_part_of(cluster, r)->machine->device->memory;
    bool asked =
        !s->out->pareto.options.keeps && own_bytes(s, arena) > all && !s->cut;
    double least = asked ? ask_least(s, arena) : 0;
    rlf_arena_free(arena);
    if (s->cut || least <= all)
        return RLF_OK;
    char lacks[RLF_BYTES_TEXT], takes[RLF_BYTES_TEXT], has[RLF_BYTES_TEXT];
    s->least = least;
    s->out->found.best = (rlf_placing){.period = INFINITY,
                                       .over = (least - all) / s->plan.ranks};
    rlf_fail(err, RLF_USER,
             "the program does not fit into the cluster '%s': the fullest "
             "device lacks at least %s, since what its models keep takes %s "
             "however they lie, and all devices have %s",
             cluster->name, rlf_gb_text(s->out->found.best.over, 3, lacks),
             rlf_gb_text(least, 3, takes), rlf_gb_text(all, 3, has));
    return add_hint(s, err);
}
