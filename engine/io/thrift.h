/* Thrift's compact protocol, as far as the metadata of parquet files needs it.
 *
 * Bytes that are not in this protocol, or end too early, read as zeros from there
 * on, and `bad` or `cut` tells so: a caller asks once, behind the whole. No list
 * claims more elements than there are bytes left. */
#ifndef RLF_IO_THRIFT_H
#define RLF_IO_THRIFT_H

#include "engine/base/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rlf_thrift {
    const uint8_t *p, *end;
    bool bad; /* no thrift, or it nests deeper than 64 */
    bool cut; /* the bytes end within a value */
} rlf_thrift;

/* The next field of a struct: its number, from that of the field before it (0
 * before the first), and its type; false behind the last. */
bool rlf_thrift_field(rlf_thrift *t, int *id, int *type);
/* A value of the type that a field or list said; 0 if that is no integer (true
 * and false are 1 and 0). */
int64_t rlf_thrift_int(rlf_thrift *t, int type);
/* Likewise; borrowed, empty if it is no text. */
rlf_str rlf_thrift_text(rlf_thrift *t, int type);
/* Is a struct next? If not, it is passed over. */
bool rlf_thrift_struct(rlf_thrift *t, int type);
/* Returns how many elements follow, with their type; 0 if it is no list. */
size_t rlf_thrift_list(rlf_thrift *t, int type, int *of);
void rlf_thrift_skip(rlf_thrift *t, int type);

#endif
