/* Candidates of a search: their plans, the memory that these take, and how long
 * their steps are in the simulation. Internal to the search (search.c), and to
 * the changes of the best candidates that are tried in the end
 * (layouts.c, generations.c, fused.c). */
#ifndef RLF_API_SEARCHING_CANDIDATE_H
#define RLF_API_SEARCHING_CANDIDATE_H

#include "engine/api/searching/search.h"

/* A search at work. */
typedef struct rlf_searching {
    rlf_session *session;
    const rlf_session_search_options *options;
    rlf_outline *outline;
    rlf_speeds speeds;
    rlf_speeds ordered; /* those of its problem, and */
    const int *rank_of; /* the ranks that are meant: see rlf_pareto_options */
    rlf_plan_options plan; /* the options by which candidates are planned */
    rlf_session_found *out;
    const rlf_less *less;     /* what was found with less; NULL: nothing was
                                 looked for */
    const rlf_placing *tried; /* found with these lanes when they were tried;
                                 NULL: nothing, or it is among what was found */
    bool cut;                 /* not all layouts were measured */
    double least; /* bytes that all devices hold at least; 0: not asked */
    double lacks; /* bytes that the fullest rank lacks of the plan that came
                     closest to fit; 0: none was weighed */
    const rlf_mean_step *best; /* the best mean step of all that was simulated;
                                  NULL: nothing was */
    rlf_map moves;    /* seconds of moves of weights, from all plans that were
                         simulated */
    rlf_arena *timed; /* pipelines that were timed, while it is at work */
    rlf_pipelines *pipelines;
    rlf_moves *weights; /* moves of them that were timed */
} rlf_searching;

/* The plan of a placement, where it has none, and what it takes of memory. An
 * error says why there is none, or why no rank can have it. */
rlf_status rlf_search_candidate_plan(rlf_searching *s, rlf_search_candidate *j,
                                     rlf_err *err);
/* Plans that a search makes for its answer, at most. */
enum { RLF_SEARCH_ASKED = 16 };
/* Who asks whether plans of placements fit, which may be of other lanes. */
typedef struct rlf_search_ask {
    rlf_searching *s;
    const rlf_pareto *pareto;
    const rlf_plan_options *plan;
    int left; /* plans that are still made; without any left all fit */
} rlf_search_ask;
/* `arg` is one of these: see rlf_search_options.may. */
bool rlf_search_may(void *arg, const rlf_placing *at);
/* It has a plan, and each rank has memory for it. */
bool rlf_search_candidate_fits(const rlf_search_candidate *j);
/* It takes the numbers of an earlier candidate that has the same plan. False:
 * there is none. */
bool rlf_search_candidate_take_same(const rlf_session_found *found,
                                    rlf_search_candidate *j);
/* The steps of one that fits, with lengths drawn by `seed`: if that is the
 * search's, fewer of them where it is clearly behind the best so far. */
rlf_status rlf_search_candidate_simulate(rlf_searching *s,
                                         rlf_search_candidate *j, uint64_t seed,
                                         rlf_err *err);
/* Was the search stopped, once `done` of its simulations were made? */
bool rlf_search_stopped(rlf_searching *s, int done);

/* Before anything is measured: RLF_USER, with how much is missing and what
 * would do, if what the models keep takes more than all devices have, however
 * they lie. */
rlf_status rlf_search_room_check(rlf_searching *s, rlf_err *err);
/* The same after a search that found nothing that fits; RLF_STOPPED if it was
 * stopped. Never RLF_OK. */
rlf_status rlf_search_room_fail(const rlf_searching *s, rlf_err *err);
/* After a search that found nothing that fits: `lacks` becomes the least that is
 * found to do if each device has so much more, since the placement that comes
 * closest in this memory is not the one that needs least more. */
void rlf_search_room_lack(rlf_searching *s);
/* The fewest machines of the cluster's kind, from `first` on, that were found
 * to do; 0: not known. */
int rlf_search_room_machines(const rlf_searching *s, int first);
/* After a search that found nothing that fits: the problem with the fewest
 * lanes, if it has more (*changed), since what ranks sum of several waits in
 * their memory. */
rlf_status rlf_search_fewest_lanes(rlf_searching *s, rlf_err *err,
                                   bool *changed);
/* After a search: whether lanes that less has would do better here, with few
 * moves; then those are taken, and the problem made anew: *changed. */
rlf_status rlf_search_lanes(rlf_searching *s, rlf_err *err, bool *changed);
/* The choice of a call that is on the same ranks and cut as one of another
 * problem, with its words; -1: there is none. */
int rlf_search_same_choice(const rlf_problem_call *call, const rlf_choice *as);
/* Once it is prepared: layouts are measured, then placements of them searched,
 * with the lanes that do best. */
rlf_status rlf_search_measure(rlf_searching *s, rlf_err *err);
rlf_status rlf_search_placements(rlf_searching *s, rlf_err *err);
/* After that, of machines of several kinds: whether some of the kinds alone do
 * better; then their lanes and what was found there are taken, and the problem
 * is made anew: *changed. */
rlf_status rlf_search_kinds(rlf_searching *s, rlf_err *err, bool *changed);
/* Cuts of the best placement's calls, downhill by simulation: what gains is
 * added to the candidates. */
rlf_status rlf_search_layouts(rlf_searching *s, rlf_err *err);
/* Thresholds and seats of generations (`migrate:` and `seats:`) for the best
 * placements that were simulated, where responses differ in length: what gains
 * is added to the candidates. */
rlf_status rlf_search_generations(rlf_searching *s, rlf_err *err);
/* The same for the last candidate, of which it was not looked for yet. */
rlf_status rlf_search_generations_last(rlf_searching *s, rlf_err *err);
/* Updates of two models in one pipeline, with the other calls as they are best
 * beside it: what gains is added to the candidates. */
rlf_status rlf_search_fused(rlf_searching *s, rlf_err *err);

#endif
