/* Protocol buffers that are written: fields of a message, one after the other,
 * and records of them as TensorBoard's files have them. Reading them is
 * nobody's need here. */
#ifndef RLF_IO_PROTOBUF_H
#define RLF_IO_PROTOBUF_H

#include "engine/base/str.h"

#include <stdint.h>

/* Each appends the field of that number (1 to 2^29 - 1). */
void rlf_proto_int(rlf_buf *out, uint32_t field, uint64_t value);
void rlf_proto_double(rlf_buf *out, uint32_t field, double value);
void rlf_proto_float(rlf_buf *out, uint32_t field, float value);
/* A text, bytes, or a message that was written into a buffer of its own. */
void rlf_proto_bytes(rlf_buf *out, uint32_t field, const void *p, size_t n);
void rlf_proto_text(rlf_buf *out, uint32_t field, const char *text);
void rlf_proto_message(rlf_buf *out, uint32_t field, const rlf_buf *message);

/* Appends a record as TensorFlow's files have them: its length, that one's
 * checksum, its bytes, their checksum; CRC-32C, masked. */
void rlf_tfrecord_add(rlf_buf *out, const void *p, size_t n);
/* CRC-32C (Castagnoli) of n bytes. */
uint32_t rlf_crc32c(const void *p, size_t n);

#endif
