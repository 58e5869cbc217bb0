/* The command `rlflow`. */
#include "engine/cmd/cmd.h"

int
main(int argc, char **argv)
{
    return rlf_cmd_main(argc, argv);
}
