/* Tokenizers: text to token ids and back, as a Hugging Face directory says.
 *
 * Read are tokenizer.json (BPE, byte-level as GPT-2, Llama 3, Qwen and SmolLM
 * have it, of sentencepiece's kind as Llama 2, or over single characters;
 * Unigram, WordPiece and WordLevel), or vocab.json + merges.txt; and, if they
 * are there, tokenizer_config.json and special_tokens_map.json for special
 * tokens and spaces in front of texts, and with generation_config.json and
 * config.json for beginning and ends. A part that is not supported is RLF_USER
 * and named: nothing is passed over that would change an id. Chat templates are
 * found by template.h.
 *
 * A tokenizer does not change after opening: any number of threads may use
 * it at once. */
#ifndef RLF_TEXT_TOKENIZER_H
#define RLF_TEXT_TOKENIZER_H

#include "engine/base/digest.h"
#include "engine/base/status.h"
#include "engine/base/str.h"
#include "engine/text/bpe.h"

typedef struct rlf_tokenizer rlf_tokenizer;

/* `path`: a directory, or a tokenizer.json (the others then beside it). */
rlf_status rlf_tokenizer_open(const char *path, rlf_err *err,
                              rlf_tokenizer **out);
void rlf_tokenizer_close(rlf_tokenizer *tokenizer); /* NULL is fine */

enum {
    /* Put before and after the text what the tokenizer asks for (most often
     * the beginning-of-text token, or nothing). */
    RLF_ENCODE_SPECIAL = 1,
    /* Special tokens written in the text are ordinary text: for text that is
     * not trusted. */
    RLF_ENCODE_PLAIN = 2,
    /* With RLF_ENCODE_SPECIAL: a text that begins with all that the tokenizer
     * puts before texts, as one that a template wrote, has that once. */
    RLF_ENCODE_ONCE = 4,
};
/* Append the ids of the text. Bytes that are not UTF-8 count as U+FFFD. */
rlf_status rlf_tokenizer_encode(const rlf_tokenizer *tokenizer,
                                const char *text, size_t n, unsigned flags,
                                rlf_err *err, rlf_ids *out);

/* Append the ids of a text that goes on after `before`, which is encoded apart:
 * as both written together have them, but for tokens that would go across the
 * border. So a text behind other text gets no space in front, which many
 * tokenizers put before a text, and keeps those it begins with; behind an added
 * token, or where `before` is empty, it is what a text is there. `before` NULL:
 * it is not known, and ends with ordinary text. */
rlf_status rlf_tokenizer_encode_after(const rlf_tokenizer *tokenizer,
                                      const rlf_str *before, rlf_str text,
                                      rlf_err *err, rlf_ids *out);

/* A place between two bytes of a text, and what the ids of the text are to it:
 * how many end at it or before, and how many begin before it. More begin than
 * end where one of them goes across, or several that share a character. */
typedef struct rlf_text_place {
    size_t at; /* bytes before it, at the beginning of a character */
    size_t ended, begun;
} rlf_text_place;
/* The same as encode without flags, for valid UTF-8, and fills n places, which
 * are in the order of the text. RLF_USER where the tokenizer writes the text in
 * other characters so that nothing says which of them stand where. */
rlf_status rlf_tokenizer_encode_placed(const rlf_tokenizer *tokenizer,
                                       rlf_str text, rlf_err *err, rlf_ids *out,
                                       rlf_text_place *places, size_t n);

/* A bound from below of the ids that `encode` would append, those around the
 * text left out, in a fraction of its time and memory: as many as the longest
 * token makes of the bytes. */
rlf_status rlf_tokenizer_least(const rlf_tokenizer *tokenizer, const char *text,
                               size_t n, unsigned flags, rlf_err *err,
                               uint64_t *out);

enum {
    RLF_DECODE_SKIP_SPECIAL = 1, /* special tokens give no text */
    /* The ids go on after other ids: a leading space stays (sentencepiece's
     * models drop it at the beginning of a text). */
    RLF_DECODE_CONTINUE = 2,
};
/* Append the text of the ids, always valid UTF-8: bytes of characters that are
 * not complete become U+FFFD. Ids that are no token give nothing. Equals
 * Hugging Face's decode, but for one case: of byte tokens (<0xHH>) that are not
 * valid together, the valid characters are kept. */
void rlf_tokenizer_decode(const rlf_tokenizer *tokenizer, const uint32_t *ids,
                          size_t n, unsigned flags, rlf_buf *out);

/* The bytes that an id stands for in a text (a part of a character perhaps);
 * n 0 if it is no token. */
rlf_str rlf_tokenizer_piece(const rlf_tokenizer *tokenizer, uint32_t id);
/* The id of a token as the file writes it ("<s>", "\u0120the"), RLF_NO_ID if
 * there is none. */
uint32_t rlf_tokenizer_find(const rlf_tokenizer *tokenizer, const char *token);

/* Largest id + 1. A model may have more rows than that. */
uint32_t rlf_tokenizer_vocab(const rlf_tokenizer *tokenizer);
/* RLF_NO_ID where there is none. */
uint32_t rlf_tokenizer_bos(const rlf_tokenizer *tokenizer);
bool rlf_tokenizer_special(const rlf_tokenizer *tokenizer, uint32_t id);
/* The ids that end a text, the first of them the one to write; perhaps none.
 */
const uint32_t *rlf_tokenizer_eos(const rlf_tokenizer *tokenizer,
                                  size_t *count);
bool rlf_tokenizer_is_eos(const rlf_tokenizer *tokenizer, uint32_t id);
/* The special tokens that the files name, each name once: "bos_token", "<s>"
 * and so on, also names that are the model's own, such as "image_token". */
typedef struct rlf_named_token {
    const char *name, *token;
} rlf_named_token;
const rlf_named_token *rlf_tokenizer_named(const rlf_tokenizer *tokenizer,
                                           size_t *count);
/* The class of transformers that builds it of its files, instead of taking
 * tokenizer.json as it is; or NULL. */
const char *rlf_tokenizer_built(const rlf_tokenizer *tokenizer);
/* RLF_USER if another class, or none, would build it with this text of a
 * model's config.json beside it: so models are saved. */
rlf_status rlf_tokenizer_check_beside(const rlf_tokenizer *tokenizer,
                                      const char *config, rlf_err *err);
/* Identity of the mapping between texts and ids: equal for two tokenizers whose
 * files say the same, whatever their formatting. */
rlf_digest rlf_tokenizer_digest(const rlf_tokenizer *tokenizer);
/* The same with what RLF_ENCODE_SPECIAL puts before and after a text. */
rlf_digest rlf_tokenizer_writes(const rlf_tokenizer *tokenizer);
/* The last token that RLF_ENCODE_SPECIAL puts after a text; false: none is. */
bool rlf_tokenizer_after(const rlf_tokenizer *tokenizer, uint32_t *id);
/* Bytes that it takes. */
size_t rlf_tokenizer_bytes(const rlf_tokenizer *tokenizer);

#endif
