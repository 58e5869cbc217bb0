/* Safetensors: tensors in Hugging Face's file format.
 *
 * A file is 8 bytes of header length (little endian), a JSON header that names
 * each tensor's dtype, shape and byte range, then the data without gaps. The
 * data is read when it is asked for, into the asker's memory and no other; the
 * header is validated wholly when opened: every range inside the file, of the
 * right size, none overlapping, nothing left over. A file that breaks a rule is
 * RLF_USER, with the file, the tensor and what to do. A model may be split over
 * several files (model.safetensors.index.json).
 *
 * Written files have the same bytes for the same calls, and replace the old
 * file atomically (file.h). Both ends are little endian. Not a place for
 * meaning: which tensor is what is known to nodes/model. */
#ifndef RLF_IO_SAFETENSORS_H
#define RLF_IO_SAFETENSORS_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { RLF_TENSOR_DIMS = 8 }; /* most dimensions of a tensor */

typedef enum rlf_element {
#define ELEMENT(name, text, size, doc) RLF_ELEMENT_##name,
#include "engine/io/element.def"
#undef ELEMENT
    RLF_ELEMENT_COUNT
} rlf_element;

const char *rlf_element_text(rlf_element element); /* "BF16" */
size_t rlf_element_size(rlf_element element);      /* bytes */

typedef struct rlf_tensor {
    const char *name;
    rlf_element element;
    uint32_t n_dims;
    uint64_t shape[RLF_TENSOR_DIMS];
    uint64_t count; /* elements: the product of the shape */
    uint64_t bytes;
    uint64_t at; /* the offset of its first byte in the file */
    const struct rlf_infile *input; /* NULL when declared */
    const char *file;               /* the file's name, for messages */
} rlf_tensor;

typedef struct rlf_safetensors rlf_safetensors;

/* Open one file, or a directory that holds model.safetensors or
 * model.safetensors.index.json. */
rlf_status rlf_safetensors_open(const char *path, rlf_err *err,
                                rlf_safetensors **out);
void rlf_safetensors_close(rlf_safetensors *file); /* NULL is fine */

/* The tensors, in the order of the data in the file(s). They live as long as
 * `file`. */
size_t rlf_safetensors_count(const rlf_safetensors *file);
const rlf_tensor *rlf_safetensors_at(const rlf_safetensors *file, size_t i);
/* Finds a tensor by its name, or NULL. */
const rlf_tensor *rlf_safetensors_get(const rlf_safetensors *file,
                                      const char *name);
/* A value of the first file's "__metadata__", or NULL. */
const char *rlf_safetensors_metadata(const rlf_safetensors *file,
                                     const char *key);

/* Elements first .. first + n - 1 of the tensor, as f32 (f64 and integers are
 * rounded to nearest). RLF_USER if the type has no numbers here (8-bit floats),
 * RLF_ENV if the file cannot be read any more; asserts that the range lies
 * inside. */
rlf_status rlf_tensor_read_f32(const rlf_tensor *tensor, uint64_t first,
                               uint64_t n, rlf_err *err, float *out);
/* All of its bytes, as they are in the file. */
rlf_status rlf_tensor_read(const rlf_tensor *tensor, rlf_err *err, void *out);
/* "[32, 64]" into the arena, for messages. */
const char *rlf_tensor_shape_text(const rlf_tensor *tensor, rlf_arena *arena);

typedef struct rlf_tensor_writer rlf_tensor_writer;

/* Begin a file with these tensors (name, element, n_dims and shape are read)
 * and metadata pairs key, value, key, value ("format": "pt" is added). The data
 * follows by add calls in the declared order, in pieces of any size. Ends with
 * commit or drop, both of which free the writer. */
rlf_status rlf_tensor_writer_open(const char *path, const rlf_tensor *tensors,
                                  size_t n, const char *const *metadata,
                                  size_t n_metadata, rlf_err *err,
                                  rlf_tensor_writer **out);
/* See rlf_writer_lazy in file.h. */
void rlf_tensor_writer_lazy(rlf_tensor_writer *writer);
/* The next n bytes, in the file's own element types. */
rlf_status rlf_tensor_writer_add(rlf_tensor_writer *writer, const void *p,
                                 size_t n, rlf_err *err);
/* The next n elements of one tensor (F32, F16 or BF16), converted from f32. */
rlf_status rlf_tensor_writer_add_f32(rlf_tensor_writer *writer, const float *p,
                                     size_t n, rlf_err *err);
/* All data must have been added (else RLF_BUG, and the old file stays).
 * Checksum and size of the file are set unless NULL. */
rlf_status rlf_tensor_writer_commit(rlf_tensor_writer *writer, rlf_err *err,
                                    uint32_t *checksum, uint64_t *size);
void rlf_tensor_writer_drop(rlf_tensor_writer *writer); /* NULL is fine */

#endif
