/* Event files, as TensorBoard reads them: records (io/protobuf.h) of events,
 * which are protocol buffers. Each start of a run begins a file; names sort in
 * the order of the starts. A resume begins its file by an event that voids all
 * of later steps in the files before. What the numbers of fields stand for is
 * in TensorBoard's event.proto, summary.proto and tensor.proto. */
#include "engine/api/sinks/sinks.h"

#include "engine/base/vec.h"
#include "engine/graph/run.h"
#include "engine/io/file.h"
#include "engine/io/protobuf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Fields of an event; of a summary one, its value; of a value, and so on. */
enum {
    EVENT_TIME = 1,
    EVENT_STEP,
    EVENT_VERSION,
    EVENT_SUMMARY = 5,
    EVENT_LOG = 7
};
enum { LOG_STATUS = 1, LOG_START = 1 };
enum { VALUE_TAG = 1, VALUE_NUMBER = 2, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { METADATA_PLUGIN = 1, PLUGIN_NAME = 1 };
enum { TENSOR_TYPE = 1, TENSOR_SHAPE, TENSOR_TEXT = 8, TYPE_TEXT = 7 };
enum { SHAPE_DIM = 2, DIM_SIZE = 1 };

/* Samples of a set whose text is shown. */
enum { SHOWN = 3 };

typedef struct board {
    rlf_session *session;
    char *folder, *path;
    bool again;       /* there are files of starts before */
    uint64_t written; /* bytes of the file; 0: it is not begun */
    bool synced;
} board;

static rlf_status
check(rlf_err *err)
{
    (void)err;
    return RLF_OK;
}

/* ---- events ---- */

static void
begin(rlf_buf *event, double time, uint32_t step)
{
    rlf_buf_clear(event);
    rlf_proto_double(event, EVENT_TIME, time);
    rlf_proto_int(event, EVENT_STEP, step);
}

static void
end(const rlf_buf *event, rlf_buf *out)
{
    rlf_tfrecord_add(out, event->p, event->n);
}

static void
put_number(rlf_buf *summary, const rlf_sink_metric *m)
{
    rlf_buf value = {0};
    rlf_proto_text(&value, VALUE_TAG, m->name);
    rlf_proto_float(&value, VALUE_NUMBER, (float)m->value);
    rlf_proto_message(summary, 1, &value);
    rlf_buf_free(&value);
}

/* A text for the plugin of that name: a tensor of one string. */
static void
put_text(rlf_buf *summary, const char *tag, const rlf_buf *text)
{
    rlf_buf value = {0}, tensor = {0}, shape = {0}, dim = {0}, metadata = {0},
            plugin = {0};
    rlf_proto_int(&dim, DIM_SIZE, 1);
    rlf_proto_message(&shape, SHAPE_DIM, &dim);
    rlf_proto_int(&tensor, TENSOR_TYPE, TYPE_TEXT);
    rlf_proto_message(&tensor, TENSOR_SHAPE, &shape);
    rlf_proto_message(&tensor, TENSOR_TEXT, text);
    rlf_proto_text(&plugin, PLUGIN_NAME, "text");
    rlf_proto_message(&metadata, METADATA_PLUGIN, &plugin);
    rlf_proto_text(&value, VALUE_TAG, tag);
    rlf_proto_message(&value, VALUE_TENSOR, &tensor);
    rlf_proto_message(&value, VALUE_METADATA, &metadata);
    rlf_proto_message(summary, 1, &value);
    rlf_buf *all[] = {&value, &tensor, &shape, &dim, &metadata, &plugin};
    for (size_t i = 0; i < RLF_COUNT(all); i++)
        rlf_buf_free(all[i]);
}

/* ---- texts, in Markdown ---- */

/* As it is: lines that four spaces begin. */
static void
put_block(rlf_buf *out, rlf_str text)
{
    for (size_t at = 0; at <= text.n;) {
        const char *stop =
            text.n > at ? memchr(text.p + at, '\n', text.n - at) : NULL;
        size_t n = stop ? (size_t)(stop - text.p) - at : text.n - at;
        rlf_buf_puts(out, "    ");
        if (n)
            rlf_buf_add(out, text.p + at, n);
        rlf_buf_putc(out, '\n');
        at += n + 1;
    }
    rlf_buf_putc(out, '\n');
}

static void
put_sample(const rlf_session *s, const rlf_recorded_set *set, uint32_t row,
           rlf_buf *out)
{
    const rlf_rows *rows = set->rows;
    uint32_t p = rlf_space_row(&s->graph->domains, rows->samples, row,
                               rows->prompts->domain);
    rlf_buf_printf(out, "sample %llu, %u tokens%s\n\n",
                   (unsigned long long)rows->samples->identity[row],
                   rows->sample[row].n_ids,
                   rows->sample[row].finished ? "" : ", cut off");
    put_block(out, rows->prompt[p].text);
    rlf_buf_puts(out, "answer\n\n");
    put_block(out, rows->sample[row].text);
    rlf_buf numbers = {0};
    for (size_t i = 0; i < set->numbers.count; i++)
        rlf_buf_printf(&numbers, "%s%s %g", i ? ", " : "",
                       set->numbers.data[i].name,
                       set->numbers.data[i].number[row]);
    if (numbers.n)
        put_block(out, (rlf_str){numbers.p, numbers.n});
    rlf_buf_free(&numbers);
}

static void
put_sets(const rlf_session *s, const rlf_recorded_sets *sets, rlf_buf *summary)
{
    for (size_t i = 0; i < sets->count; i++) {
        const rlf_recorded_set *set = &sets->data[i];
        rlf_buf text = {0}, tag = {0};
        for (uint32_t row = 0; row < set->n && row < SHOWN; row++)
            put_sample(s, set, row, &text);
        rlf_buf_printf(&tag, "samples/%s", set->name);
        put_text(summary, tag.p, &text);
        rlf_buf_free(&text);
        rlf_buf_free(&tag);
    }
}

/* The program, and the parameters that it runs with. */
static void
put_program(const rlf_session *s, rlf_buf *summary)
{
    rlf_buf text = {0};
    if (s->program.sources.list.count)
        put_block(&text, (rlf_str){s->program.sources.list.data[0].text,
                                   s->program.sources.list.data[0].size});
    put_text(summary, "program", &text);
    rlf_buf_clear(&text);
    rlf_buf values = {0};
    for (size_t i = 0; i < s->graph->params.count; i++)
        rlf_buf_printf(&values, "%s%s=%s", i ? "\n" : "",
                       s->graph->params.data[i].name,
                       s->graph->params.data[i].value);
    if (values.n) {
        put_block(&text, (rlf_str){values.p, values.n});
        put_text(summary, "parameters", &text);
    }
    rlf_buf_free(&values);
    rlf_buf_free(&text);
}

/* ---- the file ---- */

/* The latest time in the names of files that are there, and how many. */
static rlf_status
look(const char *folder, rlf_arena *arena, rlf_err *err, uint64_t *latest,
     size_t *count)
{
    static const char begins[] = "events.out.tfevents.";
    const char **names;
    size_t n;
    *latest = *count = 0;
    if (!rlf_dir_exists(folder))
        return RLF_OK;
    RLF_TRY(rlf_dir_list(folder, arena, err, &names, &n));
    for (size_t i = 0; i < n; i++) {
        if (strncmp(names[i], begins, strlen(begins)) != 0)
            continue;
        uint64_t time = strtoull(names[i] + strlen(begins), NULL, 10);
        *latest = time > *latest ? time : *latest;
        ++*count;
    }
    return RLF_OK;
}

static rlf_status
open(rlf_session *s, rlf_err *err, void **out)
{
    const char *folder =
        rlf_path_join(s->arena, s->options.directory, "tensorboard");
    uint64_t latest, at = (uint64_t)time(NULL);
    size_t count;
    RLF_TRY(look(folder, s->arena, err, &latest, &count));
    board *b = RLF_NEW(s->arena, board);
    *b = (board){.session = s, .folder = (char *)folder, .again = count > 0};
    at = latest > at ? latest : at;
    b->path = rlf_arena_printf(
        s->arena, "%s/events.out.tfevents.%010" PRIu64 ".rlflow.%06zu", folder,
        at, count);
    *out = b;
    return RLF_OK;
}

/* What each file begins with. */
static void
put_head(const board *b, const rlf_sink_step *step, rlf_buf *event,
         rlf_buf *out)
{
    rlf_buf part = {0};
    rlf_buf_clear(event);
    rlf_proto_double(event, EVENT_TIME, step->time);
    rlf_proto_text(event, EVENT_VERSION, "brain.Event:2");
    end(event, out);
    if (b->again) {
        rlf_proto_int(&part, LOG_STATUS, LOG_START);
        begin(event, step->time, step->step);
        rlf_proto_message(event, EVENT_LOG, &part);
        end(event, out);
        rlf_buf_clear(&part);
    }
    put_program(b->session, &part);
    begin(event, step->time, step->step - 1);
    rlf_proto_message(event, EVENT_SUMMARY, &part);
    end(event, out);
    rlf_buf_free(&part);
}

static rlf_status
step(void *sink, const rlf_sink_step *step, rlf_err *err)
{
    board *b = sink;
    bool there;
    rlf_buf event = {0}, summary = {0}, out = {0};
    RLF_TRY(rlf_path_own(b->folder, err));
    RLF_TRY(rlf_file_find(b->path, err, &there));
    if (!there) {
        RLF_TRY(rlf_dir_make_in(b->session->options.directory, b->folder, err));
        put_head(b, step, &event, &out);
    }
    for (size_t i = 0; i < step->n_metrics; i++)
        put_number(&summary, &step->metrics[i]);
    put_sets(b->session, step->sets, &summary);
    begin(&event, step->time, step->step);
    rlf_proto_message(&event, EVENT_SUMMARY, &summary);
    end(&event, &out);
    rlf_status status =
        rlf_file_append(b->path, out.p, out.n, false, NULL, err);
    if (status >= 0)
        b->written += out.n;
    b->synced = false;
    rlf_buf_free(&event);
    rlf_buf_free(&summary);
    rlf_buf_free(&out);
    return status;
}

static const char *
lost(const void *sink)
{
    const board *b = sink;
    struct stat is;
    bool whole = !b->written || (lstat(b->path, &is) == 0 &&
                                 (uint64_t)is.st_size >= b->written);
    return whole ? NULL : b->path;
}

static uint32_t
has(const void *sink)
{
    const board *b = sink;
    return b->again ? b->session->steps.resumed : 0;
}

static rlf_status
sync(void *sink, rlf_err *err)
{
    board *b = sink;
    bool there = false;
    if (b->synced)
        return RLF_OK;
    RLF_TRY(rlf_file_find(b->path, err, &there));
    if (there)
        RLF_TRY(rlf_file_sync(b->path, err));
    b->synced = true;
    return RLF_OK;
}

static void
close(void *sink)
{
    (void)sink; /* it is the session's */
}

const rlf_sink_class rlf_sink_tensorboard = {
    .name = "tensorboard",
    .check = check,
    .open = open,
    .step = step,
    .lost = lost,
    .has = has,
    .sync = sync,
    .close = close,
};
