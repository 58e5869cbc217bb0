/* Scenes at random, frames in frames among them: boxes do not overlap, lines go
 * from left to right and end at their boxes, all is inside, and the same scene
 * gets the same places. */
#include "engine/base/vec.h"
#include "engine/draw/scene.h"
#include "tests/tap.h"

#include <math.h>

static uint64_t state;

static int
below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static rlf_scene *
random_scene(rlf_arena *arena, rlf_scene *parent, int depth)
{
    static const char *const titles[] = {"a", "actor.generate", "kl, adv",
                                         "for mini in roll.split(parts: 2)"};
    rlf_scene *s = RLF_NEW(arena, rlf_scene);
    int n = below(14);
    s->parent = parent;
    if (parent) {
        rlf_scene_box entry = {.kind = RLF_BOX_ENTRY, .title = "", .model = -1};
        RLF_PUSH_IN(arena, &s->boxes, entry);
    }
    for (int i = 0; i < n; i++) {
        rlf_scene_box box = {.kind = RLF_BOX_MODEL,
                             .title = titles[below(RLF_COUNT(titles))],
                             .under = {"line 3", "n: 8"},
                             .n_under = below(3),
                             .model = -1};
        if (depth < 3 && below(6) == 0) {
            box.kind = RLF_BOX_FRAME;
            box.inside = random_scene(arena, s, depth + 1);
        }
        RLF_PUSH_IN(arena, &s->boxes, box);
    }
    int boxes = (int)s->boxes.count;
    for (int to = 1; to < boxes; to++)
        for (int from = 0; from < to; from++)
            if (below(to) < 2) {
                rlf_scene_line line = {
                    .from = from, .to = to, .label = below(2) ? "roll" : ""};
                RLF_PUSH_IN(arena, &s->lines, line);
            }
    return s;
}

static bool
overlap(const rlf_scene_box *a, const rlf_scene_box *b)
{
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h &&
           b->y < a->y + a->h;
}

/* Counts what is wrong with a placed scene. */
static int
faults(const rlf_scene *s)
{
    int wrong = !(s->w >= 0 && s->h >= 0 && s->w < 1e5 && s->h < 1e5);
    for (size_t i = 0; i < s->boxes.count; i++) {
        const rlf_scene_box *a = &s->boxes.data[i];
        wrong += !(a->x >= 0 && a->y >= 0 && a->x + a->w <= s->w + 1e-6 &&
                   a->y + a->h <= s->h + 1e-6);
        wrong += a->kind != RLF_BOX_ENTRY &&
                 a->w < rlf_scene_width(a->title, RLF_SCENE_TEXT);
        if (a->inside) {
            wrong += a->inside->w > a->w + 1e-6 ||
                     a->inside->h + RLF_FRAME_HEAD > a->h + 1e-6;
            wrong += faults(a->inside);
        }
        for (size_t k = 0; k < i; k++)
            wrong += overlap(a, &s->boxes.data[k]);
    }
    for (size_t i = 0; i < s->lines.count; i++) {
        const rlf_scene_line *l = &s->lines.data[i];
        const rlf_scene_box *from = &s->boxes.data[l->from],
                            *to = &s->boxes.data[l->to];
        int last = 2 * (l->n_points - 1);
        wrong += l->n_points < 2 || l->n_points % 2;
        wrong += fabs(l->points[0] - from->x - from->w) > 1e-6 ||
                 fabs(l->points[last] - to->x) > 1e-6;
        wrong += l->points[1] < from->y || l->points[1] > from->y + from->h ||
                 l->points[last + 1] < to->y ||
                 l->points[last + 1] > to->y + to->h;
        for (int k = 2; k <= last; k += 2)
            wrong += !(l->points[k] >= l->points[k - 2]);
    }
    return wrong;
}

/* Are two scenes placed alike? */
static bool
alike(const rlf_scene *a, const rlf_scene *b)
{
    bool same = a->w == b->w && a->h == b->h;
    for (size_t i = 0; i < a->boxes.count; i++) {
        const rlf_scene_box *p = &a->boxes.data[i], *q = &b->boxes.data[i];
        same &= p->x == q->x && p->y == q->y && p->w == q->w && p->h == q->h;
        same &= !p->inside || alike(p->inside, q->inside);
    }
    return same;
}

int
main(void)
{
    int wrong = 0, unlike = 0, boxes = 0, worst = -1;
    for (int seed = 0; seed < 400; seed++) {
        rlf_arena *arena = rlf_arena_new();
        rlf_scene *twice[2];
        for (int k = 0; k < 2; k++) {
            state = (uint64_t)seed;
            twice[k] = random_scene(arena, NULL, 0);
            rlf_scene_place(twice[k], arena);
        }
        int n = faults(twice[0]);
        worst = n && worst < 0 ? seed : worst;
        wrong += n;
        unlike += !alike(twice[0], twice[1]);
        boxes += (int)twice[0]->boxes.count;
        rlf_arena_free(arena);
    }
    ok(boxes > 2000, "400 scenes with %d boxes, and frames in them", boxes);
    ok(wrong == 0, "boxes are apart, lines go forward: %d do not, first in %d",
       wrong, worst);
    ok(unlike == 0, "the same scene has the same places");
    return done();
}
