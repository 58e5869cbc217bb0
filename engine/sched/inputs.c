/* The inputs of a run, written down and compared: see inputs.h. */
#include "engine/sched/inputs.h"

#include "engine/base/digest.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/json.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT_MOST = 16 << 20, LINE_SHOWN = 200 };

bool
rlf_inputs_accepted(const rlf_inputs *inputs, const char *name)
{
    for (size_t i = 0; i < inputs->accept.count; i++)
        if (strcmp(inputs->accept.data[i], name) == 0)
            return true;
    return false;
}

/* ---- written down ---- */

static void
put_member(const char *key, const char *text, rlf_buf *out)
{
    rlf_buf_printf(out, ",\"%s\":", key);
    rlf_buf_json(out, text, strlen(text));
}

void
rlf_inputs_print(const rlf_inputs *inputs, rlf_buf *out)
{
    const char *between = "[\n  {\"name\":";
    for (size_t i = 0; i < inputs->list.count; i++) {
        const rlf_input *in = &inputs->list.data[i];
        rlf_buf_puts(out, between);
        between = ",\n  {\"name\":";
        rlf_buf_json(out, in->name, strlen(in->name));
        if (*in->part)
            put_member("part", in->part, out);
        put_member("value", in->value, out);
        if (in->path)
            rlf_buf_printf(out, ",\"bytes\":%" PRIu64, in->bytes);
        if (in->copy)
            put_member("copy", in->copy, out);
        rlf_buf_puts(out, in->noted ? ",\"noted\":true}" : "}");
    }
    rlf_buf_puts(out, *between == ',' ? "]" : "[]");
}

/* ---- one input of the run before ---- */

typedef struct earlier {
    const char *name, *part, *value, *copy;
    bool noted;
} earlier;

static rlf_status
read_earlier(const json_t *entry, const char *file, rlf_err *err, earlier *out)
{
    *out = (earlier){.part = ""};
    RLF_TRY(rlf_json_get_text(entry, file, "name", true, err, &out->name));
    RLF_TRY(rlf_json_get_text(entry, file, "part", false, err, &out->part));
    RLF_TRY(rlf_json_get_text(entry, file, "value", true, err, &out->value));
    RLF_TRY(rlf_json_get_text(entry, file, "copy", false, err, &out->copy));
    return rlf_json_get_bool(entry, file, "noted", false, err, &out->noted);
}

/* ---- differences ---- */

typedef struct difference {
    const earlier *was;  /* NULL: it is new */
    const rlf_input *is; /* NULL: it is gone */
} difference;

typedef struct comparison {
    const rlf_inputs *inputs;
    earlier *was;
    size_t n_was;
    const char *directory;
    rlf_arena *arena;
    struct {
        difference *data;
        size_t count, room;
    } found;
} comparison;

static const char *
name_of(const difference *d)
{
    return d->is ? d->is->name : d->was->name;
}

static const earlier *
find_earlier(const comparison *c, const rlf_input *in)
{
    for (size_t i = 0; i < c->n_was; i++)
        if (strcmp(c->was[i].name, in->name) == 0 &&
            strcmp(c->was[i].part, in->part) == 0)
            return &c->was[i];
    return NULL;
}

static bool
is_still_there(const comparison *c, const earlier *was)
{
    for (size_t i = 0; i < c->inputs->list.count; i++)
        if (find_earlier(c, &c->inputs->list.data[i]) == was)
            return true;
    return false;
}

/* Is what is not in the list gone? Not if it may be only unknown. */
static bool
is_gone(const comparison *c, const earlier *was)
{
    bool known = true;
    if (is_still_there(c, was))
        return false;
    for (size_t i = 0; i < c->inputs->unloaded.count; i++) {
        const rlf_unloaded *u = &c->inputs->unloaded.data[i];
        if (strcmp(u->name, was->name) != 0)
            continue;
        known = false;
        for (size_t k = 0; k < u->n_absent; k++)
            if (strcmp(u->absent[k], was->part) == 0)
                return true;
    }
    return known;
}

/* All of them; of `noted` inputs, or of those that decide. */
static void
find_differences(comparison *c, bool noted)
{
    c->found.count = 0;
    for (size_t i = 0; i < c->inputs->list.count; i++) {
        const rlf_input *in = &c->inputs->list.data[i];
        const earlier *was = find_earlier(c, in);
        bool same = was && strcmp(was->value, in->value) == 0;
        if (in->noted == noted && !same)
            RLF_PUSH_IN(c->arena, &c->found, ((difference){was, in}));
    }
    for (size_t i = 0; i < c->n_was; i++)
        if (c->was[i].noted == noted && is_gone(c, &c->was[i]))
            RLF_PUSH_IN(c->arena, &c->found, ((difference){&c->was[i], NULL}));
}

/* ---- the first line that differs ---- */

/* The text of a file if it has that digest. */
static bool
read_text(const char *path, const char *digest, rlf_buf *out)
{
    rlf_err ignored = RLF_ERR_NONE;
    char is[RLF_DIGEST_TEXT];
    rlf_buf_clear(out);
    return rlf_file_exists(path) &&
           rlf_file_read(path, TEXT_MOST, &ignored, out) >= 0 &&
           strcmp(rlf_digest_print(rlf_digest_of(out->p, out->n), is),
                  digest) == 0;
}

/* The run's copy of what it began with; an older one, replaced after an
 * --accept, has more behind its name. */
static bool
read_copy(const comparison *c, const earlier *was, rlf_buf *out)
{
    const char *path = rlf_path_join(c->arena, c->directory, was->copy);
    const char *dir = rlf_path_parent(c->arena, path), **names;
    const char *last = strrchr(path, '/') + 1;
    rlf_err ignored = RLF_ERR_NONE;
    size_t n;
    if (read_text(path, was->value, out))
        return true;
    if (!rlf_dir_exists(dir) ||
        rlf_dir_list(dir, c->arena, &ignored, &names, &n) < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strncmp(names[i], last, strlen(last)) == 0 &&
            read_text(rlf_path_join(c->arena, dir, names[i]), was->value, out))
            return true;
    return false;
}

/* A line of a text; of a program only what is no comment counts, and only lines
 * that have something besides. */
typedef struct text_line {
    size_t next; /* where the next one begins */
    unsigned number;
    const char *p;
    size_t n;       /* bytes of it, without the line's end */
    size_t counted; /* of these */
} text_line;

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The number of bytes before a comment, and before the spaces there. */
static size_t
code_of(const char *p, size_t n)
{
    size_t i = 0;
    bool quoted = false;
    for (; i < n && (quoted || p[i] != '#'); i++) {
        if (p[i] == '"')
            quoted = !quoted;
        else if (quoted && p[i] == '\\')
            i++;
    }
    i = i < n ? i : n;
    while (i && is_space(p[i - 1]))
        i--;
    return i;
}

/* false: the text has ended, and the line is empty. */
static bool
next_line(const rlf_buf *text, bool program, text_line *line)
{
    do {
        if (line->next >= text->n) {
            line->p = NULL;
            line->n = line->counted = 0;
            return false;
        }
        line->p = text->p + line->next;
        const char *end = memchr(line->p, '\n', text->n - line->next);
        line->n = end ? (size_t)(end - line->p) : text->n - line->next;
        line->next += line->n + 1;
        line->number++;
        line->counted = program ? code_of(line->p, line->n) : line->n;
    } while (program && !line->counted);
    return true;
}

/* "12: the line", of a long one the part around its byte `at`. */
static const char *
show_line(const comparison *c, const text_line *line, size_t at)
{
    size_t from = at > LINE_SHOWN * 3 / 4 ? at - LINE_SHOWN / 2 : 0;
    if (!line->p)
        return "(the file has ended)";
    from = rlf_str_cut((rlf_str){line->p, line->n}, from);
    size_t n = line->n - from;
    bool long_one = n > LINE_SHOWN;
    n = rlf_str_cut((rlf_str){line->p + from, n}, LINE_SHOWN);
    while (n && is_space(line->p[from + n - 1]))
        n--;
    return rlf_arena_printf(c->arena, "%u: %s%.*s%s", line->number,
                            from ? "..." : "", (int)n, line->p + from,
                            long_one ? "..." : "");
}

/* The first byte that is another. */
static size_t
first_other(const text_line *a, const text_line *b)
{
    size_t i = 0;
    while (i < a->counted && i < b->counted && a->p[i] == b->p[i])
        i++;
    return i;
}

/* The difference of two versions of a text, as far as they are known. */
typedef struct text_difference {
    bool known; /* both are there */
    bool same;  /* no line differs that counts */
    unsigned line;
    const char *was, *is;
    const char *only; /* a remark: the lines look the same */
} text_difference;

static void
find_line(const comparison *c, const rlf_buf *before, const rlf_buf *now,
          bool program, text_difference *out)
{
    text_line was = {0}, is = {0};
    bool a, b;
    do {
        a = next_line(before, program, &was);
        b = next_line(now, program, &is);
        out->same = !a && !b;
    } while (a && b && was.counted == is.counted &&
             memcmp(was.p, is.p, was.counted) == 0);
    out->line = b ? is.number : was.number;
    size_t at = first_other(&was, &is);
    out->was = show_line(c, &was, at);
    out->is = show_line(c, &is, at);
    /* what differs is shown, unless it is at the end and nothing to see */
    out->only = a && b && strcmp(out->was, out->is) == 0
                    ? ", in spaces or the line's end"
                    : "";
}

static bool
read_now(const rlf_input *input, rlf_buf *out)
{
    if (!input->text)
        return read_text(input->path, input->value, out);
    rlf_buf_add(out, input->text, input->bytes);
    return true;
}

static text_difference
differ(const comparison *c, const difference *d)
{
    rlf_buf before = {0}, now = {0};
    text_difference out = {0};
    out.known = d->was && d->is && d->was->copy && d->is->copy &&
                read_copy(c, d->was, &before) && read_now(d->is, &now);
    if (out.known)
        find_line(c, &before, &now, strcmp(name_of(d), "program") == 0, &out);
    rlf_buf_free(&before);
    rlf_buf_free(&now);
    return out;
}

/* ---- saying it ---- */

/* Describes a difference as the beginning of a sentence; of a text `lines` too.
 */
static const char *
describe(const comparison *c, const difference *d, const char **lines)
{
    const char *name = name_of(d);
    *lines = NULL;
    if (!d->is || !d->was) {
        const char *part = d->is ? d->is->part : d->was->part;
        return rlf_arena_printf(c->arena, "%s%s%s %s", name, *part ? ": " : "",
                                part, d->is ? "is new" : "is gone");
    }
    if (!d->is->path) {
        const char *part = d->is->part;
        return rlf_arena_printf(c->arena, "%s%s%s is %s, it was %s", name,
                                *part ? " of " : "", part, d->is->value,
                                d->was->value);
    }
    text_difference text = differ(c, d);
    if (!text.known)
        return rlf_arena_printf(c->arena, "%s: %s %s", name, d->is->path,
                                strcmp(d->is->value, "none") == 0
                                    ? "is gone"
                                    : "is not what it was");
    if (text.same)
        return rlf_arena_printf(c->arena, "%s: %s differs in its last line end",
                                name, d->is->path);
    *lines =
        rlf_arena_printf(c->arena, "it was  %s\nit is   %s", text.was, text.is);
    return rlf_arena_printf(c->arena, "%s: %s differs from line %u on%s", name,
                            d->is->path, text.line, text.only);
}

/* The program is known by what it computes; the user by its texts: the first
 * that differs in more than comments, and its copy in the run. */
static const char *
describe_program(comparison *c, const char **lines, const char **copy)
{
    comparison texts = *c;
    texts.found.data = NULL;
    texts.found.count = texts.found.room = 0;
    find_differences(&texts, true);
    *lines = NULL;
    for (size_t i = 0; i < texts.found.count; i++) {
        const difference *d = &texts.found.data[i];
        if (strcmp(name_of(d), "program") != 0 || differ(c, d).same)
            continue;
        *copy = d->was ? d->was->copy : NULL;
        return describe(&texts, d, lines);
    }
    return NULL;
}

static bool
is_program(const difference *d)
{
    return strcmp(name_of(d), "program") == 0;
}

/* Another value of a parameter makes another program of the same text: then
 * only the parameter is told. */
static void
leave_out_program(comparison *c)
{
    const char *lines, *copy;
    size_t n = 0;
    if (c->found.count < 2 || describe_program(c, &lines, &copy))
        return;
    for (size_t i = 0; i < c->found.count; i++)
        if (!is_program(&c->found.data[i]))
            c->found.data[n++] = c->found.data[i];
    c->found.count = n;
}

static void
put_accepted(const difference *d, uint32_t step, rlf_buf *out)
{
    rlf_buf_printf(out, "%s{\"step\":%u", out->n ? ",\n  " : "", step);
    put_member("input", name_of(d), out);
    const char *part = d->is ? d->is->part : d->was->part;
    if (*part)
        put_member("part", part, out);
    if (d->was)
        put_member("was", d->was->value, out);
    if (d->is)
        put_member("is", d->is->value, out);
    rlf_buf_putc(out, '}');
}

/* Refuses those that nobody accepted: the first in the sentence, the others
 * behind. */
static rlf_status
refuse(comparison *c, rlf_err *err)
{
    rlf_buf others = {0}, names = {0};
    const char *first = NULL, *copy = NULL, *lines;
    for (size_t i = 0; i < c->found.count; i++) {
        const difference *d = &c->found.data[i];
        const char *name = name_of(d);
        if (rlf_inputs_accepted(c->inputs, name))
            continue;
        const char *had = d->was ? d->was->copy : NULL;
        const char *text =
            is_program(d) ? describe_program(c, &lines, &had) : NULL;
        if (!text)
            text = describe(c, d, &lines);
        if (first)
            rlf_buf_printf(&others, "%s%s", others.n ? "\n" : "", text);
        else
            first = text;
        if (lines)
            rlf_buf_printf(&others, "%s%s", others.n ? "\n" : "", lines);
        if (!copy)
            copy = had;
        size_t n = strlen(name);
        if (names.n < n || strcmp(names.p + names.n - n, name) != 0)
            rlf_buf_printf(&names, "%s%s", names.n ? "," : "", name);
    }
    if (!first)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "%s is of another run: %s", c->directory, first);
    if (others.n)
        rlf_err_detail(err, "%s", others.p);
    rlf_err_hint(err,
                 "give it what it had%s%s%s, or go on with what there is now: "
                 "--accept %s",
                 copy ? " (" : "",
                 copy ? rlf_path_join(c->arena, c->directory, copy) : "",
                 copy ? " is a copy)" : "", names.p);
    rlf_buf_free(&others);
    rlf_buf_free(&names);
    return RLF_USER;
}

/* The names that --accept takes in this run, each once. */
static void
hint_names(const char *const *names, size_t n, rlf_err *err)
{
    rlf_buf list = {0};
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (strcmp(names[k], names[i]) != 0)
            k++;
        if (k == i)
            rlf_buf_printf(&list, "%s%s", list.n ? ", " : "", names[i]);
    }
    rlf_err_hint(err, "its inputs are %s", list.n ? list.p : "none");
    rlf_buf_free(&list);
}

/* A name that no input has, nor had, is a mistake. */
static rlf_status
check_names(const comparison *c, rlf_err *err)
{
    size_t n = 0, n_is = c->inputs->list.count;
    const char **names =
        RLF_NEW_ARRAY(c->arena, const char *, n_is + c->n_was + 1);
    for (size_t i = 0; i < n_is; i++)
        names[n++] = c->inputs->list.data[i].name;
    for (size_t i = 0; i < c->n_was; i++)
        names[n++] = c->was[i].name;
    for (size_t i = 0; i < c->inputs->accept.count; i++) {
        const char *name = c->inputs->accept.data[i];
        size_t k = 0;
        while (k < n && strcmp(names[k], name) != 0)
            k++;
        if (k < n)
            continue;
        const char *nearest = rlf_str_nearest(name, names, n);
        rlf_fail(err, RLF_USAGE, "--accept %s: the run has no such input",
                 name);
        if (nearest)
            rlf_err_hint(err, "did you mean %s", nearest);
        else
            hint_names(names, n, err);
        return RLF_USAGE;
    }
    return RLF_OK;
}

rlf_status
rlf_inputs_check(const rlf_inputs *inputs, const json_t *was, const char *file,
                 const char *directory, uint32_t step, rlf_arena *arena,
                 rlf_err *err, rlf_buf *accepted)
{
    comparison c = {.inputs = inputs,
                    .n_was = json_array_size(was),
                    .directory = directory,
                    .arena = arena};
    c.was = RLF_NEW_ARRAY(arena, earlier, c.n_was + 1);
    for (size_t i = 0; i < c.n_was; i++)
        RLF_TRY(read_earlier(json_array_get(was, i), file, err, &c.was[i]));
    RLF_TRY(check_names(&c, err));
    find_differences(&c, false);
    leave_out_program(&c);
    RLF_TRY(refuse(&c, err));
    for (size_t i = 0; i < c.found.count; i++)
        put_accepted(&c.found.data[i], step, accepted);
    return RLF_OK;
}
