/* Frames: "Content-Length: N", other headers, an empty line, N bytes. */
#include "engine/lsp/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { HEADER_MOST = 8192, PIECE = 65536 };

static bool
make_room(rlf_lsp_input *in, size_t more)
{
    if (in->room - in->count >= more)
        return true;
    size_t room = in->room ? in->room : PIECE;
    while (room - in->count < more)
        room *= 2;
    char *data = realloc(in->data, room);
    if (!data)
        return false;
    in->data = data;
    in->room = room;
    return true;
}

/* Reads some bytes more; false: there are none, or no memory. */
static bool
read_more(rlf_lsp_input *in)
{
    if (in->ended || !make_room(in, PIECE))
        return false;
    ssize_t n;
    do
        n = read(in->fd, in->data + in->count, PIECE);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        in->ended = true;
        return false;
    }
    in->count += (size_t)n;
    return true;
}

/* Behind the empty line that ends the header, or 0. */
static size_t
header_end(const rlf_lsp_input *in)
{
    for (size_t i = 3; i < in->count; i++)
        if (!memcmp(in->data + i - 3, "\r\n\r\n", 4))
            return i + 1;
    return 0;
}

/* The number that the header says; false: it says none that can be. */
static bool
length_of(const char *header, size_t n, size_t *out)
{
    static const char name[] = "content-length:";
    bool found = false;
    for (size_t i = 0; i < n;) {
        const char *line = header + i;
        const char *end = memchr(line, '\n', n - i);
        size_t length = end ? (size_t)(end - line) : n - i;
        i += length + 1;
        if (length < sizeof name ||
            strncasecmp(line, name, sizeof name - 1) != 0)
            continue;
        size_t value = 0, digits = 0, k = sizeof name - 1;
        while (k < length && (line[k] == ' ' || line[k] == '\t'))
            k++;
        for (; k < length && line[k] >= '0' && line[k] <= '9'; k++, digits++)
            if (value <= RLF_LSP_MESSAGE_MOST)
                value = value * 10 + (size_t)(line[k] - '0');
        while (k < length && (line[k] == ' ' || line[k] == '\r'))
            k++;
        if (!digits || k < length || found)
            return false;
        found = true;
        *out = value;
    }
    return found;
}

/* What was given last goes. */
static void
drop_taken(rlf_lsp_input *in)
{
    if (in->taken)
        memmove(in->data, in->data + in->taken, in->count - in->taken);
    in->count -= in->taken;
    in->taken = 0;
}

rlf_lsp_frame
rlf_lsp_read(rlf_lsp_input *in, const char **text, size_t *n, const char **why)
{
    size_t header, length;
    drop_taken(in);
    while (!(header = header_end(in))) {
        if (in->count > HEADER_MOST) {
            *why = "what comes is no message: it has no header";
            return RLF_LSP_BROKEN;
        }
        if (!read_more(in)) {
            *why = "the input ends in a header";
            return in->count ? RLF_LSP_BROKEN : RLF_LSP_END;
        }
    }
    if (!length_of(in->data, header, &length)) {
        *why = "a header has no Content-Length, or several, or one that is no "
               "number";
        return RLF_LSP_BROKEN;
    }
    if (length > RLF_LSP_MESSAGE_MOST) {
        *why = "a message is longer than 64 MB";
        return RLF_LSP_BROKEN;
    }
    while (in->count - header < length)
        if (!read_more(in)) {
            *why = "the input ends in a message";
            return RLF_LSP_BROKEN;
        }
    *text = in->data + header;
    *n = length;
    in->taken = header + length;
    return RLF_LSP_MESSAGE;
}

bool
rlf_lsp_waits(rlf_lsp_input *in)
{
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    if (in->count > in->taken)
        return true;
    return !in->ended && poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

void
rlf_lsp_input_free(rlf_lsp_input *in)
{
    free(in->data);
    *in = (rlf_lsp_input){.fd = in->fd, .ended = true};
}

static bool
write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

bool
rlf_lsp_write(int fd, const char *text, size_t n)
{
    char header[64];
    int length =
        snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", n);
    return write_all(fd, header, (size_t)length) && write_all(fd, text, n);
}
