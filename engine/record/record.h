/* The directory of a run, read back: what rlf_record of rlflow.h is, for this
 * folder and those above it. record.c opens it and has the functions of the
 * header; each part has a file of its own. */
#ifndef RLF_RECORD_RECORD_H
#define RLF_RECORD_RECORD_H

#include "engine/base/arena.h"
#include "engine/base/map.h"
#include "engine/base/status.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/record/scan.h"
#include "engine/record/growing.h"
#include "engine/rlflow.h"

#include <jansson.h>
#include <locale.h>

/* ---- metrics.jsonl (metrics.c) ---- */

typedef struct rlf_metric_column {
    const char *name;
    RLF_VEC(uint64_t) step;
    RLF_VEC(double) value;
} rlf_metric_column;

typedef struct rlf_metric_table {
    rlf_growing tail;
    rlf_arena *arena; /* of names */
    rlf_map names;    /* the number of a column, from 1 */
    RLF_VEC(rlf_metric_column) columns;
    uint64_t last;  /* step of the last line */
    uint64_t lines; /* number of lines that have a step */
    double seconds; /* of all steps */
    rlf_buf scratch, name;
} rlf_metric_table;

rlf_status rlf_record_read_metrics(rlf_record *record, rlf_err *err);
void rlf_metric_table_free(rlf_metric_table *table);
/* NULL: there is none of that name. */
const rlf_metric_column *rlf_metric_find(const rlf_record *record,
                                         const char *name);

/* Is it a number of seconds, in which equal runs differ? */
bool rlf_metric_is_time(const char *name);

/* ---- ranks.jsonl (ranks.c) ---- */

typedef struct rlf_rank_column {
    const char *name;
    RLF_VEC(double) value; /* of each row */
} rlf_rank_column;

typedef struct rlf_rank_table {
    rlf_growing tail;
    rlf_arena *arena; /* of names */
    RLF_VEC(uint64_t) step;
    RLF_VEC(uint64_t) rank; /* of each row, as the step */
    RLF_VEC(rlf_rank_column) columns;
    uint64_t most; /* one more than the highest rank */
} rlf_rank_table;

rlf_status rlf_record_read_ranks(rlf_record *record, rlf_err *err);
void rlf_rank_table_free(rlf_rank_table *table);
/* NULL: there is none of that name. */
const rlf_rank_column *rlf_rank_find(const rlf_record *record,
                                     const char *name);

/* ---- samples.jsonl (samples.c) ---- */

typedef struct rlf_sample_entry {
    uint64_t offset; /* of its line in the file */
    uint64_t sample;
    uint32_t bytes; /* of the line, without its line feed */
    uint32_t step, set, group, prompt;
    uint32_t of; /* samples of the set in this step; 0: not known */
} rlf_sample_entry;

/* One number for each sample; NaN: it has none. */
typedef struct rlf_sample_column {
    const char *name;
    const char *key; /* of an entry of `values`, as it is written; NULL: of the
                        line itself */
    RLF_VEC(double) value;
} rlf_sample_column;

typedef struct rlf_sample_table {
    rlf_growing tail;
    rlf_arena *arena; /* of names */
    RLF_VEC(rlf_sample_entry) samples;
    RLF_VEC(rlf_sample_column) columns;
    RLF_VEC(const char *) sets;
    RLF_VEC(uint32_t) slots; /* prompts by their hashes: a number, from 1 */
    RLF_VEC(uint64_t) hashes;
    uint32_t groups;
    uint64_t sampled; /* samples of all sets and steps, also those that are not
                         recorded; where that is not known the recorded ones */
    rlf_buf scratch;
} rlf_sample_table;

rlf_status rlf_record_read_samples(rlf_record *record, rlf_err *err);
void rlf_sample_table_free(rlf_sample_table *table);
/* The number of the column of that name; -1: there is none. */
int rlf_sample_find(const rlf_record *record, const char *name);

/* ---- run.json and all other files (facts.c) ---- */

typedef struct rlf_record_facts {
    rlf_arena *arena; /* of all that is below, made anew when a file changed */
    uint64_t seen;    /* sizes and times of the files, as one number */
    json_t *run, *prediction; /* NULL: not there, or damaged */
    RLF_VEC(rlf_recorded_setting) parameters;
    RLF_VEC(rlf_recorded_input) inputs;
    RLF_VEC(rlf_recorded_start) starts;
    RLF_VEC(rlf_recorded_checkpoint) checkpoints;
    const char *program;
    bool goes_on; /* a process has the directory */
} rlf_record_facts;

/* *changed: something is other than it was. */
rlf_status rlf_record_read_facts(rlf_record *record, rlf_err *err,
                                 bool *changed);
void rlf_record_facts_free(rlf_record_facts *facts);
/* The state of the run, with its words. */
void rlf_record_tell_state(rlf_record *record, rlf_recorded_run *out);
/* What the last start of the run counted for purpose i of that rank; false:
 * there are fewer. */
bool rlf_record_find_need(const rlf_record *record, uint64_t rank, size_t i,
                          rlf_recorded_need *out);
/* The program as the run has kept it: its file in the directory, or NULL. */
const rlf_recorded_input *rlf_record_program(const rlf_record *record);

/* ---- findings and differences (findings.c, difference.c) ---- */

/* Appends the findings to record->findings, in record->judged. */
rlf_status rlf_record_find(rlf_record *record, rlf_err *err);
/* Appends what is different to a->differences, in a->compared. */
rlf_status rlf_record_compare(rlf_record *a, rlf_record *b, rlf_err *err);
/* Lines of two texts as "-", "+" and " ", with three lines around each change;
 * nothing where they are equal. */
void rlf_text_difference(rlf_str a, rlf_str b, rlf_buf *out);

/* ---- all of it ---- */

enum { RLF_NOTES_MOST = 100 };

struct rlf_record {
    const char *directory, *metrics_path, *samples_path, *ranks_path;
    rlf_arena *arena; /* to its end */
    locale_t locale;  /* numbers with a decimal point */
    rlf_err err;
    rlf_metric_table metrics;
    rlf_rank_table ranks;
    rlf_sample_table samples;
    rlf_record_facts facts;
    bool gone; /* the directory is not there any more */
    uint64_t reads;
    uint64_t files_read, notes_left; /* notes beyond the most of them */
    RLF_VEC(const char *) notes;     /* in the arena */

    rlf_infile *texts; /* samples.jsonl, opened for its texts; NULL: not yet */

    rlf_arena *judged;
    bool has_findings;
    RLF_VEC(rlf_recorded_finding) findings;
    rlf_arena *compared;
    const rlf_record *other; /* that the differences are to */
    uint64_t other_reads, own_reads;
    RLF_VEC(rlf_recorded_difference) differences;

    /* What questions return. */
    rlf_recorded_run run;
    rlf_recorded_metric metric;
    rlf_recorded_rank_column rank_column;
    rlf_recorded_need need;
    rlf_recorded_sample sample;
    rlf_buf message, line, text, file, state_text, note;
};

/* "DIR/name", in the arena. */
const char *rlf_record_path(const rlf_record *record, rlf_arena *arena,
                            const char *name);
/* The same of a file that is in the directory, or would be; NULL: a name, or a
 * symbolic link, which is noted, leads out of it. */
const char *rlf_record_own(rlf_record *record, rlf_arena *arena,
                           const char *name);
/* Note copies of inputs, and a plan, that are not those which run.json tells
 * of. */
void rlf_record_check_files(rlf_record *record);
/* Note a sentence about something that is left out. */
void rlf_record_leave_out(rlf_record *record, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Reads the line of sample i into record->line. */
rlf_status rlf_record_line(rlf_record *record, uint64_t i, rlf_err *err);
/* Is `key`, as it is written, `name`? */
bool rlf_key_is(rlf_str key, const char *name);

#endif
