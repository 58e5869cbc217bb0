/* The fuzz targets on the texts of tests/corpus and on mutations of them:
 * bytes dropped, doubled, changed, and texts cut and joined. Deterministic. */
#include "tests/tap.h"

#include "engine/base/vec.h"
#include "tests/fuzz.h"

#include <dirent.h>

enum { MUTATIONS = 150, MOST = 1 << 16 };

typedef struct text {
    uint8_t *data;
    size_t n;
} text;

typedef RLF_VEC(text) texts;

static text
slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        bail("cannot read %s", path);
    text t = {malloc(MOST), 0};
    t.n = fread(t.data, 1, MOST, f);
    fclose(f);
    return t;
}

static uint32_t
draw(uint64_t *state, size_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return below ? (uint32_t)((*state >> 33) % below) : 0;
}

/* A few changes; pieces of other texts come in, too. */
static text
mutate(const texts *all, size_t which, uint64_t *state)
{
    const text *from = &all->data[which];
    text t = {malloc(2 * MOST), from->n};
    memcpy(t.data, from->data, from->n);
    static const char bytes[] = "(){}[]=:.,;\n\"#+-*/<>%^?!&|0a_\\\xc3\x01";
    uint32_t changes = 1 + draw(state, 4);
    for (uint32_t i = 0; i < changes && t.n; i++) {
        size_t at = draw(state, t.n);
        const text *other = &all->data[draw(state, all->count)];
        size_t cut = draw(state, other->n ? other->n : 1);
        size_t some = draw(state, 24);
        if (some > t.n - at)
            some = t.n - at;
        switch (draw(state, 4)) {
        case 0: /* drop */
            memmove(t.data + at, t.data + at + some, t.n - at - some);
            t.n -= some;
            break;
        case 1: /* change */
            t.data[at] = (uint8_t)bytes[draw(state, sizeof bytes - 1)];
            break;
        case 2: /* insert a piece */
            if (some > other->n - cut)
                some = other->n - cut;
            if (t.n + some > MOST)
                break;
            memmove(t.data + at + some, t.data + at, t.n - at);
            memcpy(t.data + at, other->data + cut, some);
            t.n += some;
            break;
        default: /* end */
            if (draw(state, 4) == 0)
                t.n = at;
            break;
        }
    }
    return t;
}

static void
load(const char *root, const char *folder, texts *out)
{
    char directory[3000], path[4000];
    snprintf(directory, sizeof directory, "%s/tests/%s", root, folder);
    struct dirent **list;
    int n = scandir(directory, &list, NULL, alphasort);
    if (n < 0)
        bail("there is no directory %s", directory);
    for (int i = 0; i < n; i++) {
        if (list[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", directory, list[i]->d_name);
            RLF_PUSH(out, slurp(path));
        }
        free(list[i]);
    }
    free(list);
}

int
main(void)
{
    const char *root = getenv("RLFLOW_SOURCE");
    texts all = {0};
    load(root ? root : ".", "corpus", &all);
    load(root ? root : ".", "lang", &all);
    uint64_t state = 1;
    for (size_t i = 0; i < all.count; i++) {
        fuzz_lex(all.data[i].data, all.data[i].n);
        fuzz_parse(all.data[i].data, all.data[i].n);
    }
    ok(all.count >= 10, "%zu texts are read without harm", all.count);
    size_t n = 0;
    for (size_t i = 0; i < all.count; i++) {
        for (int k = 0; k < MUTATIONS; k++, n++) {
            text t = mutate(&all, i, &state);
            fuzz_lex(t.data, t.n);
            fuzz_parse(t.data, t.n);
            free(t.data);
        }
    }
    ok(n > 0, "and so are %zu mutations of them", n);
    for (size_t i = 0; i < all.count; i++)
        free(all.data[i].data);
    RLF_VEC_FREE(&all);
    return done();
}
