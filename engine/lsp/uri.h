/* Documents' names and paths of files. */
#ifndef RLF_LSP_URI_H
#define RLF_LSP_URI_H

/* The path of "file:///a%20b"; of another scheme the name itself. Without "."
 * and ".." in it. NULL: no memory. To be freed. */
char *rlf_lsp_path(const char *uri);
char *rlf_lsp_uri(const char *path);
/* Takes "." and ".." out of an absolute path, in its place. */
void rlf_lsp_plain(char *path);

#endif
