/* The devices that tests of nodes/model go over.
 *
 * The CPU is the first, and the oracle of all that is exact: f32 on a GPU has
 * its bits. GPUs are emulated (kernels/cuda/emulate_device.h) everywhere, and a
 * real one is used if there is one; what is not there is one skipped check, the
 * reason with it. Device memory is no memory of the host: test_read() and its
 * like reach it. */
#ifndef RLF_TESTS_UNIT_MODEL_PLACES_H
#define RLF_TESTS_UNIT_MODEL_PLACES_H

#include "config.h"
#include "kernels/backend.h"
#include "tests/unit/model.h"
#ifdef RLF_HAVE_EMULATED
#include "kernels/cuda/emulate_device.h"
#endif

enum { MOST_PLACES = 6 };

typedef struct test_place {
    const rlf_backend *backend;
    rlf_cast_type real;
    bool slow; /* emulated: small cases */
    char name[32];
} test_place;

/* Does it have the CPU's bits? */
__attribute__((unused)) static bool
is_exact(const test_place *at)
{
    return at->real == RLF_CAST_F32;
}

static int
add_places(const rlf_backend *b, bool slow, test_place *out)
{
    int n = 0;
    for (; b->reals[n] != RLF_CAST_TYPES; n++) {
        out[n] = (test_place){b, b->reals[n], slow, ""};
        snprintf(out[n].name, sizeof out[n].name, "%s %s", b->name,
                 rlf_cast_name(b->reals[n]));
    }
    return n;
}

#ifdef RLF_HAVE_EMULATED
static int
add_emulated(test_place *out)
{
#ifdef __x86_64__
    if (!rlf_kernels_machine_has("v3")) {
        skip("emulated: this machine has no fma");
        return 0;
    }
#endif
    int n = add_places(&rlf_backend_emulated, true, out);
    if (!quick() || asked_for("emulated"))
        return n;
    out[0] = out[1]; /* of the types bf16, which has nothing to compare with */
    return 1;
}
#endif

/* The CPU first, also where it is not wanted (tap.h), to compare with; then
 * those that are wanted and there. */
__attribute__((unused)) static int
test_places(test_place out[MOST_PLACES])
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_backend *cuda = rlf_backend_find(rlf_backends, "cuda");
    int devices, n = add_places(rlf_backends[0], false, out);
    if (wanted("emulated"))
#ifdef RLF_HAVE_EMULATED
        n += add_emulated(out + n);
#else
        skip("emulated: no C++ compiler");
#endif
    if (wanted("cuda")) {
        if (cuda->count(&devices, &err) < 0)
            skip("cuda: %s", err.sentence);
        else
            n += add_places(cuda, false, out + n);
    }
    return n;
}

__attribute__((unused)) static void
test_machine_open_at(test_machine *t, const test_place *at, int threads)
{
    const rlf_backend_options options = {.n_threads = threads};
    *t = (test_machine){.kernels = at->backend->kernels(NULL, at->real),
                        .err = RLF_ERR_NONE};
    MUST(t, at->backend->open(&options, &t->device, &t->err));
    MUST(t, rlf_queue_new(t->device, &t->queue, &t->err));
}

#endif
