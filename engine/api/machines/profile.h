/* Profiles of runs: measurements of ranks are collected while a session runs,
 * and become lines (engine/timing/profile.h); and profiles from files, held
 * against the program that they are to be used for. */
#ifndef RLF_API_MACHINES_PROFILE_H
#define RLF_API_MACHINES_PROFILE_H

#include "engine/api/session.h"
#include "engine/timing/profile.h"

/* Collects what several runs of one program measure, one after the other. */
typedef struct rlf_collector rlf_collector;

rlf_collector *rlf_collector_new(void);
void rlf_collector_free(rlf_collector *collector); /* NULL is fine */
/* Makes room for the ranks of the run of a session that is planned. */
rlf_status rlf_collector_begin(rlf_collector *collector, const rlf_plan *plan,
                               rlf_err *err, const rlf_measure **out);
/* The collector makes measurements of the plan's layouts, on ranks of so many
 * threads, of all that it saw since the last end; if not `keep`, it forgets
 * that. Between steps. */
void rlf_collector_end(rlf_collector *collector, int threads, bool keep);
/* Seconds that a rank was at work since the beginning, or the last end, as long
 * as that was not thousands of pieces. For benchmarks that hold seconds against
 * those of the simulation. */
double rlf_collector_busy(const rlf_collector *collector, int rank);
/* The least sure of all lines of the run at hand that matter: the largest
 * standard error of a mean time, as a part of it, weighted by the line's part
 * of the time. */
double rlf_collector_doubt(const rlf_collector *collector);
/* All lines and lengths; texts live in `arena`. */
rlf_status rlf_collector_profile(const rlf_collector *collector,
                                 rlf_session *session, rlf_arena *arena,
                                 rlf_err *err, rlf_profile *out);

/* Measure messages of two thread ranks, sums of 2, 4, ... up to `ranks` of them
 * and the controller's posts into `out`, in about so many seconds: sums of more
 * ranks than there was time for are left out, `*reached`: of how many there
 * are. Of a backend (NULL: the host's) whose devices have memory of their own,
 * and send to each other by themselves, in the place of messages and sums
 * copies to them. */
rlf_status rlf_profile_links(int ranks, double seconds,
                             const rlf_backend *backend, rlf_arena *arena,
                             rlf_err *err, int *reached, rlf_profile *out);

/* The file of a profile: of a run's directory its profile.json. In the arena,
 * or `path` itself. */
const char *rlf_profile_path(const char *path, rlf_arena *arena);
/* Read a profile, or that of a run's directory. RLF_USER, RLF_ENV. */
rlf_status rlf_profile_open(const char *path, rlf_arena *arena, rlf_err *err,
                            rlf_profile **out);
/* The one that a device's declaration names, where an error points to. */
rlf_status rlf_profile_of_device(const rlf_device_kind *device,
                                 rlf_arena *arena, rlf_err *err,
                                 rlf_profile **out);
/* RLF_USER if its models are others than the session's program has; and, if
 * `here`, if it is of another machine than this. Whether it is of such devices
 * depends on the part of the cluster, and is not looked at. */
rlf_status rlf_profile_suits(const rlf_profile *profile,
                             const rlf_session *session, bool here,
                             rlf_err *err);
/* Warns of profiles whose pieces were measured on ranks with other numbers of
 * threads than those that are planned for, of one of other devices, and of
 * links whose bytes cost nothing. */
void rlf_profile_warn(const rlf_session *session, rlf_buf *out);
/* Write it into the directory of a session's run, after its steps. */
rlf_status rlf_profile_leave(rlf_session *session, rlf_err *err);

#endif
