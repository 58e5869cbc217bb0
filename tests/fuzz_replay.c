/* The fuzz targets on the texts of tests/corpus, the messages between ranks of
 * tests/messages, or the tokenizers of tests/tokenizers, and on mutations of
 * them: bytes dropped, doubled, changed, and texts cut and joined.
 * Deterministic. */
#include "tests/tap.h"

#include "engine/base/vec.h"
#include "tests/fuzz.h"

#include <dirent.h>

enum { MOST = 1 << 16 };

typedef struct text {
    uint8_t *data;
    size_t n;
} text;

typedef RLF_VEC(text) texts;

/* A sort of input: the folders of its files, the targets that read them, so
 * many mutations of each, and the bytes that a change puts. */
typedef struct sort {
    const char *name;
    const char *folders[3];
    int (*targets[3])(const uint8_t *data, size_t n);
    size_t least, mutations;
    const char *bytes;
    size_t n_bytes;
} sort;

static const char punctuation[] = "(){}[]=:.,;\n\"#+-*/<>%^?!&|0a_\\\xc3\x01";
static const char json[] = "{}[]:,\"\\09-eu.a#\xc3\x96";
static const char numbers[] = "\0\1\2\3\4\7\x10\x7f\x80\xfe\xff";

static const sort sorts[] = {
    {.name = "texts",
     .folders = {"corpus", "lang"},
     .targets = {fuzz_lex, fuzz_parse},
     .least = 10,
     .mutations = 150,
     .bytes = punctuation,
     .n_bytes = sizeof punctuation - 1},
    {.name = "messages",
     .folders = {"messages"},
     .targets = {fuzz_messages},
     .least = 30,
     .mutations = 2000,
     .bytes = numbers,
     .n_bytes = sizeof numbers - 1},
    {.name = "tokenizers",
     .folders = {"tokenizers"},
     .targets = {fuzz_tokenizer},
     .least = 15,
     .mutations = 30,
     .bytes = json,
     .n_bytes = sizeof json - 1},
};

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
mutate(const sort *s, const texts *all, size_t which, uint64_t *state)
{
    const text *from = &all->data[which];
    text t = {malloc(2 * MOST), from->n};
    memcpy(t.data, from->data, from->n);
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
            t.data[at] = (uint8_t)s->bytes[draw(state, s->n_bytes)];
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

static void
play(const sort *s, const text *t)
{
    for (int i = 0; s->targets[i]; i++)
        s->targets[i](t->data, t->n);
}

static void
replay(const sort *s, const char *root)
{
    texts all = {0};
    uint64_t state = 1;
    size_t n = 0;
    for (int i = 0; s->folders[i]; i++)
        load(root, s->folders[i], &all);
    for (size_t i = 0; i < all.count; i++)
        play(s, &all.data[i]);
    ok(all.count >= s->least, "%zu %s are read without harm", all.count,
       s->name);
    for (size_t i = 0; i < all.count; i++) {
        for (size_t k = 0; k < s->mutations; k++, n++) {
            text t = mutate(s, &all, i, &state);
            play(s, &t);
            free(t.data);
        }
    }
    ok(n > 0, "and so are %zu mutations of them", n);
    for (size_t i = 0; i < all.count; i++)
        free(all.data[i].data);
    RLF_VEC_FREE(&all);
}

int
main(void)
{
    const char *root = getenv("RLFLOW_SOURCE");
    for (size_t i = 0; i < RLF_COUNT(sorts); i++)
        replay(&sorts[i], root ? root : ".");
    return done();
}
