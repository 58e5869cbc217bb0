/* Fuzz targets, and how they are built for libFuzzer:
 *
 *     clang -fsanitize=fuzzer,address,undefined -DRLF_FUZZER -I. -Ibuild \
 *         tests/fuzz_parse.c grammar/... -o fuzz_parse
 *
 * Without RLF_FUZZER they are plain functions that fuzz_replay.c calls on
 * tests/corpus, tests/messages or tests/tokenizers, and on mutations of it. A
 * target returns normally or breaks. */
#ifndef RLF_TESTS_FUZZ_H
#define RLF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#ifdef RLF_FUZZER
#define FUZZ_TARGET(name)                                      \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n); \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
#else
#define FUZZ_TARGET(name) int name(const uint8_t *data, size_t n)
int fuzz_parse(const uint8_t *data, size_t n);
int fuzz_lex(const uint8_t *data, size_t n);
int fuzz_messages(const uint8_t *data, size_t n);
int fuzz_tokenizer(const uint8_t *data, size_t n);
#endif

#endif
