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
    {"adamw", UINT64_C(0xbb3faea80a49c7a3)},
    {"adamw_packed", UINT64_C(0x535e37af0cc11896)},
    {"attention", UINT64_C(0xc33d82760ad61f2d)},
    {"attention_grad", UINT64_C(0x42dd0c93ec2581cd)},
    {"attention_paged", UINT64_C(0x908d550f3bb020bd)},
    {"bias_grad", UINT64_C(0xfbef77ab7bef3cc6)},
    {"cast", UINT64_C(0x22a3a4e26cd22e7c)},
    {"dense_chains", UINT64_C(0x26f730082259dbae)},
    {"dense_in_place", UINT64_C(0x371ebfd1f2e32c1d)},
    {"dense_random", UINT64_C(0x0653fd6aa79c3ffd)},
    {"dense_rows", UINT64_C(0xe40260efce9bdc6c)},
    {"dense_sums", UINT64_C(0x2f11e560bbc68b31)},
    {"embed", UINT64_C(0xbc9ccbee5d872e19)},
    {"embed_grad", UINT64_C(0x614ff473825b9532)},
    {"embed_part", UINT64_C(0x8ac55784f1aaa494)},
    {"embed_rows", UINT64_C(0x64eec07e8c375b35)},
    {"embed_sampled", UINT64_C(0xe99c868ab5f401cd)},
    {"flat", UINT64_C(0xa984f0aeee4147b9)},
    {"gather_scatter", UINT64_C(0x40cc1d1bb07e617c)},
    {"head_logprob", UINT64_C(0xbfefae90345cbb29)},
    {"head_logprob_shards", UINT64_C(0xefc53e97a76e167d)},
    {"head_loss", UINT64_C(0xdb945eca70a861d7)},
    {"head_loss_shards", UINT64_C(0x685b6a404328fc09)},
    {"head_words", UINT64_C(0x07c77eef4a96d858)},
    {"head_words_shards", UINT64_C(0x05c6b7e8976acb09)},
    {"kv_write", UINT64_C(0xc8f1a1c12c092754)},
    {"product", UINT64_C(0xed54da2b6a89f238)},
    {"product_back", UINT64_C(0x1248ab013eb2dfd6)},
    {"product_grad", UINT64_C(0x078463fdd06edfc4)},
    {"product_large", UINT64_C(0xefeb4e7bd0505052)},
    {"product_pieces", UINT64_C(0x5a4f4211f7dfa2dd)},
    {"product_soon", UINT64_C(0x123f94a5619e1eef)},
    {"product_shards", UINT64_C(0x5a8898f45e31f6e6)},
    {"product_swiglu", UINT64_C(0x9235286292eac06e)},
    {"rmsnorm", UINT64_C(0x9849b199a6165107)},
    {"rmsnorm_grad", UINT64_C(0xef08787369d52f17)},
    {"rmsnorm_shards", UINT64_C(0x120ba1f590cd626d)},
    {"rmsnorm_tiles", UINT64_C(0x4d5fa15253bbfcde)},
    {"rope", UINT64_C(0x7ee29b5349d331ec)},
    {"sample", UINT64_C(0xb8b4a24deaafccc8)},
    {"sample_broken", UINT64_C(0x3545cf2c090e6635)},
    {"sample_filters", UINT64_C(0xc5612df40a337c8e)},
    {"sample_shards", UINT64_C(0x9c77a91603b9335e)},
    {"sample_ties", UINT64_C(0x36d446f431afbd75)},
    {"sumsq", UINT64_C(0xcb56a5e55b2d4269)},
    {"swiglu", UINT64_C(0x841f870baf29a14d)},
};
// clang-format on

#endif
