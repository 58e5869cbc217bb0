/* Pictures of a simulated run: see timeline.h. */
#include "engine/simulate/timeline.h"

#include "engine/base/svg.h"
#include "engine/graph/class.h"
#include "engine/simulate/timeline_groups.h"

#include <math.h>
#include <stdio.h>

const char rlf_timeline_letters[RLF_SPENTS + 1] = {
    [RLF_SPENT_GENERATE] = 'G', [RLF_SPENT_READ] = 'R',
    [RLF_SPENT_TRAIN] = 'T',    [RLF_SPENT_HOOK] = 'H',
    [RLF_SPENT_OTHER] = 'o',    [RLF_SPENT_MESSAGES] = 'm',
    [RLF_SPENT_WEIGHTS] = 'w',  [RLF_SPENT_BUBBLE] = '~'};

/* Told apart by those who do not see all colours, too. */
static const char *const colors[RLF_SPENTS] = {
    [RLF_SPENT_GENERATE] = "#0072b2", [RLF_SPENT_READ] = "#56b4e9",
    [RLF_SPENT_TRAIN] = "#d55e00",    [RLF_SPENT_HOOK] = "#009e73",
    [RLF_SPENT_OTHER] = "#999999",    [RLF_SPENT_MESSAGES] = "#cc79a7",
    [RLF_SPENT_WEIGHTS] = "#f0e442",  [RLF_SPENT_BUBBLE] = "#eecfb8"};

void
rlf_timeline_see(void *timeline, const rlf_span_spent *span)
{
    rlf_timeline *t = timeline;
    if (span->to > span->from)
        RLF_PUSH(&t->spans, *span);
}

void
rlf_timeline_free(rlf_timeline *t)
{
    RLF_VEC_FREE(&t->spans);
}

static double
overlap(double a, double b, double c, double d)
{
    double from = a > c ? a : c, to = b < d ? b : d;
    return to > from ? to - from : 0;
}

/* ---- text ---- */

/* Seconds of each kind in each column of each rank. */
static double *
fill(const rlf_timeline *t, double from, double width, int columns)
{
    double *of =
        rlf_calloc((size_t)t->ranks * (size_t)columns * RLF_SPENTS, sizeof *of);
    for (size_t i = 0; i < t->spans.count && width > 0; i++) {
        const rlf_span_spent *s = &t->spans.data[i];
        int first = (int)((s->from - from) / width);
        double share = s->bubble / (s->to - s->from);
        for (int k = first < 0 ? 0 : first;
             k < columns && from + k * width < s->to; k++) {
            double at = from + k * width;
            double here = overlap(s->from, s->to, at, at + width);
            double *cell =
                of +
                ((size_t)s->rank * (size_t)columns + (size_t)k) * RLF_SPENTS;
            cell[s->kind] += here * (1 - share);
            cell[RLF_SPENT_BUBBLE] += here * share;
        }
    }
    return of;
}

static char
letter(const double *cell, double width)
{
    double idle = width;
    int most = -1;
    for (int k = 0; k < RLF_SPENTS; k++) {
        idle -= cell[k];
        if (cell[k] > 0 && (most < 0 || cell[k] > cell[most]))
            most = k;
    }
    return most < 0 || idle > cell[most] ? '.' : rlf_timeline_letters[most];
}

void
rlf_timeline_text(const rlf_timeline *t, double from, double to, int columns,
                  rlf_buf *out)
{
    double width = (to - from) / columns;
    double *of = fill(t, from, width, columns);
    for (int r = 0; r < t->ranks; r++) {
        rlf_buf_printf(out, "%5d ", r);
        for (int k = 0; k < columns; k++)
            rlf_buf_putc(out,
                         letter(of + ((size_t)r * (size_t)columns + (size_t)k) *
                                         RLF_SPENTS,
                                width));
        rlf_buf_putc(out, '\n');
    }
    free(of);
}

/* ---- SVG ---- */

enum {
    WIDTH = 1200,
    LEFT = 60,       /* of names: of a rank, and */
    LEFT_MANY = 150, /* of several */
    RIGHT = 60,
    BAR = 16,
    GAP = 4,
    TOP = 76, /* of the first bar; above it the title, colours, steps */
    TICKS = 10,
    RUNS = 2, /* of neighbours in a bar's name */
};

/* The part of the time that is drawn, and where. */
typedef struct picture {
    const rlf_timeline *timeline;
    double from, to;
    int left, bottom;
} picture;

/* The horizontal place of a moment. */
static double
place_of(const picture *p, double at)
{
    return p->left + (at - p->from) * (WIDTH - p->left) / (p->to - p->from);
}

/* As XML has them. */
static void
put_words(const char *words, rlf_buf *out)
{
    for (const char *p = words; *p; p++) {
        if (*p == '&')
            rlf_buf_puts(out, "&amp;");
        else if (*p == '<')
            rlf_buf_puts(out, "&lt;");
        else
            rlf_buf_putc(out, *p);
    }
}

static const char *
name_of(const rlf_timeline *t, const rlf_span_spent *s)
{
    if (!s->node)
        return rlf_spent_words[s->kind];
    return t->names ? t->names[s->node->id] : s->node->class->name;
}

static int
top_of(int bar)
{
    return TOP + bar * (BAR + GAP);
}

static void
put_title(const rlf_span_spent *s, const char *name,
          const rlf_timeline_group *group, double from, rlf_buf *out)
{
    rlf_buf_puts(out, "<title>");
    put_words(name, out);
    rlf_buf_printf(out, ", %s: %.6g s from %.6g s", rlf_spent_words[s->kind],
                   s->to - s->from, s->from - from);
    if (s->turns)
        rlf_buf_printf(out, ", %u turns of %u samples", s->turns, s->rows);
    if (s->bubble > 0)
        rlf_buf_printf(out, ", %.6g s of it waiting for others", s->bubble);
    if (group->n > 1) {
        rlf_buf_puts(out, "; ");
        rlf_timeline_group_text(group, group->n, out);
    }
    rlf_buf_puts(out, "</title>");
}

/* A rectangle in a colour, which is left open. */
static void
put_box(double x, double y, double width, double height, const char *color,
        rlf_buf *out)
{
    rlf_buf_printf(out,
                   "<rect x=\"%.3f\" y=\"%.3g\" width=\"%.3f\" "
                   "height=\"%.3g\" fill=\"%s\"",
                   x, y, width, height, color);
}

static void
put_span(const picture *p, const rlf_span_spent *s,
         const rlf_timeline_group *group, int bar, rlf_buf *out)
{
    double a = fmax(s->from, p->from), b = fmin(s->to, p->to);
    double x = place_of(p, a), width = place_of(p, b) - x;
    double pale = BAR * s->bubble / (s->to - s->from);
    if (b <= a)
        return;
    rlf_buf_puts(out, "<g>");
    put_box(x, top_of(bar), width, BAR, colors[s->kind], out);
    rlf_buf_puts(out, "/>");
    if (pale > 0) {
        put_box(x, top_of(bar) + BAR - pale, width, pale,
                colors[RLF_SPENT_BUBBLE], out);
        rlf_buf_puts(out, "/>");
    }
    put_title(s, name_of(p->timeline, s), group, p->from, out);
    rlf_buf_puts(out, "</g>\n");
}

static void
put_text(double x, double y, const char *words, rlf_buf *out)
{
    rlf_buf_printf(out, "<text x=\"%.3f\" y=\"%.3f\">", x, y);
    put_words(words, out);
    rlf_buf_puts(out, "</text>\n");
}

static void
put_colors(rlf_buf *out)
{
    for (int k = 0; k < RLF_SPENTS; k++) {
        put_box(LEFT + 110 * k, 28, 12, 12, colors[k], out);
        rlf_buf_puts(out, "/>");
        put_text(LEFT + 110 * k + 16, 38, rlf_spent_words[k], out);
    }
    put_box(LEFT + 110 * RLF_SPENTS, 28, 12, 12, "white", out);
    rlf_buf_puts(out, " stroke=\"#999999\"/>");
    put_text(LEFT + 110 * RLF_SPENTS + 16, 38, "idle", out);
}

/* A line where each step ends, and its number before that. */
static void
put_steps(const picture *p, rlf_buf *out)
{
    const rlf_timeline *t = p->timeline;
    double begin = 0;
    for (uint32_t i = 0; i < t->steps; begin = t->ends[i++]) {
        double end = t->ends[i], first = fmax(begin, p->from);
        if (end <= p->from || first >= p->to)
            continue;
        char words[48];
        snprintf(words, sizeof words, "step %u: %.4g s", i + 1, end - begin);
        put_text(place_of(p, first) + 4, TOP - 12, words, out);
        rlf_buf_printf(out,
                       "<path d=\"M%.3f %d V%d\" stroke=\"black\" "
                       "stroke-dasharray=\"3 3\"/>\n",
                       place_of(p, fmin(end, p->to)), TOP - 24,
                       p->bottom - BAR);
    }
}

static void
put_scale(const picture *p, rlf_buf *out)
{
    double all = p->to - p->from, tick = rlf_svg_step(all / TICKS);
    for (int i = 0; i * tick <= all * (1 + 1e-9); i++) {
        double x = place_of(p, p->from + i * tick);
        char words[32];
        snprintf(words, sizeof words, "%.6g s", i * tick);
        rlf_buf_printf(out, "<path d=\"M%.3f %d v4\" stroke=\"black\"/>", x,
                       p->bottom - BAR);
        put_text(x, p->bottom, words, out);
    }
}

/* Each bar has its name, and the spans of its first rank. */
static void
put_bars(const picture *p, const rlf_timeline_group *groups, int n,
         rlf_buf *out)
{
    const rlf_timeline *t = p->timeline;
    int *bar = rlf_calloc((size_t)t->ranks, sizeof *bar); /* + 1; 0: none */
    for (int k = 0; k < n; k++) {
        rlf_buf words = {0};
        rlf_timeline_group_text(&groups[k], RUNS, &words);
        put_text(4, top_of(k) + BAR - 3, words.p, out);
        rlf_buf_free(&words);
        bar[groups[k].ranks[0]] = k + 1;
    }
    for (size_t i = 0; i < t->spans.count; i++) {
        const rlf_span_spent *s = &t->spans.data[i];
        int k = bar[s->rank] - 1;
        if (k >= 0)
            put_span(p, s, &groups[k], k, out);
    }
    free(bar);
}

void
rlf_timeline_svg(const rlf_timeline *t, double from, double to, rlf_buf *out)
{
    rlf_arena *arena = rlf_arena_new();
    int n;
    double pixel = (to - from) / WIDTH;
    const rlf_timeline_group *groups =
        rlf_timeline_groups(t, from, to, pixel, arena, &n);
    const picture p = {.timeline = t,
                       .from = from,
                       .to = to,
                       .left = n < t->ranks ? LEFT_MANY : LEFT,
                       .bottom = top_of(n) + BAR};
    rlf_buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                   "height=\"%d\" font-family=\"sans-serif\" "
                   "font-size=\"12\">\n" RLF_SVG_MARK
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                   WIDTH + RIGHT, p.bottom + BAR);
    if (t->title)
        put_text(LEFT, 18, t->title, out);
    put_colors(out);
    put_bars(&p, groups, n, out);
    put_steps(&p, out);
    put_scale(&p, out);
    rlf_buf_puts(out, "</svg>\n");
    rlf_arena_free(arena);
}

/* ---- a trace ---- */

static uint64_t
nanoseconds(uint64_t start, double seconds)
{
    return start + (uint64_t)(seconds * 1e9 + 0.5);
}

void
rlf_timeline_trace(const rlf_timeline *t, uint64_t start, rlf_trace *trace)
{
    rlf_trace_lane **lanes = rlf_calloc((size_t)t->ranks, sizeof *lanes);
    for (int r = 0; r < t->ranks; r++)
        lanes[r] = rlf_trace_add(trace, r, "simulated");
    rlf_trace_lane *steps = rlf_trace_add(trace, 0, "steps");
    for (uint32_t i = 0; i < t->steps; i++) {
        char words[32];
        snprintf(words, sizeof words, "step %u", i + 1);
        rlf_trace_span(steps, "step", words,
                       nanoseconds(start, i ? t->ends[i - 1] : 0),
                       nanoseconds(start, t->ends[i]), 0);
    }
    for (size_t i = 0; i < t->spans.count; i++) {
        const rlf_span_spent *s = &t->spans.data[i];
        rlf_trace_span(lanes[s->rank], rlf_spent_words[s->kind], name_of(t, s),
                       nanoseconds(start, s->from), nanoseconds(start, s->to),
                       s->turns);
    }
    free(lanes);
}
