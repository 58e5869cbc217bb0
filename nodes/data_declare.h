/* Declarations of data sets: the constructors with their formals, the
 * files and columns that they name, and what of them is wrong. */
#ifndef RLF_NODES_DATA_DECLARE_H
#define RLF_NODES_DATA_DECLARE_H

#include "engine/graph/class.h"
#include "engine/io/records.h"

enum {
    RLF_DATA_CONSTRUCTORS = 7,
    RLF_DATA_PARTS = 3, /* columns that `messages:`, `pair:` or `conversation:`
                           make, at most */
};

extern const rlf_constructor rlf_data_constructors[RLF_DATA_CONSTRUCTORS];

/* An argument that is a number; 0 where it is not given. */
uint64_t rlf_data_option(const rlf_resource *resource, const char *name);
/* Does the program say that rows which cannot be used go? */
bool rlf_data_drops(const rlf_resource *resource);
/* The argument that names the file; NULL: none does. */
const rlf_arg *rlf_data_path(const rlf_resource *resource);
/* Writes those columns, at most RLF_DATA_PARTS; their number. */
size_t rlf_data_parts(const rlf_resource *resource, rlf_record_field *out);
/* The specification of the files by the declaration; lists are in `arena`.
 * RLF_USER where the path names none. */
rlf_status rlf_data_spec(const rlf_resource *resource, rlf_arena *arena,
                         rlf_err *err, rlf_records_spec *out);
/* Errors and warnings about the arguments of a data set that is made of so many
 * others; false: its members' weights are wrong. */
bool rlf_data_declared(const rlf_resource *resource, size_t members,
                       rlf_diags *diags);

#endif
