/* Places for the boxes and lines of a picture: see scene.h.
 *
 * Layers by longest path (Sugiyama, Tagawa and Toda 1981): a box is right of
 * all that it needs, a line over several layers has a bend in each between.
 * Barycenters order the layers; heights are least squares of the distances to
 * neighbours under the order, which pooling of adjacent violators solves. */
#include "engine/base/vec.h"
#include "engine/draw/scene.h"

#include <math.h>
#include <string.h>

enum {
    SWEEPS = 24,  /* over all layers, for their order */
    PULLS = 40,   /* over all layers, for heights */
    GAP = 16,     /* between boxes of a layer */
    BEND_GAP = 8, /* between a bend and what is next to it */
    CURVE = 34,   /* between layers, beside the longest label */
    PAD = 14,     /* of a frame, and around its entry */
    PORT = 13,    /* between lines that end at one side */
};

/* The width of bold letters beside others. */
#define BOLD 1.12

/* A box, or a bend of a line in a layer that it only passes. */
typedef struct knot {
    int box, line; /* -1: it is not one */
    int layer;
    double h, y; /* y: its middle */
    double sum;  /* of the order's barycenter */
} knot;

typedef struct link {
    int from, to; /* knots, of layers next to each other */
} link;

typedef struct layer {
    int *knots; /* from the top, [n] */
    int n;
    double x, w;
} layer;

typedef struct grid {
    rlf_scene *scene;
    rlf_arena *arena;
    RLF_VEC(knot) knots;
    RLF_VEC(link) links;
    layer *layers;
    int n_layers;
    int *of_box; /* [boxes] knot; -1: it stands below, without a line */
    int **path;  /* [lines] its knots, from box to box */
    int *length; /* [lines] number of these */
} grid;

/* ---- sizes ---- */

double
rlf_scene_width(const char *text, double size)
{
    double ems = 0;
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if ((c & 0xc0) == 0x80)
            continue;
        ems += c >= 0x80                 ? 1
               : strchr("ijl.,:;'| ", c) ? 0.3
               : strchr("ftr()[]-", c)   ? 0.4
               : strchr("mwMW@%", c)     ? 0.95
               : strchr("=<>+~#", c)     ? 0.84
               : c >= 'A' && c <= 'Z'    ? 0.72
                                         : 0.57;
    }
    return ems * size;
}

/* How many lines with a label of their own end at a box, and how many lines
 * begin there. */
static int
ports(const rlf_scene *scene, int box)
{
    int in = 0, out = 0;
    for (size_t i = 0; i < scene->lines.count; i++) {
        in += scene->lines.data[i].to == box;
        out += scene->lines.data[i].from == box;
    }
    return in > out ? in : out;
}

static void
size_box(const rlf_scene *scene, int i)
{
    rlf_scene_box *box = &scene->boxes.data[i];
    double ports_high = PORT * (ports(scene, i) + 1);
    if (box->kind == RLF_BOX_ENTRY) {
        box->w = 0;
        box->h = ports_high;
        return;
    }
    if (box->inside) {
        double title =
            rlf_scene_width(box->title, RLF_SCENE_TEXT * BOLD) + 2 * PAD;
        box->w = fmax(box->inside->w + PAD, title);
        box->h = fmax(box->inside->h + RLF_FRAME_HEAD + PAD, ports_high);
        return;
    }
    box->w = rlf_scene_width(box->title, RLF_SCENE_TEXT * BOLD);
    for (int k = 0; k < box->n_under; k++)
        box->w = fmax(box->w, rlf_scene_width(box->under[k], RLF_SCENE_SMALL));
    box->w = fmax(box->w + 22, 64);
    box->h = fmax(22 + RLF_SCENE_LINE * box->n_under, ports_high);
}

/* ---- layers ---- */

static void
find_layers(grid *g)
{
    const rlf_scene *s = g->scene;
    int n = (int)s->boxes.count,
        *layer_of = RLF_NEW_ARRAY(g->arena, int, n + 1);
    bool *joined = RLF_NEW_ARRAY(g->arena, bool, n + 1),
         *needs = RLF_NEW_ARRAY(g->arena, bool, n + 1);
    bool entry = n && s->boxes.data[0].kind == RLF_BOX_ENTRY;
    for (int i = 0; i < n; i++)
        layer_of[i] = entry && i;
    for (int to = 0; to < n; to++) /* lines go forward in the boxes' order */
        for (size_t k = 0; k < s->lines.count; k++) {
            const rlf_scene_line *line = &s->lines.data[k];
            if (line->to != to)
                continue;
            joined[line->from] = joined[to] = needs[to] = true;
            if (layer_of[to] <= layer_of[line->from])
                layer_of[to] = layer_of[line->from] + 1;
        }
    for (int i = n - 1; i >= 0; i--) { /* what needs nothing stands near */
        int nearest = -1;
        for (size_t k = 0; k < s->lines.count; k++) {
            const rlf_scene_line *line = &s->lines.data[k];
            if (line->from == i &&
                (nearest < 0 || layer_of[line->to] < nearest))
                nearest = layer_of[line->to];
        }
        if (nearest > 0 && !needs[i] && !(entry && i == 0))
            layer_of[i] = nearest - 1;
    }
    g->of_box = RLF_NEW_ARRAY(g->arena, int, n + 1);
    for (int i = 0; i < n; i++) {
        g->of_box[i] = -1;
        if (!joined[i])
            continue;
        knot k = {.box = i,
                  .line = -1,
                  .layer = layer_of[i],
                  .h = s->boxes.data[i].h};
        g->of_box[i] = (int)g->knots.count;
        RLF_PUSH_IN(g->arena, &g->knots, k);
        if (layer_of[i] >= g->n_layers)
            g->n_layers = layer_of[i] + 1;
    }
}

/* Bends of lines, and what is next to what. */
static void
find_paths(grid *g)
{
    const rlf_scene *s = g->scene;
    size_t n = s->lines.count;
    g->path = RLF_NEW_ARRAY(g->arena, int *, n + 1);
    g->length = RLF_NEW_ARRAY(g->arena, int, n + 1);
    for (size_t i = 0; i < n; i++) {
        int at = g->of_box[s->lines.data[i].from],
            to = g->of_box[s->lines.data[i].to],
            first = g->knots.data[at].layer, last = g->knots.data[to].layer;
        int *path = RLF_NEW_ARRAY(g->arena, int, last - first + 1), k = 0;
        path[k++] = at;
        for (int l = first + 1; l < last; l++) {
            knot bend = {.box = -1, .line = (int)i, .layer = l, .h = 2};
            path[k++] = (int)g->knots.count;
            RLF_PUSH_IN(g->arena, &g->knots, bend);
        }
        path[k++] = to;
        for (int m = 1; m < k; m++) {
            link l = {path[m - 1], path[m]};
            RLF_PUSH_IN(g->arena, &g->links, l);
        }
        g->path[i] = path;
        g->length[i] = k;
    }
    g->layers = RLF_NEW_ARRAY(g->arena, layer, g->n_layers + 1);
    for (int l = 0; l < g->n_layers; l++)
        g->layers[l].knots = RLF_NEW_ARRAY(g->arena, int, g->knots.count + 1);
    for (size_t i = 0; i < g->knots.count; i++) {
        layer *l = &g->layers[g->knots.data[i].layer];
        l->knots[l->n++] = (int)i;
    }
}

/* ---- the order of layers ---- */

/* Numbers knots from the top of their layers. */
static void
number_layers(const grid *g, int *rank)
{
    for (int l = 0; l < g->n_layers; l++)
        for (int i = 0; i < g->layers[l].n; i++)
            rank[g->layers[l].knots[i]] = i;
}

static long
count_crossings(const grid *g, int *rank)
{
    long crossings = 0;
    number_layers(g, rank);
    for (size_t a = 0; a < g->links.count; a++)
        for (size_t b = a + 1; b < g->links.count; b++) {
            const link *p = &g->links.data[a], *q = &g->links.data[b];
            if (g->knots.data[p->from].layer != g->knots.data[q->from].layer)
                continue;
            long left = rank[p->from] - rank[q->from],
                 right = rank[p->to] - rank[q->to];
            crossings += left * right < 0;
        }
    return crossings;
}

/* Sorts a layer by the mean place of what its knots have in the layer before
 * (or after) it; those that have nothing there keep theirs. */
static void
order_layer(grid *g, int l, bool after, int *rank)
{
    layer *at = &g->layers[l];
    number_layers(g, rank);
    for (int i = 0; i < at->n; i++) {
        knot *k = &g->knots.data[at->knots[i]];
        double sum = 0;
        int n = 0;
        for (size_t j = 0; j < g->links.count; j++) {
            const link *p = &g->links.data[j];
            if ((after ? p->from : p->to) != at->knots[i])
                continue;
            sum += rank[after ? p->to : p->from];
            n++;
        }
        k->sum = n ? sum / n : i;
    }
    for (int i = 1; i < at->n; i++) { /* equal ones stay as they are */
        int one = at->knots[i], k = i;
        for (; k > 0 &&
               g->knots.data[at->knots[k - 1]].sum > g->knots.data[one].sum;
             k--)
            at->knots[k] = at->knots[k - 1];
        at->knots[k] = one;
    }
}

static void
order_layers(grid *g)
{
    int n = (int)g->knots.count, *rank = RLF_NEW_ARRAY(g->arena, int, n + 1),
        *best = RLF_NEW_ARRAY(g->arena, int, n + 1);
    long fewest = count_crossings(g, best);
    for (int sweep = 0; sweep < SWEEPS && fewest; sweep++) {
        bool after = sweep % 2;
        for (int i = 0; i < g->n_layers; i++)
            order_layer(g, after ? g->n_layers - 1 - i : i, after, rank);
        long crossings = count_crossings(g, rank);
        if (crossings >= fewest)
            continue;
        fewest = crossings;
        memcpy(best, rank, (size_t)n * sizeof *best);
    }
    for (int i = 0; i < n; i++)
        g->layers[g->knots.data[i].layer].knots[best[i]] = i;
}

/* ---- heights ---- */

/* The least distance between the middles of two that follow each other. */
static double
apart(const grid *g, int upper, int lower)
{
    const knot *a = &g->knots.data[upper], *b = &g->knots.data[lower];
    double gap = a->box < 0 || b->box < 0 ? BEND_GAP : GAP;
    return (a->h + b->h) / 2 + gap;
}

/* The height that a knot would have by itself: the mean of its neighbours'. */
static double
wanted(const grid *g, int i)
{
    double sum = 0;
    int n = 0;
    for (size_t j = 0; j < g->links.count; j++) {
        const link *p = &g->links.data[j];
        if (p->from != i && p->to != i)
            continue;
        sum += g->knots.data[p->from == i ? p->to : p->from].y;
        n++;
    }
    return n ? sum / n : g->knots.data[i].y;
}

/* Gives the knots of a layer the heights nearest to those wanted that keep
 * order and distances: adjacent violators are pooled. */
static void
pull_layer(grid *g, const layer *at, double *mean, double *weight, int *count)
{
    double shift = 0;
    int pools = 0;
    for (int i = 0; i < at->n; i++) {
        const knot *k = &g->knots.data[at->knots[i]];
        if (i)
            shift += apart(g, at->knots[i - 1], at->knots[i]);
        mean[pools] = wanted(g, at->knots[i]) - shift;
        weight[pools] = k->box < 0 ? 3 : 1; /* long lines are straight */
        count[pools++] = 1;
        while (pools > 1 && mean[pools - 2] > mean[pools - 1]) {
            double both = weight[pools - 2] + weight[pools - 1];
            mean[pools - 2] = (mean[pools - 2] * weight[pools - 2] +
                               mean[pools - 1] * weight[pools - 1]) /
                              both;
            weight[pools - 2] = both;
            count[pools - 2] += count[pools - 1];
            pools--;
        }
    }
    shift = 0;
    for (int pool = 0, i = 0; pool < pools; pool++)
        for (int k = 0; k < count[pool]; k++, i++) {
            if (i)
                shift += apart(g, at->knots[i - 1], at->knots[i]);
            g->knots.data[at->knots[i]].y = mean[pool] + shift;
        }
}

static void
find_heights(grid *g)
{
    size_t n = g->knots.count + 1;
    double *mean = RLF_NEW_ARRAY(g->arena, double, n),
           *weight = RLF_NEW_ARRAY(g->arena, double, n);
    int *count = RLF_NEW_ARRAY(g->arena, int, n);
    for (int l = 0; l < g->n_layers; l++) {
        const layer *at = &g->layers[l];
        for (int i = 1; i < at->n; i++)
            g->knots.data[at->knots[i]].y =
                g->knots.data[at->knots[i - 1]].y +
                apart(g, at->knots[i - 1], at->knots[i]);
    }
    for (int pull = 0; pull < PULLS; pull++)
        for (int i = 0; i < g->n_layers; i++)
            pull_layer(g, &g->layers[pull % 2 ? g->n_layers - 1 - i : i], mean,
                       weight, count);
}

/* ---- what comes of it ---- */

/* The longest label of lines that end in a layer. */
static double
label_room(const grid *g, int l)
{
    double room = 0;
    for (size_t i = 0; i < g->scene->lines.count; i++) {
        const rlf_scene_line *line = &g->scene->lines.data[i];
        if (g->knots.data[g->of_box[line->to]].layer == l)
            room = fmax(room, rlf_scene_width(line->label, RLF_SCENE_SMALL));
    }
    return room;
}

static void
put_boxes(grid *g)
{
    rlf_scene *s = g->scene;
    double x = s->parent ? 0 : PAD, top = 0, bottom = 0;
    bool any = false;
    for (size_t i = 0; i < g->knots.count; i++) {
        const knot *k = &g->knots.data[i];
        top = !any || k->y - k->h / 2 < top ? k->y - k->h / 2 : top;
        any = true;
    }
    for (int l = 0; l < g->n_layers; l++) {
        layer *at = &g->layers[l];
        for (int i = 0; i < at->n; i++) {
            const knot *k = &g->knots.data[at->knots[i]];
            if (k->box >= 0)
                at->w = fmax(at->w, s->boxes.data[k->box].w);
        }
        if (l)
            x += CURVE + label_room(g, l);
        at->x = x;
        for (int i = 0; i < at->n; i++) {
            knot *k = &g->knots.data[at->knots[i]];
            k->y += PAD - top;
            bottom = fmax(bottom, k->y + k->h / 2);
            if (k->box < 0)
                continue;
            rlf_scene_box *box = &s->boxes.data[k->box];
            box->x = x + (at->w - box->w) / 2;
            box->y = k->y - k->h / 2;
        }
        x += at->w;
    }
    s->w = x + PAD;
    s->h = bottom + PAD;
}

/* Boxes without lines, in rows below the others. */
static void
put_rest(const grid *g)
{
    rlf_scene *s = g->scene;
    double least = 560, wide = fmax(s->w, least), x = PAD, y = s->h, high = 0;
    for (size_t i = 0; i < s->boxes.count; i++) {
        rlf_scene_box *box = &s->boxes.data[i];
        if (g->of_box[i] >= 0 || box->kind == RLF_BOX_ENTRY)
            continue;
        if (x > PAD && x + box->w + PAD > wide) {
            x = PAD;
            y += high + GAP;
            high = 0;
        }
        box->x = x;
        box->y = y;
        x += box->w + GAP;
        high = fmax(high, box->h);
        s->w = fmax(s->w, box->x + box->w + PAD);
        s->h = fmax(s->h, y + high + PAD);
    }
}

/* The height at which a line leaves or enters a box: in the order of where it
 * comes from, so that lines of one side do not cross. */
static double
port(const grid *g, size_t line, bool leaves)
{
    const rlf_scene_line *lines = g->scene->lines.data;
    int box = leaves ? lines[line].from : lines[line].to, before = 0, n = 0;
    int end = leaves ? 1 : -2; /* the knot beside the box */
    for (size_t i = 0; i < g->scene->lines.count; i++) {
        if ((leaves ? lines[i].from : lines[i].to) != box)
            continue;
        int next = leaves ? g->path[i][end] : g->path[i][g->length[i] + end],
            own = leaves ? g->path[line][end]
                         : g->path[line][g->length[line] + end];
        double y = g->knots.data[next].y, mine = g->knots.data[own].y;
        before += y < mine || (!(y > mine) && i < line);
        n++;
    }
    const rlf_scene_box *b = &g->scene->boxes.data[box];
    double step = fmin(PORT, b->h / (n + 1));
    return b->y + b->h / 2 + step * (before - (n - 1) / 2.0);
}

static void
put_lines(const grid *g)
{
    rlf_scene *s = g->scene;
    for (size_t i = 0; i < s->lines.count; i++) {
        rlf_scene_line *line = &s->lines.data[i];
        const rlf_scene_box *from = &s->boxes.data[line->from],
                            *to = &s->boxes.data[line->to];
        int n = 0, bends = g->length[i] - 2;
        double *p = RLF_NEW_ARRAY(g->arena, double, 2 * (2 * bends + 4));
        p[n++] = from->x + from->w;
        p[n++] = port(g, i, true);
        for (int k = 1; k <= bends; k++) {
            const knot *bend = &g->knots.data[g->path[i][k]];
            const layer *at = &g->layers[bend->layer];
            p[n++] = at->x;
            p[n++] = bend->y;
            p[n++] = at->x + at->w;
            p[n++] = bend->y;
        }
        p[n++] = to->x;
        p[n++] = port(g, i, false);
        line->points = p;
        line->n_points = n / 2;
    }
}

void
rlf_scene_place(rlf_scene *scene, rlf_arena *arena)
{
    grid g = {.scene = scene, .arena = arena};
    for (size_t i = 0; i < scene->boxes.count; i++)
        if (scene->boxes.data[i].inside)
            rlf_scene_place(scene->boxes.data[i].inside, arena);
    for (size_t i = 0; i < scene->boxes.count; i++)
        size_box(scene, (int)i);
    find_layers(&g);
    find_paths(&g);
    order_layers(&g);
    find_heights(&g);
    put_boxes(&g);
    put_rest(&g);
    put_lines(&g);
}
