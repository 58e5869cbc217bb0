/* Directories of runs, read back: columns, samples, facts, what is left out;
 * files that grow, are cut and written again, half lines, hostile ones. */
#include "engine/record/record.h"
#include "engine/base/digest.h"
#include "tests/put.h"

#include <unistd.h>

static rlf_arena *arena;

static void
folder(const char *name)
{
    rlf_err err = RLF_ERR_NONE;
    if (rlf_dir_make(in_root(arena, name), &err) < 0)
        bail("%s", err.sentence);
}

static void
append(const char *name, const char *text)
{
    FILE *file = fopen(in_root(arena, name), "a");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bail("cannot append to %s", name);
}

static rlf_record *
opened(const char *name)
{
    rlf_record *r = rlf_record_open(in_root(arena, name));
    if (!ok(rlf_record_status(r) == RLF_RESULT_OK, "%s is read", name))
        note("%s", rlf_record_message(r));
    return r;
}

static double
value(rlf_record *r, const char *name, uint64_t step)
{
    const rlf_recorded_metric *m = rlf_record_metric_called(r, name);
    for (size_t i = 0; m && i < m->n; i++)
        if (m->step[i] == step)
            return m->value[i];
    return -12345;
}

static size_t
notes_of(rlf_record *r)
{
    size_t n = 0;
    while (rlf_record_note(r, n))
        n++;
    return n;
}

static size_t
count(rlf_record *r, const char *name)
{
    const rlf_recorded_metric *m = rlf_record_metric_called(r, name);
    return m ? m->n : 0;
}

/* ---- metrics ---- */

static void
test_metrics(void)
{
    folder("m");
    put(arena, "m/metrics.jsonl",
        "{\"step\":1,\"reward\":0.5,\"loss\":null,\"time\":{\"seconds\":2,"
        "\"read\":0.25}}\n"
        "{\"step\":2,\"reward\":0.75,\"seconds\":1,\"seconds.read\":0.5,"
        "\"word\":\"x\"}\n"
        "{\"step\":3,\"rew");
    rlf_record *r = opened("m");
    is_int((int64_t)rlf_record_run(r)->step, 2, "half a line is left");
    near(value(r, "reward", 2), 0.75, 0, "a metric");
    ok(isnan(value(r, "loss", 1)), "null is NaN");
    is_int((int64_t)count(r, "loss"), 1, "... in the steps that have it");
    near(value(r, "seconds.read", 1), 0.25, 0, "seconds of an older rlflow");
    near(value(r, "seconds.read", 2), 0.5, 0, "... and those of today");
    near(value(r, "seconds", 1), 2, 0, "... and their sum");
    near(rlf_record_run(r)->seconds, 3, 0, "seconds of both forms");
    ok(!rlf_record_metric_called(r, "word"), "a text is no metric");
    is_str(rlf_record_metric(r, 0)->name, "reward", "metrics in their order");
    is_int((int64_t)notes_of(r), 0, "nothing is left out");
    uint64_t reads = rlf_record_run(r)->reads;
    rlf_record_refresh(r);
    is_int((int64_t)rlf_record_run(r)->reads, (int64_t)reads,
           "nothing new is no read");
    append("m/metrics.jsonl", "ard\":1}\n{\"step\":4,\"new\":7}\n");
    rlf_record_refresh(r);
    near(value(r, "reward", 3), 1, 0, "the other half came");
    near(value(r, "new", 4), 7, 0, "a metric that comes later");
    is_int((int64_t)rlf_record_run(r)->reads, (int64_t)reads + 1, "one read");
    put(arena, "m/metrics.jsonl",
        "{\"step\":1,\"reward\":0.5}\n"
        "{\"step\":2,\"reward\":9}\n");
    rlf_record_refresh(r);
    near(value(r, "reward", 2), 9, 0, "a file that was cut is read again");
    is_int((int64_t)count(r, "reward"), 2, "... and the old lines forgotten");
    ok(!rlf_record_metric_called(r, "new"), "... with their metrics");
    append("m/metrics.jsonl", "{\"step\":3,\"reward\":1}\n");
    put(arena, "m/metrics.jsonl",
        "{\"step\":1,\"reward\":0.5}\n{\"step\":2,\"reward\":8}\n"
        "{\"step\":3,\"reward\":2}\n{\"step\":4,\"reward\":3}\n");
    rlf_record_refresh(r);
    near(value(r, "reward", 2), 8, 0, "... and one that is as long again");
    is_int((int64_t)count(r, "reward"), 4, "... each line once");
    remove(in_root(arena, "m/metrics.jsonl"));
    rlf_record_refresh(r);
    is_int((int64_t)rlf_record_run(r)->step, 0, "a file that is removed");
    rlf_record_close(r);
}

/* ---- ranks ---- */

/* The number of that column in row i. */
static double
of_rank(rlf_record *r, const char *name, size_t i)
{
    const rlf_recorded_rank_column *c;
    for (size_t k = 0; (c = rlf_record_rank_column(r, k)); k++)
        if (strcmp(c->name, name) == 0 && i < c->n)
            return c->value[i];
    return -12345;
}

static void
test_ranks(void)
{
    folder("r");
    put(arena, "r/metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n");
    put(arena, "r/ranks.jsonl",
        "{\"step\":1,\"rank\":0,\"seconds\":2,\"seconds.wait\":0.5}\n"
        "{\"step\":1,\"rank\":1,\"seconds\":2,\"seconds.wait\":1.5}\n"
        "{\"step\":2,\"rank\":1,\"seconds\":3,\"memory.process\":9}\n"
        "{\"step\":2,\"rank\":-1}\n{\"step\":2}\n{\"rank\":0}\n"
        "{\"step\":2,\"rank\":0.5}\n{\"step\":2,\"rank\":99999999}\n"
        "{\"step\":2,\"rank\":0,\"sec");
    rlf_record *r = opened("r");
    const rlf_recorded_rank_column *c = rlf_record_rank_column(r, 0);
    ok(c && strcmp(c->name, "seconds") == 0 && c->n == 3, "rows of ranks");
    ok(c->step[2] == 2 && c->rank[1] == 1 && c->rank[0] == 0,
       "... with step and rank");
    near(of_rank(r, "seconds.wait", 1), 1.5, 0, "... and their numbers");
    ok(isnan(of_rank(r, "seconds.wait", 2)) &&
           isnan(of_rank(r, "memory.process", 0)),
       "what a row does not have is NaN");
    near(of_rank(r, "memory.process", 2), 9, 0, "a column that comes later");
    ok(!rlf_record_rank_column(r, 3), "there are no more columns");
    is_int((int64_t)notes_of(r), 5, "lines that are of no rank are noted");
    ok(strstr(rlf_record_note(r, 0), "/ranks.jsonl:4 is left out: it has no "
                                     "step, or no rank") != NULL,
       "... with file, line and reason");
    append("r/ranks.jsonl", "onds\":7}\n");
    rlf_record_refresh(r);
    near(of_rank(r, "seconds", 3), 7, 0, "the rest of half a line");
    put(arena, "r/ranks.jsonl", "{\"step\":1,\"rank\":0,\"seconds\":4}\n");
    rlf_record_refresh(r);
    c = rlf_record_rank_column(r, 0);
    ok(c->n == 1 && c->value[0] == 4 && !rlf_record_rank_column(r, 1),
       "a file that was cut is read again");
    rlf_record_close(r);
}

static void
test_bad_lines(void)
{
    folder("b");
    put(arena, "b/metrics.jsonl",
        "{\"step\":1,\"reward\":1}\nnonsense\n{\"reward\":2}\n"
        "{\"step\":-1}\n{\"step\":1.5}\n\n{\"step\":2,\"reward\":3}\n"
        "{\"step\":2,\"reward\":4}\n");
    rlf_record *r = opened("b");
    is_int((int64_t)count(r, "reward"), 2, "lines that are good are read");
    is_int((int64_t)notes_of(r), 6, "the others are noted");
    near(value(r, "reward", 2), 3, 0,
         "of two lines of a step the first counts");
    is_str(rlf_record_note(r, 5),
           rlf_arena_printf(arena,
                            "%s/metrics.jsonl:8 is left out: it is of step 2, "
                            "and stands behind one of step 2",
                            in_root(arena, "b")),
           "... which a note says of the other");
    const char *want =
        rlf_arena_printf(arena, "%s/metrics.jsonl:2 is left out: no object",
                         in_root(arena, "b"));
    is_str(rlf_record_note(r, 0), want, "with file, line and reason");
    rlf_record_close(r);

    folder("order");
    put(arena, "order/metrics.jsonl",
        "{\"step\":5,\"x\":1}\n{\"step\":4,\"x\":2}\n"
        "{\"step\":6,\"step\":7,\"x\":3}\n{\"step\":8,\"x\":4}\n");
    r = opened("order");
    ok(count(r, "x") == 2 && value(r, "x", 5) == 1 && value(r, "x", 8) == 4 &&
           notes_of(r) == 2,
       "steps go forward, and a line has one of them");
    rlf_record_close(r);

    folder("many");
    put(arena, "many/metrics.jsonl", "");
    for (int i = 0; i < 300; i++)
        append("many/metrics.jsonl", "x\n");
    r = opened("many");
    is_int((int64_t)notes_of(r), RLF_NOTES_MOST + 1, "notes have a most");
    is_str(rlf_record_note(r, RLF_NOTES_MOST), "and 200 more",
           "... and say how many were more");
    rlf_record_close(r);
}

/* ---- samples ---- */

static const char samples[] =
    "{\"step\":1,\"set\":\"roll\",\"sample\":0,\"prompt\":\"a\\u00e9\","
    "\"response\":\"x\\n</script>\",\"tokens\":3,\"finished\":1,"
    "\"values\":{\"score\":1,\"adv\":-0.5},\"row\":{\"answer\":\"1\"}}\n"
    "{\"step\":1,\"set\":\"roll\",\"sample\":1,\"prompt\":\"a\\u00e9\","
    "\"response\":\"y\",\"tokens\":2,\"finished\":0,"
    "\"values\":{\"score\":0,\"adv\":0.5},\"row\":{\"answer\":\"1\"}}\n"
    "{\"step\":1,\"set\":\"roll\",\"sample\":2,\"prompt\":\"b\","
    "\"response\":\"z\",\"values\":{\"score\":0}}\n"
    "{\"step\":2,\"set\":\"held\",\"sample\":0,\"prompt\":\"a\\u00e9\","
    "\"response\":\"\",\"lag\":2,\"values\":{\"late\":4},"
    "\"row\":{\"answer\":\"1\"}}\n"
    "{\"step\":2,\"prompt\":\"no response\"}\n";

static void
test_samples(void)
{
    size_t n;
    folder("s");
    put(arena, "s/samples.jsonl", samples);
    rlf_record *r = opened("s");
    is_int((int64_t)rlf_record_run(r)->samples, 4, "samples");
    is_int((int64_t)notes_of(r), 1, "what is no sample is noted");
    is_str(rlf_record_column_name(r, 3), "score",
           "columns: own ones, then values");
    near(rlf_record_number(r, 1, 4), 0.5, 0, "a number of a sample");
    ok(isnan(rlf_record_number(r, 2, 4)), "one that it does not have");
    int late = rlf_sample_find(r, "late");
    ok(isnan(rlf_record_number(r, 0, (size_t)late)) &&
           rlf_record_number(r, 3, (size_t)late) == 4,
       "a column that comes later");
    near(rlf_record_number(r, 3, 2), 2, 0, "the lag");
    const rlf_recorded_sample *s = rlf_record_sample(r, 1);
    ok(s->group == 0 && s->prompt == 0 && s->sample == 1, "a group");
    s = rlf_record_sample(r, 2);
    ok(s->group == 1 && s->prompt == 1, "another prompt is another group");
    s = rlf_record_sample(r, 3);
    ok(s->group == 2 && s->prompt == 0 && s->step == 2,
       "the prompt of before, in another step");
    is_str(s->set, "held", "its set");
    is_str(rlf_record_text(r, 0, RLF_SAMPLE_PROMPT, &n), "a\xc3\xa9",
           "a prompt");
    is_int((int64_t)n, 3, "... and its bytes");
    is_str(rlf_record_text(r, 0, RLF_SAMPLE_RESPONSE, NULL), "x\n</script>",
           "a response");
    is_str(rlf_record_text(r, 0, RLF_SAMPLE_ROW, NULL), "{\"answer\":\"1\"}",
           "a data row");
    is_str(rlf_record_text(r, 2, RLF_SAMPLE_ROW, NULL), "", "one without");
    ok(!rlf_record_sample(r, 4) && !rlf_record_text(r, 4, 0, NULL),
       "there are no more");
    if (truncate(in_root(arena, "s/samples.jsonl"), 0) != 0)
        bail("cannot cut a file");
    ok(!rlf_record_text(r, 3, RLF_SAMPLE_PROMPT, NULL),
       "a text of a file that was cut is none");
    rlf_record_refresh(r);
    is_int((int64_t)rlf_record_run(r)->samples, 0, "and then there is none");
    ok(!rlf_record_column_name(r, 0), "... nor a column");
    put(arena, "s/samples.jsonl", samples);
    rlf_record_refresh(r);
    is_int((int64_t)rlf_record_run(r)->samples, 4, "they come again");
    rlf_record_close(r);
}

/* Many samples: prompts and columns as they were counted. */
static void
test_many_samples(void)
{
    enum { N = 20000, PROMPTS = 3001 };
    FILE *file = fopen(put(arena, "s/samples.jsonl", ""), "w");
    for (int i = 0; file && i < N; i++)
        fprintf(file,
                "{\"step\":%d,\"set\":\"roll\",\"prompt\":\"p%d\","
                "\"response\":\"%d\",\"values\":{\"score\":%d}}\n",
                i / 100, i % PROMPTS, i, i % 7);
    if (!file || fclose(file) != 0)
        bail("no samples");
    rlf_record *r = opened("s");
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        const rlf_recorded_sample *s = rlf_record_sample(r, (uint64_t)i);
        wrong += s->prompt != (uint64_t)(i % PROMPTS) ||
                 rlf_record_number(r, (uint64_t)i, 3) != i % 7 ||
                 s->step != (uint64_t)(i / 100);
    }
    is_int((int64_t)rlf_record_run(r)->samples, N, "all samples of many");
    is_int(wrong, 0, "prompts, numbers and steps of many samples");
    is_str(rlf_record_text(r, 12345, RLF_SAMPLE_RESPONSE, NULL), "12345",
           "a text in the middle");
    rlf_record_close(r);
}

/* ---- facts ---- */

static const char run_json[] =
    "{\"format\":1,\"program\":\"x.rlf\",\"parameters\":{\"lr\":\"1e-5\"},"
    "\"inputs\":[{\"name\":\"program\",\"part\":\"file\",\"value\":\"aa\","
    "\"path\":\"x.rlf\",\"copy\":\"inputs/program/x.rlf\"},{\"name\":\"evil\","
    "\"value\":\"bb\",\"copy\":\"../secret\"}],\"starts\":[{\"time\":\"t\","
    "\"resume\":false,\"step\":0,\"steps\":9,\"ranks\":2,\"device\":\"cpu\","
    "\"options\":{\"--seed\":\"1\"},\"processes\":[{\"host\":\"h\"}],"
    "\"end\":{\"how\":\"killed\",\"in\":\"actor.update\"}},{\"resume\":true,"
    "\"step\":4,\"steps\":9,\"warned\":[{\"step\":5,\"text\":\"odd\\n\"}],"
    "\"memory\":[{\"ranks\":[0,2],\"parts\":[{\"owner\":\"actor\","
    "\"purpose\":\"weights\",\"device\":7,\"host\":1}]},{\"ranks\":[1],"
    "\"parts\":[{\"owner\":\"x\"},{\"owner\":\"y\"}]}]%s}]}";

static void
put_run(const char *end)
{
    put(arena, "f/run.json", rlf_arena_printf(arena, run_json, end));
}

static void
test_facts(void)
{
    folder("f/inputs/program");
    folder("f/checkpoints/step-00000004");
    folder("f/checkpoints/step-odd");
    put(arena, "secret", "not yours");
    put(arena, "f/inputs/program/x.rlf", "flow x {}\n");
    put(arena, "f/checkpoints.json",
        "{\"checkpoints\":[{\"step\":6},{\"step\":4},{\"step\":\"x\"}]}");
    put_run("");
    rlf_record *r = opened("f");
    const rlf_recorded_run *run = rlf_record_run(r);
    is_str(run->program, "x.rlf", "the program");
    is_str(run->state_text, "killed", "no end, and nobody there");
    is_int((int64_t)run->steps, 9, "steps of the whole run");
    is_int((int64_t)notes_of(r), 3,
           "files without their digests are noted, and a copy with another");
    const char *want = rlf_arena_printf(
        arena,
        "%s/inputs/program/x.rlf is not the copy that run.json tells of: it "
        "is damaged, or somebody has edited it",
        in_root(arena, "f"));
    is_str(rlf_record_note(r, 2), want, "... by its name");
    is_str(rlf_record_parameter(r, 0)->value, "1e-5", "a parameter");
    ok(!rlf_record_parameter(r, 1), "and no more");
    is_str(rlf_record_input(r, 0)->copy, "inputs/program/x.rlf", "an input");
    is_str(rlf_record_file_text(r, "inputs/program/x.rlf", NULL), "flow x {}\n",
           "the copy of an input");
    ok(!rlf_record_file_text(r, "../secret", NULL) &&
           !rlf_record_file_text(r, in_root(arena, "secret"), NULL) &&
           !rlf_record_file_text(r, "inputs/../../secret", NULL),
       "no file outside of the directory");
    const rlf_recorded_start *s = rlf_record_start(r, 0);
    is_str(s->how, "killed", "the first start was killed");
    is_str(s->message, "actor.update", "... in what");
    is_str(s->host, "h", "... and where it ran");
    s = rlf_record_start(r, 1);
    ok(s->resume && s->step == 4 && !s->how, "the resume");
    const rlf_recorded_need *need = rlf_record_need(r, 2, 0);
    ok(need && strcmp(need->owner, "actor") == 0 &&
           strcmp(need->purpose, "weights") == 0 && need->device == 7 &&
           need->host == 1,
       "what a rank of it was to take");
    need = rlf_record_need(r, 1, 1);
    ok(need && strcmp(need->owner, "y") == 0, "... of another rank");
    ok(!rlf_record_need(r, 2, 1) && !rlf_record_need(r, 1, 2) &&
           !rlf_record_need(r, 3, 0),
       "... and no more");
    ok(rlf_record_checkpoint(r, 0)->step == 4 &&
           rlf_record_checkpoint(r, 0)->there &&
           rlf_record_checkpoint(r, 1)->step == 6 &&
           !rlf_record_checkpoint(r, 1)->there && !rlf_record_checkpoint(r, 2),
       "checkpoints, and which are still there");
    is_str(rlf_record_finding(r, 0)->text, "odd", "a warning of the run");
    put_run(",\"end\":{\"how\":\"failed\",\"step\":7,\"message\":\"oh\"}");
    rlf_record_refresh(r);
    run = rlf_record_run(r);
    ok(run->state == RLF_RUN_FAILED && strcmp(run->why, "oh") == 0,
       "it is read again when it has changed");
    put(arena, "f/run.json", "{\"starts\":[");
    rlf_record_refresh(r);
    ok(rlf_record_run(r)->state == RLF_RUN_UNKNOWN &&
           rlf_record_status(r) == RLF_RESULT_OK,
       "a damaged run.json is no error");
    rlf_record_close(r);
}

static size_t
notes_with(rlf_record *r, const char *text)
{
    size_t n = 0;
    for (size_t i = 0; rlf_record_note(r, i); i++)
        n += strstr(rlf_record_note(r, i), text) != NULL;
    return n;
}

/* Copies and a plan with digests, and links out of the directory. */
static void
test_files(void)
{
    const char *program = "flow x {}\n", *plan = "place {}\n";
    char digest[2][RLF_DIGEST_TEXT];
    rlf_digest_print(rlf_digest_of(program, strlen(program)), digest[0]);
    rlf_digest_print(rlf_digest_of(plan, strlen(plan)), digest[1]);
    folder("c/inputs");
    put(arena, "c/inputs/x.rlf", program);
    put(arena, "c/plan.rlf", plan);
    put(arena, "c/metrics.jsonl", "{\"step\":1,\"reward\":1}\n");
    put(arena, "c/run.json",
        rlf_arena_printf(
            arena,
            "{\"inputs\":[{\"name\":\"program\",\"part\":\"file\",\"value\":"
            "\"%s\",\"copy\":\"inputs/x.rlf\"}],\"starts\":[{\"plan\":\"%s\"},"
            "{\"plan\":\"of another start\"}]}",
            digest[0], digest[1]));
    rlf_record *r = opened("c");
    if (!is_int((int64_t)notes_of(r), 1, "files with their digests"))
        note("%s", rlf_record_note(r, 1));
    rlf_record_close(r);
    append("c/inputs/x.rlf", "x");
    append("c/plan.rlf", "x");
    r = opened("c");
    ok(notes_with(r, "c/inputs/x.rlf is not the copy that") == 1 &&
           notes_with(r, "c/plan.rlf is not the plan that") == 1,
       "... and with others");
    rlf_record_close(r);
    remove(in_root(arena, "c/inputs/x.rlf"));
    r = opened("c");
    is_int((int64_t)notes_with(r, "c/inputs/x.rlf, of which run.json tells, is "
                                  "missing"),
           1, "a copy that is gone");
    rlf_record_close(r);
    folder("c/inputs/x.rlf");
    r = opened("c");
    is_int((int64_t)notes_with(r, "c/inputs/x.rlf is left out: it is a "
                                  "directory"),
           1, "a directory in its place");
    rlf_record_close(r);
    put(arena, "other.jsonl", "{\"step\":7,\"secret\":1}\n");
    const char *const links[] = {"c/metrics.jsonl", "c/plan.rlf",
                                 "c/samples.jsonl", "c/checkpoints.json"};
    for (size_t i = 0; i < RLF_COUNT(links); i++) {
        remove(in_root(arena, links[i]));
        if (symlink("../other.jsonl", in_root(arena, links[i])) != 0)
            bail("cannot link %s", links[i]);
    }
    remove(in_root(arena, "c/inputs/x.rlf"));
    if (symlink("../plain", in_root(arena, "c/inputs/x.rlf")) != 0 ||
        symlink(root, in_root(arena, "c/out")) != 0)
        bail("cannot link");
    put(arena, "c/plain", program);
    r = opened("c");
    is_int((int64_t)notes_with(r, "a symbolic link leads from it out"), 4,
           "links out of the directory are noted");
    ok(!rlf_record_metric(r, 0) && !rlf_record_file_text(r, "plan.rlf", NULL) &&
           !rlf_record_file_text(r, "out/other.jsonl", NULL),
       "... and not followed");
    const char *text = rlf_record_file_text(r, "inputs/x.rlf", NULL);
    ok(text && strcmp(text, program) == 0, "a link within it is");
    rlf_record_close(r);
}

static void
test_refused(void)
{
    rlf_record *r = rlf_record_open(in_root(arena, "none"));
    ok(rlf_record_status(r) == RLF_RESULT_PROGRAM, "a missing directory");
    is_str(
        rlf_record_message(r),
        rlf_arena_printf(arena, "error: there is no directory %s/none\n", root),
        "... is named");
    ok(rlf_record_refresh(r) == RLF_RESULT_PROGRAM && !rlf_record_metric(r, 0),
       "... and stays an error");
    rlf_record_close(r);
    folder("empty");
    r = rlf_record_open(in_root(arena, "empty"));
    ok(strstr(rlf_record_message(r), "is not the directory of a run") != NULL,
       "a directory of no run");
    rlf_record_close(r);
    r = rlf_record_open(NULL);
    ok(rlf_record_status(r) == RLF_RESULT_USAGE, "NULL");
    rlf_record_close(r);
    rlf_record_close(NULL);
    ok(rlf_record_status(NULL) == RLF_RESULT_MEMORY && !rlf_record_run(NULL) &&
           !rlf_record_finding(NULL, 0) && !rlf_record_note(NULL, 0) &&
           !rlf_record_rank_column(NULL, 0) && !rlf_record_need(NULL, 0, 0) &&
           !rlf_record_difference(NULL, NULL, 0),
       "no record");
}

/* ---- findings, differences ---- */

static const rlf_recorded_finding *
finding(rlf_record *r, const char *kind)
{
    const rlf_recorded_finding *f;
    for (size_t i = 0; (f = rlf_record_finding(r, i)); i++)
        if (strcmp(f->kind, kind) == 0)
            return f;
    return NULL;
}

static void
is_found(rlf_record *r, const char *kind, uint64_t first, uint64_t last)
{
    const rlf_recorded_finding *f = finding(r, kind);
    if (!ok(f && f->first == first && f->last == last, "finding: %s", kind) &&
        f)
        note("%s", f->text);
}

static void
test_findings(void)
{
    static const char *const kinds[] = {
        "constant", "kl", "entropy", "cut", "groups", "clipped", "nonfinite"};
    folder("bad");
    folder("good");
    for (int bad = 0; bad < 2; bad++) {
        const char *dir = bad ? "bad" : "good";
        const char *name = rlf_arena_printf(arena, "%s/metrics.jsonl", dir);
        const char *other = rlf_arena_printf(arena, "%s/samples.jsonl", dir);
        put(arena, name, "");
        put(arena, other, "");
        for (int i = 1; i <= 40; i++) {
            append(name,
                   rlf_arena_printf(
                       arena,
                       "{\"step\":%d,\"reward\":%g,\"kl\":%g,"
                       "\"actor.entropy\":%g,\"clipped\":%g,\"odd\":%s}\n",
                       i, bad && i > 10 && i <= 20 ? 0.5 : 0.01 * i,
                       bad && i > 30 ? 20.0 : 0.1, bad && i > 20 ? 0.01 : 2.0,
                       bad && ((i > 5 && i < 9) || i == 12) ? 0.5 : 0.1,
                       bad && i == 7 ? "null" : "1"));
            for (int k = 0; k < 8; k++)
                append(other,
                       rlf_arena_printf(
                           arena,
                           "{\"step\":%d,\"set\":\"roll\",\"prompt\":\"%d\","
                           "\"response\":\"\",\"finished\":%d,\"values\":"
                           "{\"score\":%d}}\n",
                           i, k / 4, !(bad && i > 12 && i <= 15 && k < 6),
                           bad && i > 25 && i <= 30 ? k / 4 : k % 2));
        }
    }
    rlf_record *r = opened("bad");
    is_found(r, "constant", 11, 20);
    is_found(r, "kl", 31, 40);
    is_found(r, "entropy", 25, 40);
    is_found(r, "clipped", 6, 12); /* over a gap of three steps */
    is_found(r, "nonfinite", 7, 7);
    is_found(r, "cut", 13, 15);
    is_found(r, "groups", 26, 30);
    for (size_t i = 0; rlf_record_finding(r, i); i++)
        note("%s", rlf_record_finding(r, i)->text);
    rlf_record *good = opened("good");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        ok(!finding(good, kinds[i]), "a good run has no %s", kinds[i]);

    const rlf_recorded_difference *d = rlf_record_difference(good, r, 0);
    ok(d && strcmp(d->kind, "metric") == 0, "two runs differ in metrics");
    bool first = false;
    for (size_t i = 0; (d = rlf_record_difference(good, r, i)); i++)
        first |= strcmp(d->name, "first step that differs") == 0 &&
                 strcmp(d->a, "6") == 0;
    ok(first, "... from step 6 on");
    ok(!rlf_record_difference(good, good, 0), "a run is as itself");
    rlf_record_close(r);
    rlf_record_close(good);
}

/* Metrics of what is never right, and metrics that stop for a few steps. */
static void
test_whole_findings(void)
{
    folder("never");
    put(arena, "never/metrics.jsonl", "");
    for (int i = 1; i <= 40; i++)
        append("never/metrics.jsonl",
               rlf_arena_printf(arena,
                                "{\"step\":%d,\"solved\":0,\"cut\":0,"
                                "\"right\":%d,\"clipped\":%g}\n",
                                i, i == 40, i <= 20 || i > 25 ? 0.5 : 0.1));
    rlf_record *r = opened("never");
    is_found(r, "never", 1, 40);
    is_found(r, "clipped", 1, 40);
    ok(strstr(finding(r, "clipped")->text, "35 of 40 steps from 1 to 40") !=
           NULL,
       "... and of how many of them");
    ok(!rlf_record_finding(r, 2), "... and there is nothing else");
    rlf_record_close(r);
}

static void
test_text_difference(void)
{
    rlf_buf out = {0};
    rlf_text_difference(RLF_STR("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"),
                        RLF_STR("a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\n"), &out);
    is_str(out.p, " a\n-b\n+B\n c\n d\n e\n ...\n h\n i\n j\n+k\n",
           "lines that differ, with some around them");
    rlf_buf_clear(&out);
    rlf_text_difference(RLF_STR("a\n"), RLF_STR("a\n"), &out);
    is_int((int64_t)out.n, 0, "equal texts differ in nothing");
    rlf_text_difference(RLF_STR(""), RLF_STR("x"), &out);
    is_str(out.p, "+x\n", "nothing and a line without its end");
    rlf_buf_free(&out);
}

int
main(void)
{
    arena = rlf_arena_new();
    make_root();
    test_metrics();
    test_ranks();
    test_bad_lines();
    test_samples();
    test_many_samples();
    test_facts();
    test_files();
    test_refused();
    test_findings();
    test_whole_findings();
    test_text_difference();
    rlf_arena_free(arena);
    return done();
}
