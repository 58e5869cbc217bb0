/* A run that is told to end while it opens: what it has made until then goes,
 * and what was there is as it was.
 *
 * A thread that waits for signals asks here, beside the one that opens the run.
 * Whoever makes files meanwhile takes session->opening.mutex; the thread that
 * ends the process keeps it. Of several processes 0 decides, for it alone
 * knows whether the run has begun: it tells the others, each of which removes
 * the records of its own ranks, and then removes the rest. */
#include "engine/api/rundir/rundir.h"

#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Beside a signal's number, from process 0: the run ends, for it has not begun.
 */
enum { NOT_BEGUN = 256 };

/* Files and folders that a run writes before its first step. */
static const char *const parts[] = {"inputs", "plan.rlf", "run.json",
                                    "prediction.json"};
_Static_assert(RLF_COUNT(parts) == RLF_OPENING_PARTS, "a bit for each");

/* ---- told to end ---- */

static bool
is_first(const rlf_comm_world *world)
{
    return world ? rlf_comm_world_process(world) == 0
                 : rlf_comm_launcher_process() == 0;
}

int
rlf_opening_told(rlf_session *s, int number)
{
    rlf_mutex_lock(&s->opening.mutex);
    rlf_comm_world *world = s->opening.world;
    rlf_mutex_unlock(&s->opening.mutex);
    if (!world)
        return number;
    int told = rlf_comm_world_told(world);
    if (is_first(world))
        return number || told == SIGUSR1 ? number : told;
    if (number)
        rlf_comm_world_note(world, number);
    return told & NOT_BEGUN ? told & ~NOT_BEGUN : 0;
}

bool
rlf_opening_refused(const rlf_comm_world *world)
{
    return world && (rlf_comm_world_told(world) & NOT_BEGUN);
}

/* ---- what was made goes ---- */

static char *
flight_path(const rlf_session *s, int rank, rlf_arena *arena)
{
    char name[32];
    snprintf(name, sizeof name, "flight-%d", rank);
    return rlf_path_join(arena, s->options.directory, name);
}

static void
remove_flights(const rlf_session *s, int from, int to, rlf_arena *arena)
{
    for (int i = from; i < to; i++)
        unlink(flight_path(s, i, arena));
}

/* Seconds that the other processes have to hear of it, and to remove what is
 * theirs; and from look to look. */
#define HEARD_NS 300000000u
#define GONE 3.0
#define LOOK_NS 20000000u

static void
await_others(const rlf_session *s, const rlf_comm_world *world,
             rlf_arena *arena)
{
    uint64_t from = rlf_clock_now();
    int local = rlf_comm_world_local(world);
    rlf_clock_sleep(HEARD_NS);
    for (int i = local; i < s->plan->ranks; i++)
        while (access(flight_path(s, i, arena), F_OK) == 0 &&
               rlf_clock_since(from) < GONE)
            rlf_clock_sleep(LOOK_NS);
}

static void
remove_all(rlf_session *s, const rlf_comm_world *world, rlf_arena *arena)
{
    const char *path = s->options.directory;
    int all = s->plan ? s->plan->ranks : 0;
    if (!is_first(world)) {
        int local = rlf_comm_world_local(world),
            first = rlf_comm_world_process(world) * local;
        remove_flights(s, first, first + local, arena);
        return;
    }
    if (world && rlf_comm_world_caps(world)->n_processes > 1)
        await_others(s, world, arena);
    remove_flights(s, 0, all, arena);
    rlf_opening_restore(s);
    rlf_lock_leave(s->directory.lock);
    for (int i = 0; i < s->directory.made && rmdir(path) == 0; i++)
        path = rlf_path_parent(arena, path);
}

bool
rlf_opening_interrupt(rlf_session *s, int number)
{
    rlf_mutex_lock(&s->opening.mutex);
    if (s->opening.begun) {
        rlf_mutex_unlock(&s->opening.mutex);
        return false;
    }
    rlf_comm_world *world = s->opening.world;
    if (world && is_first(world))
        rlf_comm_world_tell(world, number | NOT_BEGUN);
    rlf_arena *arena = rlf_arena_new();
    if (s->opening.log)
        unlink(s->opening.log);
    if (s->opening.trace)
        unlink(s->opening.trace);
    if (s->opening.claimed)
        remove_all(s, world, arena);
    rlf_arena_free(arena);
    return true;
}

/* ---- from here on it has begun ---- */

void
rlf_opening_begun(rlf_session *s)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_mutex_lock(&s->opening.mutex);
    for (size_t i = 0; i < RLF_COUNT(parts) && s->options.directory; i++)
        s->opening.found[i] =
            access(rlf_path_join(arena, s->options.directory, parts[i]),
                   F_OK) == 0;
    s->opening.begun = true;
    rlf_mutex_unlock(&s->opening.mutex);
    rlf_arena_free(arena);
}

void
rlf_opening_forget(rlf_session *s)
{
    rlf_err ignored = RLF_ERR_NONE;
    if (!s->options.directory || s->steps.resumed ||
        rlf_directory_check(s, &ignored) < 0)
        return; /* then run.json says that it was stopped */
    for (size_t i = 0; i < RLF_COUNT(parts); i++)
        if (!s->opening.found[i])
            rlf_dir_remove(
                rlf_path_join(s->arena, s->options.directory, parts[i]),
                &ignored);
    if (!s->opening.found[RLF_OPENING_RECORD])
        s->directory.record.path = NULL;
}

/* ---- records of a run that was killed before ---- */

void
rlf_opening_keep(rlf_session *s, const char *path)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_buf text = {0};
    if (rlf_file_read(path, RLF_OPENING_MOST, &ignored, &text) >= 0 && text.n)
        RLF_PUSH_IN(s->arena, &s->opening.flights,
                    ((rlf_kept_file){
                        .path = rlf_arena_strdup(s->arena, path),
                        .text = rlf_arena_strndup(s->arena, text.p, text.n),
                        .n = text.n}));
    rlf_buf_free(&text);
}

void
rlf_opening_restore(rlf_session *s)
{
    for (size_t i = 0; i < s->opening.flights.count; i++) {
        const rlf_kept_file *kept = &s->opening.flights.data[i];
        int file =
            open(kept->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file < 0)
            continue; /* there is a newer one */
        /* it helps people; a run goes on without it */
        ssize_t n = write(file, kept->text, kept->n);
        (void)n;
        close(file);
    }
    s->opening.flights.count = 0;
}
