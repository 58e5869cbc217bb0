/* Messages on a descriptor, each behind a header with its length. */
#ifndef RLF_LSP_FRAME_H
#define RLF_LSP_FRAME_H

#include <stdbool.h>
#include <stddef.h>

/* Longer ones are refused: a program has 16 MB at most. */
#define RLF_LSP_MESSAGE_MOST ((size_t)64 << 20)

typedef struct rlf_lsp_input {
    int fd;
    char *data; /* what was read and not taken */
    size_t count, room;
    size_t taken; /* bytes of the message that was given last */
    bool ended;
} rlf_lsp_input;

typedef enum rlf_lsp_frame {
    RLF_LSP_MESSAGE,
    RLF_LSP_END,    /* nothing comes any more */
    RLF_LSP_BROKEN, /* what comes has no header, or one that cannot be */
} rlf_lsp_frame;

/* Waits for the next message: *text, of *n bytes, until the next call. BROKEN
 * puts a sentence into *why. */
rlf_lsp_frame rlf_lsp_read(rlf_lsp_input *input, const char **text, size_t *n,
                           const char **why);
/* Is more there already, or coming in at once? */
bool rlf_lsp_waits(rlf_lsp_input *input);
void rlf_lsp_input_free(rlf_lsp_input *input);
/* False: it could not be written. */
bool rlf_lsp_write(int fd, const char *text, size_t n);

#endif
