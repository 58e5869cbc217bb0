/* Hashes of what the cases of kernels_*.c compute: the same on every machine,
 * instruction set and compiler. A change here changes what runs compute: old
 * checkpoints then resume with other bits. */
#ifndef RLF_TESTS_KERNELS_BITS_H
#define RLF_TESTS_KERNELS_BITS_H

#include <stdint.h>

// clang-format off
static const struct {
    const char *name;
    uint64_t hash;
} kernels_bits[] = {
    {"activations", UINT64_C(0xcca38f0a831bc517)},
    {"adamw", UINT64_C(0xbb3faea80a49c7a3)},
    {"adamw_packed", UINT64_C(0x535e37af0cc11896)},
    {"attention", UINT64_C(0x00ea1eeb2873ca0c)},
    {"attention_capped", UINT64_C(0x7fa7b293e9172d5f)},
    {"attention_grad", UINT64_C(0xdb8f2094cb630f0f)},
    {"attention_grad_capped", UINT64_C(0x60a0965659698fb9)},
    {"attention_grad_widths", UINT64_C(0x9cdea0aaf079352e)},
    {"attention_paged", UINT64_C(0x5a3ffc45ee94f17e)},
    {"attention_paged_capped", UINT64_C(0xcb6ae5b7cfcb4a83)},
    {"attention_paged_widths", UINT64_C(0x6c7d0d20c5b49672)},
    {"attention_widths", UINT64_C(0xfc7eef3545b5b52a)},
    {"bias_grad", UINT64_C(0xfbef77ab7bef3cc6)},
    {"cast", UINT64_C(0x22a3a4e26cd22e7c)},
    {"dense_chains", UINT64_C(0x26f730082259dbae)},
    {"dense_in_place", UINT64_C(0x371ebfd1f2e32c1d)},
    {"dense_random", UINT64_C(0x5837339eb2b498eb)},
    {"dense_rows", UINT64_C(0x2c8f3c64dac8fee1)},
    {"dense_sums", UINT64_C(0x2f11e560bbc68b31)},
    {"embed", UINT64_C(0xbc9ccbee5d872e19)},
    {"embed_grad", UINT64_C(0x614ff473825b9532)},
    {"embed_part", UINT64_C(0x8ac55784f1aaa494)},
    {"embed_rows", UINT64_C(0x64eec07e8c375b35)},
    {"embed_sampled", UINT64_C(0xe99c868ab5f401cd)},
    {"flat", UINT64_C(0xa984f0aeee4147b9)},
    {"gather_scatter", UINT64_C(0x40cc1d1bb07e617c)},
    {"head_logprob", UINT64_C(0x4e3ac292847b1f84)},
    {"head_logprob_capped", UINT64_C(0x0e2531bd470b4370)},
    {"head_logprob_scaled", UINT64_C(0x0e9474f95cc10ef2)},
    {"head_logprob_shards", UINT64_C(0x0538c3e5dbcfcd8b)},
    {"head_loss", UINT64_C(0xd4514d632f54c85d)},
    {"head_loss_capped", UINT64_C(0x6030f41ada30eced)},
    {"head_loss_scaled", UINT64_C(0xe4b44bfaac9903c9)},
    {"head_loss_shards", UINT64_C(0x3071e622297ac0c9)},
    {"head_words", UINT64_C(0xcc3a94a27a340c8c)},
    {"head_words_capped", UINT64_C(0x379dd85b152704c0)},
    {"head_words_scaled", UINT64_C(0x46a727e8caace1a8)},
    {"head_words_shards", UINT64_C(0x680490860a3a8292)},
    {"kv_write", UINT64_C(0xc8f1a1c12c092754)},
    {"layernorm", UINT64_C(0x5ec68e5efd199b51)},
    {"layernorm_grad", UINT64_C(0x6221199c55a12ae6)},
    {"product", UINT64_C(0xed54da2b6a89f238)},
    {"product_back", UINT64_C(0x1248ab013eb2dfd6)},
    {"product_geglu", UINT64_C(0xb2d643c9a32ac154)},
    {"product_grad", UINT64_C(0x078463fdd06edfc4)},
    {"product_large", UINT64_C(0xafbf0d28962decc5)},
    {"product_pieces", UINT64_C(0x5a4f4211f7dfa2dd)},
    {"product_shards", UINT64_C(0xcac27ffee7cb52a2)},
    {"product_soon", UINT64_C(0x123f94a5619e1eef)},
    {"product_swiglu", UINT64_C(0x9235286292eac06e)},
    {"norm_sums", UINT64_C(0x6783ce390b917643)},
    {"rmsnorm", UINT64_C(0x9849b199a6165107)},
    {"rmsnorm_grad", UINT64_C(0xef08787369d52f17)},
    {"rmsnorm_shards", UINT64_C(0x120ba1f590cd626d)},
    {"rmsnorm_tiles", UINT64_C(0x4d5fa15253bbfcde)},
    {"rope", UINT64_C(0x7ee29b5349d331ec)},
    {"sample", UINT64_C(0x82e54628113928ca)},
    {"sample_broken", UINT64_C(0x3545cf2c090e6635)},
    {"sample_capped", UINT64_C(0x4ca6a1031d623354)},
    {"sample_filters", UINT64_C(0xc5612df40a337c8e)},
    {"sample_scaled", UINT64_C(0xbff8aa8f2016709e)},
    {"sample_shards", UINT64_C(0xf1e4a1ac041adf9e)},
    {"sample_ties", UINT64_C(0x36d446f431afbd75)},
    {"scaled_add", UINT64_C(0xed66d8f73f3b6fe2)},
    {"sumsq", UINT64_C(0xcb56a5e55b2d4269)},
    {"swiglu", UINT64_C(0x841f870baf29a14d)},
};
// clang-format on

#endif
