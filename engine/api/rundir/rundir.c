/* Files of a run: metrics.jsonl, samples.jsonl, plan.rlf. Not
 * run.json, which is record.c's.
 *
 * Of two runs of the same program, parameters, seed and data everything here
 * is equal byte for byte, except the seconds of a step. */
#include "engine/api/rundir/rundir.h"

#include "engine/comm/comm.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/lock.h"
#include "engine/sched/flight.h"

#include "engine/base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
inside(rlf_session *session, const char *name)
{
    return rlf_path_join(session->arena, session->options.directory, name);
}

rlf_status
rlf_rundir_default(const rlf_session *s, rlf_err *err, const char **out)
{
    const char *name = strrchr(s->program.path, '/');
    name = name ? name + 1 : s->program.path;
    size_t n = strlen(name);
    if (n > 4 && strcmp(name + n - 4, ".rlf") == 0)
        n -= 4;
    const char *last = NULL;
    for (int i = 1;; i++) {
        const char *dir = rlf_arena_printf(s->arena, "runs/%.*s", (int)n, name);
        if (i > 1)
            dir = rlf_arena_printf(s->arena, "%s-%d", dir, i);
        bool used;
        RLF_TRY(rlf_directory_holds_run(s, dir, err, &used));
        const char *lock = rlf_path_join(s->arena, dir, "lock");
        if (!used && !s->options.resume) /* one that is being begun has that */
            RLF_TRY(rlf_file_find(lock, err, &used));
        if (!used) {
            *out = s->options.resume && last ? last : dir;
            return RLF_OK;
        }
        last = dir;
    }
}

/* ---- what a run that was killed left ---- */

typedef struct flights {
    struct {
        rlf_flight_report *data;
        size_t count, room;
    } all;
} flights;

static int
by_loss(const void *a, const void *b)
{
    const rlf_flight_report *x = a, *y = b;
    return x->lost != y->lost ? y->lost - x->lost : x->rank - y->rank;
}

/* Somebody else may have given a file of his such a name: then it is not ours,
 * and has to go only if a rank of this run keeps its record there. */
static rlf_status
check_flight(const rlf_session *session, const char *path, const char *name,
             bool *ours, rlf_err *err)
{
    struct stat st;
    int ranks = session->options.ranks, others = rlf_comm_launcher_size();
    long rank = strtol(name + strlen("flight-"), NULL, 10);
    *ours =
        lstat(path, &st) != 0 || (S_ISREG(st.st_mode) && rlf_flight_is(path));
    return *ours || rank >= (ranks > others ? ranks : others)
               ? RLF_OK
               : rlf_directory_in_way(path, err);
}

/* The flight records, which go unless they are to stay. */
static rlf_status
take_flights(rlf_session *session, bool stay, flights *out, rlf_err *err)
{
    const char *dir = session->options.directory, **names;
    size_t count;
    if (!rlf_dir_exists(dir))
        return RLF_OK;
    RLF_TRY(rlf_dir_list(dir, session->arena, err, &names, &count));
    for (size_t i = 0; i < count; i++) {
        if (!rlf_directory_is_flight(names[i]))
            continue;
        rlf_flight_report report;
        if (rlf_flight_read(inside(session, names[i]), &report))
            RLF_PUSH_IN(session->arena, &out->all, report);
        if (stay)
            continue;
        bool ours;
        RLF_TRY(check_flight(session, inside(session, names[i]), names[i],
                             &ours, err));
        if (!ours)
            continue;
        rlf_opening_keep(session, inside(session, names[i]));
        unlink(inside(session, names[i]));
    }
    if (out->all.count)
        qsort(out->all.data, out->all.count, sizeof *out->all.data, by_loss);
    return RLF_OK;
}

/* Tells which rank was doing what: first those that are known to have died,
 * then all others that left a record, for a launcher that ends the survivors
 * may let one of them see another one go before it sees the one that was
 * killed. */
static const char *
tell_flights(rlf_session *session, const flights *f)
{
    enum { SHOWN = 8 };
    const char *text = NULL;
    for (size_t i = 0; i < f->all.count && i < SHOWN; i++) {
        const rlf_flight_report *r = &f->all.data[i];
        const char *one = r->text;
        if (f->all.count > 1 || r->rank > 0 || r->lost)
            one = rlf_arena_printf(session->arena, "rank %d in %s", r->rank,
                                   r->text);
        text = text ? rlf_arena_printf(session->arena, "%s; %s", text, one)
                    : rlf_arena_strdup(session->arena, one);
    }
    if (f->all.count > SHOWN)
        text = rlf_arena_printf(session->arena, "%s; and %zu more", text,
                                f->all.count - SHOWN);
    return text;
}

/* The others come after process 0. */
static rlf_status
see_directory(rlf_session *session, rlf_err *err)
{
    const char *dir = session->options.directory;
    RLF_TRY(rlf_processes_share(session, &dir, err)); /* when it is there */
    rlf_mutex_lock(&session->opening.mutex);
    session->options.directory = dir;
    session->opening.claimed = true;
    rlf_mutex_unlock(&session->opening.mutex);
    if (rlf_dir_exists(dir))
        return RLF_OK;
    rlf_fail(err, RLF_ENV, "process %d does not see the run's directory %s",
             rlf_comm_world_process(session->world), dir);
    rlf_err_hint(err, "start all processes in the same directory, on a file "
                      "system that all machines share");
    return RLF_ENV;
}

/* A run that made it too may remove it again before it is locked. */
static rlf_status
make_and_lock(rlf_session *session, rlf_err *err)
{
    enum { TRIES = 100 };
    const char *dir = session->options.directory;
    rlf_status status = RLF_OK;
    for (int i = 0; i < TRIES; i++) {
        rlf_err_clear(err);
        status = rlf_dir_make(dir, err);
        if (status < 0)
            rlf_err_hint(err, "give another directory with --out");
        if (status < 0 || session->directory.lock || session->options.dry)
            return status;
        status = rlf_lock_take(dir, err, &session->directory.lock);
        if (status >= 0 || rlf_dir_exists(dir))
            return status;
    }
    return status;
}

/* Take the directory. RLF_USER: another run has it, or had it: looked at once
 * it is locked, for one that had it may have begun and ended meanwhile. */
static rlf_status
claim(rlf_session *session, rlf_err *err)
{
    const char *dir = session->options.directory;
    flights left = {0};
    rlf_err why = RLF_ERR_NONE; /* why it cannot be made or locked */
    const char *around = rlf_directory_around(dir, session->arena);
    if (around) {
        rlf_fail(err, RLF_USER, "%s lies in the directory of another run, %s",
                 dir, around);
        rlf_err_hint(err, "that run removes and replaces what is in it: give "
                          "a directory beside it with --out");
        return RLF_USER;
    }
    for (const char *path = dir; !rlf_dir_exists(path);
         path = rlf_path_parent(session->arena, path))
        session->directory.made++;
    rlf_status status = make_and_lock(session, &why);
    if (status == RLF_USER || (status < 0 && session->directory.made)) {
        *err = why;
        return status;
    }
    bool holds;
    if (status >= 0 && !session->options.resume && !session->options.dry)
        RLF_TRY(rlf_directory_kinds(session, err));
    RLF_TRY(rlf_directory_holds_run(session, dir, err, &holds));
    bool taken = holds && !session->options.resume;
    RLF_TRY(take_flights(session, taken || session->options.dry, &left, err));
    session->directory.killed = tell_flights(session, &left);
    if (taken) {
        rlf_fail(err, RLF_USER, "%s holds a run already", dir);
        rlf_err_hint(err, "go on with it by --resume, or give another "
                          "directory with --out");
        if (session->directory.killed)
            rlf_err_detail(err, "it was killed: %s", session->directory.killed);
        return RLF_USER;
    }
    /* of one that was killed while it opened, that is said with its record */
    bool copies = rlf_dir_exists(inside(session, "inputs"));
    if (session->options.resume && !session->options.dry && !holds && !copies &&
        !session->directory.killed)
        rlf_buf_line(&session->warned.lines,
                     "--resume: %s holds no run, so it begins at step 1\n",
                     dir);
    if (status < 0)
        *err = why;
    return status < 0 || session->options.dry
               ? status
               : rlf_directory_look(session, err);
}

/* Runs that begin at the same moment may choose the same name, of which one
 * gets it, or remove the directory that it is made in. */
static rlf_status
choose_and_claim(rlf_session *session, rlf_err *err)
{
    enum { TRIES = 1000 };
    rlf_status status = claim(session, err);
    for (int i = 0; i < TRIES && session->directory.chose && status == RLF_USER;
         i++) {
        rlf_rundir_undo(session);
        session->directory.killed = NULL;
        session->directory.made = 0;
        rlf_err_clear(err);
        RLF_TRY(rlf_rundir_default(session, err, &session->options.directory));
        status = claim(session, err);
    }
    return status;
}

static rlf_status
make_directory(rlf_session *session, rlf_err *err)
{
    rlf_mutex_lock(&session->opening.mutex);
    rlf_status status = choose_and_claim(session, err);
    session->opening.claimed = true;
    rlf_mutex_unlock(&session->opening.mutex);
    return status;
}

rlf_status
rlf_rundir_open(rlf_session *session, rlf_err *err)
{
    if (session->leads)
        RLF_TRY(make_directory(session, err));
    if (session->world)
        RLF_TRY(see_directory(session, err));
    rlf_buf mine = {0};
    rlf_record_process(&mine);
    rlf_status status =
        rlf_processes_list(session, &mine, err, &session->directory.processes);
    rlf_buf_free(&mine);
    return status;
}

void
rlf_rundir_undo(rlf_session *session)
{
    const char *path = session->options.directory;
    if (!session->opening.begun)
        rlf_opening_restore(session);
    rlf_lock_release(session->directory.lock);
    session->directory.lock = NULL;
    for (; session->directory.made && rmdir(path) == 0;
         session->directory.made--)
        path = rlf_path_parent(session->arena, path);
}

rlf_status
rlf_rundir_keep_plan(rlf_session *session, rlf_err *err)
{
    const char *path = inside(session, "plan.rlf"), *to;
    rlf_digest digest;
    uint64_t size;
    bool there;
    RLF_TRY(rlf_file_own(path, false, err, &there));
    if (!there &&
        session->steps.resumed) /* a checkpoint is behind the first plan */
        rlf_buf_line(&session->warned.lines,
                     "%s is missing; the plan of this start is written\n",
                     path);
    if (!there)
        return RLF_OK;
    RLF_TRY(rlf_digest_file(path, true, err, &digest, &size));
    rlf_buf text = {0};
    rlf_plan_print(session->plan, &text);
    bool same = rlf_digest_equal(digest, rlf_digest_of(text.p, text.n));
    rlf_buf_free(&text);
    if (same || rlf_record_has_plan(session, digest))
        return RLF_OK;
    RLF_TRY(rlf_journal_free_name(session, path, err, &to));
    RLF_TRY(rlf_path_rename(path, to, err));
    rlf_buf_line(&session->warned.lines,
                 "%s is not a plan that run.json tells of: it was edited, or "
                 "one of the two is damaged; it is now %s, and the plan of "
                 "this start is written\n",
                 path, to);
    return RLF_OK;
}

rlf_status
rlf_rundir_plan(rlf_session *session, rlf_err *err)
{
    rlf_buf text = {0};
    rlf_plan_print(session->plan, &text);
    rlf_status status =
        rlf_file_write(inside(session, "plan.rlf"), text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

/* Writes the seconds of the step, and what they went to: last in a line, since
 * they alone differ between equal runs. */
static void
put_seconds(const rlf_session *session, rlf_buf *out)
{
    double rest = session->steps.seconds;
    rlf_buf_printf(out, ",\"seconds\":%.6f", rest);
    for (int i = 0; i < RLF_TIMES; i++) {
        double seconds = rlf_run_seconds(session->run, i);
        rlf_buf_printf(out, ",\"seconds.%s\":%.6f", rlf_time_names[i], seconds);
        rest -= seconds;
    }
    rlf_buf_printf(out, ",\"seconds.rest\":%.6f", rest > 0 ? rest : 0);
}

/* A line is flat: a table of numbers for what reads tables. */
static void
put_metrics(const rlf_session *session, rlf_buf *out)
{
    rlf_buf metrics = {0};
    rlf_metrics_json(rlf_run_metrics(session->run), &metrics);
    rlf_buf_printf(out, "{\"step\":%u%s%s,\"tokens\":%llu",
                   rlf_run_steps(session->run), metrics.n ? "," : "",
                   metrics.n ? metrics.p : "",
                   (unsigned long long)session->steps.tokens);
    put_seconds(session, out);
    rlf_buf_puts(out, "}\n");
    rlf_buf_free(&metrics);
}

/* A line for each rank, flat as those of metrics. */
static void
put_ranks(const rlf_session *session, rlf_buf *out)
{
    for (int r = 0; r < session->plan->ranks; r++) {
        rlf_rank_use own =
            rlf_run_rank(session->run, r, session->steps.seconds);
        rlf_buf_printf(out, "{\"step\":%u,\"rank\":%d,\"seconds\":%.6f",
                       rlf_run_steps(session->run), r, session->steps.seconds);
        for (int i = 0; i < RLF_OWN_TIMES; i++)
            rlf_buf_printf(out, ",\"seconds.%s\":%.6f", rlf_own_time_names[i],
                           own.seconds[i]);
        rlf_buf_printf(
            out, ",\"memory.device\":%" PRIu64 ",\"memory.step\":%" PRIu64,
            own.device, own.pools);
        if (own.process)
            rlf_buf_printf(out, ",\"memory.process\":%" PRIu64, own.process);
        rlf_buf_puts(out, "}\n");
    }
}

static rlf_status
add_samples(void *arg, const char *lines, size_t n, rlf_err *err)
{
    return rlf_journal_add(arg, RLF_JOURNAL_SAMPLES, lines, n, err);
}

static rlf_status
add_step(rlf_session *session, rlf_err *err)
{
    rlf_buf text = {0};
    uint64_t from = rlf_tracing_now(session);
    put_metrics(session, &text);
    rlf_status status =
        rlf_journal_add(session, RLF_JOURNAL_METRICS, text.p, text.n, err);
    rlf_buf_clear(&text);
    if (status >= 0) {
        put_ranks(session, &text);
        status =
            rlf_journal_add(session, RLF_JOURNAL_RANKS, text.p, text.n, err);
    }
    rlf_buf_free(&text);
    RLF_TRY(status);
    RLF_TRY(rlf_run_samples(session->run, session->options.samples, add_samples,
                            session, err));
    rlf_tracing_span(session, "write",
                     "metrics.jsonl, ranks.jsonl, samples.jsonl", from);
    from = rlf_tracing_now(session);
    RLF_TRY(rlf_tokens_step(session, err));
    if (session->options.record)
        rlf_tracing_span(session, "write", "tokens", from);
    return RLF_OK;
}

/* Files that only help people could not be written. */
static void
warn_unwritten(rlf_session *session)
{
    rlf_err why = RLF_ERR_NONE;
    if (session->directory.lock &&
        rlf_lock_unsaid(session->directory.lock, &why))
        rlf_buf_line(&session->warned.lines,
                     "%s: the directory is locked all the same, but a run "
                     "that wants it too is not told which process has it\n",
                     why.sentence);
    rlf_err_clear(&why);
    if (rlf_run_unnoted(session->run, &why))
        rlf_buf_line(&session->warned.lines,
                     "%s: if the run is killed, --resume does not say what "
                     "this rank was doing\n",
                     why.sentence);
    rlf_err_clear(&why);
}

rlf_status
rlf_rundir_step(rlf_session *session, rlf_err *err)
{
    warn_unwritten(session);
    RLF_TRY(rlf_directory_check(session, err));
    if (session->directory.lock && rlf_lock_remade(session->directory.lock))
        rlf_buf_line(&session->warned.lines,
                     "%s was removed while the run writes there: it is made "
                     "again, and no other run began meanwhile\n",
                     inside(session, "lock"));
    return rlf_directory_blame(session, add_step(session, err), err);
}
