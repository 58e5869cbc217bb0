/* Shapes of models that benchmarks time. */
#ifndef RLF_BENCH_LLAMA_SHAPES_H
#define RLF_BENCH_LLAMA_SHAPES_H

/* Of llama(...), as initializers: the 15M and 110M stories, Qwen 2.5's 0.5B. */
#define SHAPE_15M                                                           \
    {                                                                       \
        .layers = 6, .hidden = 288, .heads = 6, .ffn = 768, .vocab = 32000, \
        .context = 256, .tied = true, .bos = 1                              \
    }
#define SHAPE_110M                                                             \
    {                                                                          \
        .layers = 12, .hidden = 768, .heads = 12, .ffn = 2048, .vocab = 32000, \
        .context = 1024, .tied = true, .bos = 1                                \
    }
#define SHAPE_HALF                                                            \
    {                                                                         \
        .layers = 24, .hidden = 896, .heads = 14, .kv_heads = 2, .ffn = 4864, \
        .vocab = 151936, .context = 1024, .tied = true, .bos = 1              \
    }

#endif
