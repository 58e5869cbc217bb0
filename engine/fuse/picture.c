/* Pictures of fused schedules: see picture.h. */
#include "engine/fuse/picture.h"

#include "engine/base/svg.h"

#include <string.h>

static double
takes(const rlf_fuse *fuse, int place, rlf_pipe_op op)
{
    int stage = rlf_pipe_stage(&fuse->models[op.model], place, op.chunk);
    const rlf_pipe_cost *cost = &fuse->cost[op.model][stage];
    return op.kind == RLF_PIPE_FORWARD    ? cost->forward
           : op.kind == RLF_PIPE_BACKWARD ? cost->backward
                                          : cost->weights;
}

static char
letter_of(const rlf_fuse *fuse, rlf_pipe_op op)
{
    static const char first[RLF_PIPE_KINDS] = {'a', 'A', '0'};
    int most = op.kind == RLF_PIPE_WEIGHTS ? 10 : 26;
    return (char)(first[op.kind] + fuse->turn[op.model] % most);
}

/* ---- text ---- */

/* Returns the letter ('.': none) that is busy for most of the time between two
 * moments. */
static char
letter_between(const rlf_fuse *fuse, const rlf_fuse_answer *answer, int place,
               double from, double to)
{
    const rlf_pipe_list *list = &answer->pipe.lists[place];
    double of[128] = {0}, left = to - from;
    char most = '.';
    for (int i = 0; i < list->count; i++) {
        double begin = answer->begin[place][i];
        double end = begin + takes(fuse, place, list->ops[i]);
        begin = begin > from ? begin : from;
        end = end < to ? end : to;
        if (end <= begin)
            continue;
        of[(int)letter_of(fuse, list->ops[i])] += end - begin;
        left -= end - begin;
    }
    of['.'] = left;
    for (char c = '0'; c <= 'z'; c++)
        if (of[(int)c] > of[(int)most] * (1 + 1e-9))
            most = c;
    return most;
}

/* Sums up what a place holds at most, and how much of the time it waits. */
static void
sum_place(const rlf_fuse *fuse, const rlf_fuse_answer *answer, int place,
          double *peak, double *waits)
{
    const rlf_pipe_list *list = &answer->pipe.lists[place];
    double held = 0;
    *peak = 0;
    *waits = answer->makespan;
    for (int i = 0; i < list->count; i++) {
        rlf_pipe_op op = list->ops[i];
        const rlf_pipe_model *model = &fuse->models[op.model];
        int stage = rlf_pipe_stage(model, place, op.chunk);
        double memory = fuse->cost[op.model][stage].memory;
        if (op.kind == RLF_PIPE_FORWARD && !model->forward_only)
            held += memory;
        if (op.kind == (model->split ? RLF_PIPE_WEIGHTS : RLF_PIPE_BACKWARD))
            held -= memory;
        *peak = held > *peak ? held : *peak;
        *waits -= takes(fuse, place, op);
    }
    *waits = 100 * (*waits / answer->makespan);
}

void
rlf_picture_text(const rlf_fuse *fuse, const rlf_fuse_answer *answer,
                 int columns, rlf_buf *out)
{
    int wide = columns - 24; /* of the time */
    double each = answer->makespan / wide;
    rlf_buf_printf(out, "place  0%*g   waits    peak\n", wide - 1,
                   answer->makespan);
    for (int p = 0; p < fuse->places; p++) {
        double peak, waits;
        sum_place(fuse, answer, p, &peak, &waits);
        rlf_buf_printf(out, "%5d  ", p);
        for (int i = 0; i < wide; i++)
            rlf_buf_putc(
                out, letter_between(fuse, answer, p, each * i, each * (i + 1)));
        rlf_buf_printf(out,
                       peak < 1e4 ? " %5.1f %% %7.2f\n" : " %5.1f %% %7.3g\n",
                       waits, peak);
    }
}

/* ---- SVG ---- */

enum { TOP = 30, LEFT = 50 }; /* of the first box */
enum { TITLE = 490 };         /* pixels that the title takes at most */

/* A hue for each turn: light forward, dark backward, between them weights. */
static const char *
colour_of(const rlf_fuse *fuse, rlf_pipe_op op)
{
    static const char *const colours[][RLF_PIPE_KINDS] = {
        {"#9ecae1", "#2171b5", "#6baed6"}, {"#fdae6b", "#d94801", "#fd8d3c"},
        {"#a1d99b", "#238b45", "#74c476"}, {"#bcbddc", "#6a51a3", "#9e9ac8"},
        {"#fbb4b9", "#ae017e", "#f768a1"}, {"#d9d9d9", "#636363", "#969696"},
    };
    int n = (int)(sizeof colours / sizeof *colours);
    return colours[fuse->turn[op.model] % n][op.kind];
}

static const char *const kinds[RLF_PIPE_KINDS] = {"forward", "backward",
                                                  "weights"};

static void
put_box(const rlf_fuse *fuse, int place, rlf_pipe_op op, double begin,
        double scale, rlf_buf *out)
{
    int top = 24 * place + TOP;
    double lasts = takes(fuse, place, op), wide = lasts * scale,
           x = LEFT + begin * scale;
    rlf_buf_printf(out,
                   "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"20\" "
                   "fill=\"%s\" stroke=\"white\" stroke-width=\"0.5\"><title>",
                   x, top, wide, colour_of(fuse, op));
    rlf_svg_text(out, fuse->models[op.model].name);
    rlf_buf_printf(out, " %s %d: %g to %g</title></rect>\n", kinds[op.kind],
                   op.micro, begin, begin + lasts);
    if (wide >= 12)
        rlf_buf_printf(out,
                       "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\" "
                       "fill=\"%s\">%d</text>\n",
                       x + wide / 2, top + 14,
                       op.kind == RLF_PIPE_FORWARD ? "black" : "white",
                       op.micro);
}

/* Writes the length of the schedule, beside the least that is possible, and the
 * memory of the fullest place. */
static void
put_title(const rlf_fuse *fuse, const rlf_fuse_answer *answer, rlf_buf *out)
{
    double most = 0, all = 0;
    for (int p = 0; p < fuse->places; p++) {
        double peak, waits;
        sum_place(fuse, answer, p, &peak, &waits);
        most = peak > most ? peak : most;
        all += waits / fuse->places;
    }
    rlf_buf_printf(out,
                   "<text x=\"%d\" y=\"18\" font-size=\"12\">makespan %g, "
                   "%.1f %% of it waiting, at most %g of memory at a "
                   "place</text>\n",
                   LEFT, answer->makespan, all, most);
}

/* Ticks at round times, some hundred points apart. */
static void
put_axis(const rlf_fuse *fuse, double makespan, double scale, rlf_buf *out)
{
    int y = TOP + 24 * fuse->places;
    double step = rlf_svg_step(100 / scale);
    for (double at = 0; at <= makespan * (1 + 1e-9); at += step)
        rlf_buf_printf(out,
                       "<path d=\"M%.2f %d v4\" stroke=\"black\"/>"
                       "<text x=\"%.2f\" y=\"%d\">%g</text>\n",
                       LEFT + at * scale, y, LEFT + at * scale, y + 14, at);
}

/* Pixels from one colour of the legend to the next, with the longest name. */
static int
legend_step(const rlf_fuse *fuse)
{
    size_t longest = 0;
    for (int m = 0; m < fuse->n_models; m++) {
        size_t n = strlen(fuse->models[m].name);
        longest = n > longest ? n : longest;
    }
    return 80 + 6 * (int)longest;
}

/* Draws a colour with its words for each kind of operation of each model, once
 * for those that take turns. NULL: draws nothing. Gives where the legend ends.
 */
static int
put_legend(const rlf_fuse *fuse, int high, rlf_buf *out)
{
    int x = LEFT, step = legend_step(fuse);
    for (int m = 0; m < fuse->n_models; m++) {
        rlf_pipe_op op = {.model = m};
        if (m && fuse->turn[m] == fuse->turn[m - 1])
            continue;
        for (int kind = 0; kind < 2 + fuse->models[m].split;
             kind++, x += step) {
            op.kind = (rlf_pipe_kind)kind;
            if (!out)
                continue;
            rlf_buf_printf(out,
                           "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" "
                           "fill=\"%s\"/>\n<text x=\"%d\" y=\"%d\">",
                           x, high - 24, colour_of(fuse, op), x + 16,
                           high - 14);
            rlf_svg_text(out, fuse->models[m].name);
            rlf_buf_printf(out, " %s</text>\n", kinds[kind]);
        }
    }
    return x;
}

void
rlf_picture_svg(const rlf_fuse *fuse, const rlf_fuse_answer *answer,
                rlf_buf *out)
{
    double least = answer->makespan;
    for (int p = 0; p < fuse->places; p++)
        for (int i = 0; i < answer->pipe.lists[p].count; i++) {
            double lasts = takes(fuse, p, answer->pipe.lists[p].ops[i]);
            least = lasts > 0 && lasts < least ? lasts : least;
        }
    /* wide enough for a number in every box, but for no more than a screen or
     * two */
    double scale = 14 / least;
    if (answer->makespan * scale > 6000)
        scale = 6000 / answer->makespan;
    int wide = (int)(answer->makespan * scale) + 70;
    int high = TOP + 24 * fuse->places + 50, legend = put_legend(fuse, 0, NULL);
    wide = wide < legend ? legend : wide;
    wide = wide < TITLE ? TITLE : wide;
    rlf_buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                   "height=\"%d\" viewBox=\"0 0 %d %d\" "
                   "font-family=\"sans-serif\" font-size=\"9\">\n" RLF_SVG_MARK
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                   wide, high, wide, high);
    put_title(fuse, answer, out);
    put_axis(fuse, answer->makespan, scale, out);
    for (int p = 0; p < fuse->places; p++) {
        const rlf_pipe_list *list = &answer->pipe.lists[p];
        rlf_buf_printf(out, "<text x=\"4\" y=\"%d\">place %d</text>\n",
                       24 * p + TOP + 14, p);
        for (int i = 0; i < list->count; i++)
            put_box(fuse, p, list->ops[i], answer->begin[p][i], scale, out);
    }
    put_legend(fuse, high, out);
    rlf_buf_puts(out, "</svg>\n");
}
