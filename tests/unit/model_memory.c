/* These checks hold models to the device memory that they may take: one that is
 * only read, of bf16, two bytes a parameter and no more than its vectors
 * beside; one that is trained, its masters, two moments, gradients, and one
 * packing. On devices whose packed matrix is the matrix itself, an embedding is
 * read as it is packed, and a tied one is the head. A model that was filled
 * tensor by tensor is packed as one that has all weights. */
#include "config.h"
#include "kernels/cuda/emulate_device.h"
#include "nodes/model/move.h"
#include "tests/unit/model.h"

enum { SLACK = 64 }; /* rounding of a part */

typedef struct counted {
    int64_t matrices, vectors, words; /* elements; of them an embedding */
    int parts;                        /* packed or not */
    rlf_model_bytes bytes;
} counted;

static const rlf_model_config plain = {.layers = 3,
                                       .hidden = 64,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .head_dim = 16,
                                       .ffn = 96,
                                       .vocab = 160,
                                       .context = 64,
                                       .eps = 1e-5,
                                       .rope.theta = 10000,
                                       .bos = -1};

static counted
count(const rlf_kernels *k, bool tied, const rlf_model_options *options)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_model_config config = plain;
    counted c = {0};
    config.tied = tied;
    const rlf_table *t = rlf_table_new(&config, options->head, NULL, arena);
    for (int i = 0; i < t->n_slots; i++)
        *(t->slots[i].cols ? &c.matrices : &c.vectors) += t->slots[i].count;
    c.words = config.vocab * config.hidden;
    c.parts = t->n_slots + 8;
    c.bytes = rlf_model_count_bytes(t, k, options);
    rlf_arena_free(arena);
    return c;
}

/* `want` bytes, and what rounding adds. */
static bool
about(size_t is, int64_t want, const counted *c)
{
    return (int64_t)is >= want && (int64_t)is <= want + c->parts * SLACK;
}

/* From files, or from another layout of a model that is trained. */
TAP_FUNCTION void
test_only_read(const rlf_kernels *k, int64_t each, const char *what)
{
    for (int i = 0; i < 4; i++) {
        bool tied = i & 1, fixed = i < 2;
        const rlf_model_options options = {.head = RLF_HEAD_LM,
                                           .by_layer = true,
                                           .fixed = fixed,
                                           .stage = RLF_MOVE_STAGE};
        const counted c = count(k, tied, &options);
        const rlf_model_bytes *b = &c.bytes;
        if (!ok(about(b->weights + b->packed, each * c.matrices + 4 * c.vectors,
                      &c) &&
                    b->gradients + b->optimizer + b->host == 0,
                "%s, %s%s: %d bytes a parameter", what,
                fixed ? "read only" : "that comes from another layout",
                tied ? ", tied" : "", (int)each))
            note("%zu + %zu of %lld", b->weights, b->packed,
                 (long long)c.matrices);
    }
}

TAP_FUNCTION void
test_trained(const rlf_kernels *k, int64_t each, const char *what)
{
    const rlf_model_options options = {.head = RLF_HEAD_LM, .trained = true};
    const counted c = count(k, false, &options);
    const rlf_model_bytes *b = &c.bytes;
    int64_t all = c.matrices + c.vectors;
    ok(about(b->weights, 4 * all, &c) && about(b->gradients, 4 * all, &c) &&
           about(b->optimizer, 8 * all, &c) &&
           about(b->packed, each * (c.matrices - c.words), &c),
       "%s, trained: 16 bytes a parameter, and one packing", what);
}

/* Of a base that adapters are beside, packed matrices alone, with gradients,
 * moments and masters of adapters; what reads it has no more than that. */
TAP_FUNCTION void
test_adapted(const rlf_kernels *k, int64_t each, const char *what)
{
    const rlf_model_options options = {.head = RLF_HEAD_LM, .trained = true};
    rlf_arena *arena = rlf_arena_new();
    rlf_model_config config = plain;
    test_lora(&config, 16, true); /* no rows that packing fills up */
    const rlf_table *t = rlf_table_new(&config, RLF_HEAD_LM, NULL, arena);
    const rlf_model_bytes b = rlf_model_count_bytes(t, k, &options);
    counted c = {.parts = t->n_slots + 8};
    int64_t own = 0;
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *slot = &t->slots[i];
        if (rlf_slot_trains(t, slot))
            own += slot->count;
        else
            *(slot->cols ? &c.matrices : &c.vectors) += slot->count;
    }
    c.words = config.vocab * config.hidden;
    ok(about(b.gradients, 4 * own, &c) && about(b.optimizer, 8 * own, &c) &&
           about(b.weights, each * c.words + 4 * (c.vectors + own), &c) &&
           about(b.packed, each * (c.matrices - c.words + own), &c) &&
           b.partial + b.host + b.loan == 0,
       "%s, adapters alone: %d bytes a parameter of the base", what, (int)each);
    rlf_arena_free(arena);
}

/* Checks the staging of weights that are rounded for others: it lies in the
 * memory that only updates need, and for a model without updates in a few
 * megabytes beside its weights. */
TAP_FUNCTION void
test_serving(const rlf_kernels *k)
{
    enum { STAGE = 4096 };
    rlf_model_options options = {.head = RLF_HEAD_LM, .trained = true};
    const counted alone = count(k, false, &options);
    options.serves = true;
    options.stage = STAGE;
    options.lends = 2 * (size_t)(alone.matrices + 2 * alone.vectors);
    const counted both = count(k, false, &options);
    ok(memcmp(&both.bytes, &alone.bytes, sizeof both.bytes) == 0,
       "bf16, trained and read elsewhere: no byte beyond training");
    options.trained = false;
    options.lends = 0;
    const counted serving = count(k, false, &options);
    options.serves = false;
    const counted still = count(k, false, &options);
    is_int((int64_t)(serving.bytes.weights - still.bytes.weights), STAGE,
           "not trained: its stage");
}

/* The CPU packs in its own way, so an embedding of f32 stays beside, but of
 * frozen weights one that is the head. */
TAP_FUNCTION void
test_cpu(void)
{
    rlf_model_options options = {
        .head = RLF_HEAD_LM, .by_layer = true, .fixed = true};
    const counted c = count(rlf_kernels_cpu(), false, &options);
    ok(about(c.bytes.weights, 4 * (c.words + c.vectors), &c),
       "on the CPU: embedding and vectors beside what is packed");
    const counted tied = count(rlf_kernels_cpu(), true, &options);
    ok(about(tied.bytes.weights, 4 * tied.vectors, &tied),
       "... and no embedding beside a head that is the same");
    options.fixed = false;
    const counted moved = count(rlf_kernels_cpu(), true, &options);
    ok(moved.bytes.weights >= 4 * (size_t)moved.words,
       "... unless its weights change");
}

/* Matrices of bf16 files, in panels of 8, which divides all of their rows: two
 * bytes a parameter where nothing changes them, an embedding's too, of which a
 * tied head is the same; one packing of a base that is trained beside. */
TAP_FUNCTION void
test_cpu_bf16(void)
{
    const rlf_kernels *k = rlf_kernels_cpu_isa("portable");
    bool bf16[128];
    memset(bf16, true, sizeof bf16);
    for (int tied = 0; tied < 2; tied++) {
        const rlf_model_options options = {
            .head = RLF_HEAD_LM, .by_layer = true, .fixed = true, .bf16 = bf16};
        const counted c = count(k, tied, &options);
        ok(about(c.bytes.weights + c.bytes.packed,
                 2 * c.matrices + 4 * c.vectors, &c),
           "on the CPU, of bf16 files%s: 2 bytes a parameter",
           tied ? ", tied" : "");
    }
    rlf_model_options other = {.head = RLF_HEAD_LM, .by_layer = true};
    const counted moved = count(k, false, &other);
    other.bf16 = bf16;
    const counted same = count(k, false, &other);
    ok(memcmp(&same.bytes, &moved.bytes, sizeof same.bytes) == 0,
       "... and as ever where its weights change");

    rlf_model_options options = {.head = RLF_HEAD_LM, .trained = true};
    rlf_arena *arena = rlf_arena_new();
    rlf_model_config config = plain;
    test_lora(&config, 16, true);
    const rlf_table *t = rlf_table_new(&config, RLF_HEAD_LM, NULL, arena);
    const rlf_model_bytes f32 = rlf_model_count_bytes(t, k, &options);
    options.bf16 = bf16;
    const rlf_model_bytes b = rlf_model_count_bytes(t, k, &options);
    const counted c = {.parts = t->n_slots + 8};
    int64_t base = 0, words = config.vocab * config.hidden;
    for (int i = 0; i < t->n_base; i++)
        base += t->slots[i].cols ? t->slots[i].count : 0;
    ok(about(f32.packed - b.packed, (8 - 2) * (base - words), &c) &&
           about(f32.weights - b.weights, 2 * words, &c) &&
           b.gradients == f32.gradients && b.optimizer == f32.optimizer,
       "... of a base, whose f32 would take 8");
    rlf_arena_free(arena);
}

/* Filled as a model that is read only, and as one that has its weights; the
 * embedding and the head come in pieces, of two shards. */
TAP_FUNCTION void
test_same(const rlf_kernels *k, rlf_queue *queue, bool tied)
{
    rlf_model_options options = {.head = RLF_HEAD_BOTH, .shards = 2};
    rlf_model_config config = plain;
    rlf_err err = RLF_ERR_NONE;
    rlf_model *whole, *fixed;
    config.tied = tied;
    config.vocab = 3301;
    bool made = rlf_model_new(queue, k, &config, &options, &err, &whole) >= 0;
    options.by_layer = options.fixed = true;
    if (!made || rlf_model_new(queue, k, &config, &options, &err, &fixed) < 0 ||
        rlf_weights_fill(whole, &(rlf_weights_origin){.seed = 3}, &err) < 0 ||
        rlf_weights_fill(fixed, &(rlf_weights_origin){.seed = 3}, &err) < 0)
        bail("%s", err.sentence);
    const char *from = fixed->packed[0].forward, *as = whole->packed[0].forward;
    size_t n = (size_t)((char *)whole->block + whole->block_bytes - as);
    char *a = rlf_malloc(n), *b = rlf_malloc(n);
    if (n != (size_t)((char *)fixed->block + fixed->block_bytes - from) ||
        rlf_queue_copy(queue, a, as, n, RLF_COPY_TO_HOST, &err) < 0 ||
        rlf_queue_copy(queue, b, from, n, RLF_COPY_TO_HOST, &err) < 0 ||
        rlf_queue_sync(queue, &err) < 0)
        bail("%s", err.sentence);
    ok(memcmp(a, b, n) == 0, "%s%s: packed alike", k->isa,
       tied ? ", tied" : "");
    const float *words = whole->weights + whole->table->embed;
    ok(!fixed->embed ||
           !memcmp(fixed->embed, words,
                   (size_t)(config.vocab * config.hidden) * sizeof *words),
       "... and an embedding that is f32");
    ok(rlf_weights_buffer_bytes(fixed) < 800000,
       "... in pieces of the embedding's %d bytes",
       config.vocab * config.hidden * 4);
    ok(k->one_pack ? fixed->rows && !fixed->embed &&
                         (fixed->rows == fixed->lm.forward) == tied
                   : !fixed->embed == tied &&
                         fixed->words == (tied ? fixed->lm.forward : NULL),
       "... and a tied embedding is the head");
    free(a);
    free(b);
    rlf_model_free(whole);
    rlf_model_free(fixed);
}

TAP_FUNCTION void
test_same_cpu(void)
{
    test_machine t;
    test_machine_open(&t, 2);
    for (int tied = 0; tied < 2; tied++)
        test_same(t.kernels, t.queue, tied);
    test_machine_close(&t);
}

int
main(void)
{
#ifdef RLF_HAVE_EMULATED
    const rlf_backend_options one = {.n_threads = 1};
    const rlf_kernels *f32 = rlf_backend_emulated.kernels(NULL, RLF_CAST_F32);
    const rlf_kernels *bf16 = rlf_backend_emulated.kernels(NULL, RLF_CAST_BF16);
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    test_only_read(bf16, 2, "bf16");
    test_only_read(f32, 4, "f32");
    test_trained(bf16, 2, "bf16");
    test_trained(f32, 4, "f32");
    test_adapted(bf16, 2, "bf16");
    test_adapted(f32, 4, "f32");
    test_serving(bf16);
    test_cpu();
    test_cpu_bf16();
    test_same_cpu();
    if (rlf_backend_emulated.open(&one, &device, &err) < 0 ||
        rlf_queue_new(device, &queue, &err) < 0)
        bail("%s", err.sentence);
    for (int tied = 0; tied < 2; tied++) {
        test_same(f32, queue, tied);
        test_same(bf16, queue, tied);
    }
    is_int((int64_t)device->allocated, 0, "nothing is left on the device");
    is_int((int64_t)(device->peak > 0), 1, "where it was");
    rlf_queue_free(queue);
    rlf_device_free(device);
    return done();
#else
    skip("no C++ compiler, so no emulated GPU");
    return done();
#endif
}
