/* none.c -- `vesta fill` where there was no hiredis to build it with. */
#include "cli/cli.h"
#include "command/options.h"

static int run_fill(int argc, char **argv) {
    const struct vs_option table[] = {{0}};
    int rc = argc == 2 ? vs_options(table, &argc, argv) : VS_GO; /* --help alone */
    if (rc != VS_GO) return rc;
    vs_say("this build has no Redis client: apt-get install libhiredis-dev, and build again");
    return VS_FAILED;
}

const struct vs_command vs_fill_command = {
    "fill", run_fill, "keep a list in Redis filled with new ids", "fill",
    "This build has no Redis client: apt-get install libhiredis-dev, and build again.\n"};
