/* A database of SQLite as the trackio package makes and reads it: a table with
 * a row for each step, whose metrics are a JSON object, and one for the run's
 * parameters. It lies in the run's directory, which TRACKIO_DIR names to
 * trackio; the project is called as the program, the run as its directory. The
 * tables are those of schema version 2 (trackio 0.24 and later, tried with
 * 0.43); trackio adds the tables that it needs besides when it opens the file.
 */
#include "engine/api/sinks/sinks.h"

#include "config.h"

#ifdef HAVE_SQLITE
#include "engine/base/json.h"
#include "engine/io/file.h"
#include "engine/io/output.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct project {
    rlf_session *session;
    const char *folder, *path, *run;
    const char *wal, *shm; /* what SQLite has beside the database */
    sqlite3 *db;
    sqlite3_stmt *add; /* a row of a step */
    char *id;          /* of the run, in all its starts */
    struct stat file;  /* the database, when it was opened */
    bool has_wal;      /* there is a journal of what is new beside it */
    uint32_t has;      /* the last step that it had then */
} project;

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS metrics (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " run_id TEXT NOT NULL, timestamp TEXT NOT NULL, run_name TEXT NOT NULL,"
    " step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT,"
    " space_id TEXT);"
    "CREATE TABLE IF NOT EXISTS configs (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " run_id TEXT NOT NULL, run_name TEXT NOT NULL, config TEXT NOT NULL,"
    " created_at TEXT NOT NULL, UNIQUE(run_id));"
    "CREATE TABLE IF NOT EXISTS system_metrics ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL,"
    " timestamp TEXT NOT NULL, run_name TEXT NOT NULL, metrics TEXT NOT NULL,"
    " log_id TEXT, space_id TEXT);"
    "CREATE INDEX IF NOT EXISTS idx_metrics_run_step"
    " ON metrics(run_id, step);"
    "CREATE INDEX IF NOT EXISTS idx_metrics_run_timestamp"
    " ON metrics(run_id, timestamp);"
    "CREATE INDEX IF NOT EXISTS idx_metrics_run_record"
    " ON metrics(run_id, run_name, timestamp);"
    "CREATE INDEX IF NOT EXISTS idx_configs_run_name ON configs(run_name);"
    "PRAGMA user_version = 2;";

static rlf_status
check(rlf_err *err)
{
    (void)err;
    return RLF_OK;
}

/* ---- SQLite ---- */

static rlf_status
fail(const project *p, int code, rlf_err *err)
{
    if (code == SQLITE_NOMEM ||
        (p->db && sqlite3_extended_errcode(p->db) == SQLITE_IOERR_NOMEM))
        return rlf_fail_memory(err, 0, "SQLite");
    int number = p->db ? sqlite3_system_errno(p->db) : 0;
    int kind = code & 0xff; /* the rest says more of it */
    const char *why = p->db ? sqlite3_errmsg(p->db) : sqlite3_errstr(code);
    /* else the number is of a call before, such as a look for a file */
    bool known = (kind == SQLITE_IOERR || kind == SQLITE_FULL ||
                  kind == SQLITE_CANTOPEN) &&
                 number && number != ENOENT;
    rlf_fail(err, RLF_ENV, "cannot write %s: %s%s%s%s", p->path, why,
             known ? " (" : "", known ? strerror(number) : "",
             known ? ")" : "");
    if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        rlf_err_hint(err, "if it can be read by sqlite3 all the same, go on "
                          "with --resume; else move it away, and the run "
                          "begins a new one");
    return RLF_ENV;
}

static rlf_status
carry_out(const project *p, const char *sql, rlf_err *err)
{
    int code = sqlite3_exec(p->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? RLF_OK : fail(p, code, err);
}

/* A statement with these texts for its ?1, ?2...; NULL is the end. */
static rlf_status
prepare(const project *p, const char *sql, const char *const *texts,
        rlf_err *err, sqlite3_stmt **out)
{
    int code = sqlite3_prepare_v2(p->db, sql, -1, out, NULL);
    for (int i = 0; code == SQLITE_OK && texts[i]; i++)
        code = sqlite3_bind_text(*out, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    if (code == SQLITE_OK)
        return RLF_OK;
    rlf_status status = fail(p, code, err);
    sqlite3_finalize(*out);
    *out = NULL;
    return status;
}

/* ---- what stands in the rows ---- */

/* "2026-12-01T09:30:00.000250+00:00". */
static const char *
time_text(const project *p, double at, char text[static 48])
{
    time_t seconds = (time_t)at;
    struct tm tm;
    char day[32] = "";
    (void)p;
    if (gmtime_r(&seconds, &tm))
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, 48, "%s.%06d+00:00", day,
             (int)((at - (double)seconds) * 1e6));
    return text;
}

static void
put_number(rlf_buf *out, double value)
{
    if (isfinite(value))
        rlf_buf_number(out, value);
    else
        rlf_buf_puts(out, isnan(value) ? "\"NaN\""
                          : value > 0  ? "\"Infinity\""
                                       : "\"-Infinity\"");
}

static void
put_key(rlf_buf *out, const char *key)
{
    rlf_buf_putc(out, out->n > 1 ? ',' : ' ');
    rlf_buf_json(out, key, strlen(key));
    rlf_buf_putc(out, ':');
}

static void
put_text(rlf_buf *out, const char *key, const char *text)
{
    put_key(out, key);
    rlf_buf_json(out, text, strlen(text));
}

/* The parameters by their types, and what else a run is known by. */
static void
put_config(const project *p, const char *now, rlf_buf *out)
{
    const rlf_session *s = p->session;
    rlf_buf_putc(out, '{');
    for (size_t i = 0; i < s->graph->params.count; i++) {
        const rlf_param *param = &s->graph->params.data[i];
        char *end;
        double x = strtod(param->value, &end);
        bool number = (strcmp(param->type, "int") == 0 ||
                       strcmp(param->type, "float") == 0) &&
                      end != param->value && !*end;
        put_key(out, param->name);
        if (number)
            put_number(out, x);
        else if (strcmp(param->type, "bool") == 0)
            rlf_buf_puts(out, param->value);
        else
            rlf_buf_json(out, param->value, strlen(param->value));
    }
    put_text(out, "_Program", s->program.path);
    put_key(out, "_Seed");
    rlf_buf_printf(out, "%llu", (unsigned long long)s->options.seed);
    put_text(out, "_Rlflow", rlf_version());
    put_text(out, "_Created", now);
    rlf_buf_putc(out, '}');
}

/* ---- opening ---- */

/* The name of the project: the program's, of the letters that trackio keeps. A
 * '_' may begin an ending that trackio refuses, as "_system". */
static const char *
project_name(const rlf_session *s)
{
    const char *name = strrchr(s->program.path, '/');
    name = name ? name + 1 : s->program.path;
    size_t n = strlen(name), k = 0;
    if (n > 4 && strcmp(name + n - 4, ".rlf") == 0)
        n -= 4;
    const char *prefix = strncmp(name, "registry-", 9) == 0 ? "rlflow-" : "";
    char *out = rlf_arena_printf(s->arena, "%s%.*s", prefix, (int)n, name);
    for (size_t i = 0; out[i]; i++) {
        unsigned char c = (unsigned char)(out[i] == '_' ? '-' : out[i]);
        if (c < 128 && (isalnum(c) || c == '-'))
            out[k++] = (char)c;
    }
    out[k] = 0;
    return k ? out : "default";
}

/* The run's id in the database, where a start before has written one; else a
 * new one. */
static rlf_status
find_run(project *p, const char *now, rlf_err *err)
{
    sqlite3_stmt *q;
    const char *const none[] = {NULL};
    RLF_TRY(prepare(p, "SELECT run_id FROM configs ORDER BY id LIMIT 1", none,
                    err, &q));
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(q, 0);
        p->id = rlf_arena_strdup(p->session->arena, id ? id : "");
    } else {
        char text[RLF_DIGEST_TEXT];
        const char *seed = rlf_arena_printf(
            p->session->arena, "%s %s",
            rlf_output_path(p->session->options.directory, p->session->arena),
            now);
        p->id = rlf_arena_strdup(
            p->session->arena,
            rlf_digest_print(rlf_digest_of(seed, strlen(seed)), text));
    }
    sqlite3_finalize(q);
    return code == SQLITE_ROW || code == SQLITE_DONE ? RLF_OK
                                                     : fail(p, code, err);
}

static rlf_status
change(const project *p, const char *sql, const char *const *texts,
       rlf_err *err)
{
    sqlite3_stmt *q;
    RLF_TRY(prepare(p, sql, texts, err, &q));
    int code = sqlite3_step(q);
    sqlite3_finalize(q);
    return code == SQLITE_DONE ? RLF_OK : fail(p, code, err);
}

/* The run's row, and no row of a step that is done again. */
static rlf_status
begin_run(project *p, rlf_err *err)
{
    struct timespec t;
    char now[48], step[24];
    clock_gettime(CLOCK_REALTIME, &t);
    time_text(p, (double)t.tv_sec + (double)t.tv_nsec / 1e9, now);
    RLF_TRY(find_run(p, now, err));
    rlf_buf config = {0};
    put_config(p, now, &config);
    snprintf(step, sizeof step, "%u", p->session->steps.resumed);
    const char *const run[] = {p->id, p->run, config.p, now, NULL};
    const char *const old[] = {p->id, step, NULL};
    rlf_status status =
        change(p,
               "INSERT OR REPLACE INTO configs"
               " (run_id, run_name, config, created_at) VALUES (?1,?2,?3,?4)",
               run, err);
    rlf_buf_free(&config);
    RLF_TRY(status);
    return change(p,
                  "DELETE FROM metrics WHERE run_id = ?1"
                  " AND step > CAST(?2 AS INTEGER)",
                  old, err);
}

static void
close_project(void *sink)
{
    project *p = sink;
    sqlite3_finalize(p->add);
    sqlite3_close(p->db);
    p->add = NULL;
    p->db = NULL;
}

/* A journal without its database would be taken for that of the new one. */
static rlf_status
remove_beside(const project *p, rlf_err *err)
{
    RLF_TRY(rlf_dir_remove(p->wal, err));
    return rlf_dir_remove(p->shm, err);
}

static bool
is_there(const char *path, struct stat *out)
{
    return lstat(path, out) == 0;
}

/* The file that was opened, by which it is known again. */
static rlf_status
look(project *p, rlf_err *err)
{
    sqlite3_stmt *q;
    struct stat ignored;
    const char *const run[] = {p->id, NULL};
    RLF_TRY(prepare(p, "SELECT max(step) FROM metrics WHERE run_id = ?1", run,
                    err, &q));
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW)
        p->has = (uint32_t)sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    p->has_wal = is_there(p->wal, &ignored);
    if (!is_there(p->path, &p->file))
        p->file = (struct stat){0};
    return code == SQLITE_ROW ? RLF_OK : fail(p, code, err);
}

static rlf_status
open_database(project *p, rlf_err *err)
{
    enum { PATIENCE = 30000 }; /* ms: trackio may be writing */
    bool there;
    const char *const none[] = {NULL};
    RLF_TRY(rlf_path_own(p->folder, err));
    RLF_TRY(rlf_dir_make_in(p->session->options.directory, p->folder, err));
    RLF_TRY(rlf_path_own(p->path, err));
    RLF_TRY(rlf_file_own(p->path, true, err, &there));
    if (!there)
        RLF_TRY(remove_beside(p, err));
    int code = sqlite3_open_v2(
        p->path, &p->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code != SQLITE_OK)
        return fail(p, code, err);
    sqlite3_busy_timeout(p->db, PATIENCE);
    RLF_TRY(carry_out(p,
                      "PRAGMA journal_mode = WAL;"
                      "PRAGMA synchronous = NORMAL;"
                      "BEGIN IMMEDIATE;",
                      err));
    RLF_TRY(carry_out(p, tables, err));
    RLF_TRY(begin_run(p, err));
    RLF_TRY(carry_out(p, "COMMIT", err));
    RLF_TRY(look(p, err));
    return prepare(p,
                   "INSERT INTO metrics (run_id, run_name, timestamp, step,"
                   " metrics) VALUES (?1, ?2, ?3, ?4, ?5)",
                   none, err, &p->add);
}

static rlf_status
open_project(rlf_session *s, rlf_err *err, void **out)
{
    project *p = RLF_NEW(s->arena, project);
    const char *run = rlf_output_path(s->options.directory, s->arena);
    const char *slash = strrchr(run, '/');
    *p = (project){.session = s, .run = slash && slash[1] ? slash + 1 : run};
    p->folder = rlf_path_join(s->arena, s->options.directory, "trackio");
    p->path =
        rlf_arena_printf(s->arena, "%s/%s.db", p->folder, project_name(s));
    p->wal = rlf_arena_printf(s->arena, "%s-wal", p->path);
    p->shm = rlf_arena_printf(s->arena, "%s-shm", p->path);
    rlf_status status = open_database(p, err);
    if (status < 0)
        close_project(p);
    else
        *out = p;
    return status;
}

/* ---- steps ---- */

static rlf_status
add_step(void *sink, const rlf_sink_step *step, rlf_err *err)
{
    project *p = sink;
    char now[48];
    rlf_buf metrics = {0};
    rlf_buf_putc(&metrics, '{');
    for (size_t i = 0; i < step->n_metrics; i++) {
        put_key(&metrics, step->metrics[i].name);
        put_number(&metrics, step->metrics[i].value);
    }
    rlf_buf_putc(&metrics, '}');
    const char *const texts[] = {p->id, p->run, time_text(p, step->time, now)};
    int code = SQLITE_OK;
    for (int i = 0; i < 3 && code == SQLITE_OK; i++)
        code = sqlite3_bind_text(p->add, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(p->add, 4, step->step);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(p->add, 5, metrics.p, (int)metrics.n,
                                 SQLITE_TRANSIENT);
    rlf_buf_free(&metrics);
    if (code == SQLITE_OK)
        code = sqlite3_step(p->add);
    rlf_status status = code == SQLITE_DONE ? RLF_OK : fail(p, code, err);
    sqlite3_reset(p->add);
    return status;
}

static const char *
lost_project(const void *sink)
{
    const project *p = sink;
    struct stat now;
    bool whole = is_there(p->path, &now) && now.st_ino == p->file.st_ino &&
                 now.st_dev == p->file.st_dev &&
                 (now.st_size || !p->file.st_size);
    if (!whole)
        return p->path;
    return p->has_wal && !is_there(p->wal, &now) ? p->wal : NULL;
}

static uint32_t
has_project(const void *sink)
{
    return ((const project *)sink)->has;
}

static rlf_status
sync_project(void *sink, rlf_err *err)
{
    const project *p = sink;
    int code = sqlite3_wal_checkpoint_v2(p->db, NULL, SQLITE_CHECKPOINT_PASSIVE,
                                         NULL, NULL);
    return code == SQLITE_OK || code == SQLITE_BUSY ? RLF_OK
                                                    : fail(p, code, err);
}

const rlf_sink_class rlf_sink_trackio = {
    .name = "trackio",
    .check = check,
    .open = open_project,
    .step = add_step,
    .lost = lost_project,
    .has = has_project,
    .sync = sync_project,
    .close = close_project,
};
#else
static rlf_status
check(rlf_err *err)
{
    rlf_fail(err, RLF_USAGE,
             "--report-to trackio needs SQLite, and this rlflow was built "
             "without it");
    rlf_err_hint(err, "install libsqlite3-dev, and build it again");
    return RLF_USAGE;
}

const rlf_sink_class rlf_sink_trackio = {.name = "trackio", .check = check};
#endif
