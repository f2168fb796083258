/* state.h -- a state folder of its own for each claim: IN_NEW_STATE(run) makes run_, for the table of cases. */
#ifndef SPEC_STATE_H
#define SPEC_STATE_H

#include "check.h"

#include <stdlib.h>
#include <string.h>

static char state[64];

#define IN_NEW_STATE(run)                                                                                              \
    static void run##_(void) {                                                                                         \
        char command[128];                                                                                             \
        strcpy(state, "/tmp/vesta-state-XXXXXX");                                                                      \
        if (!mkdtemp(state)) abort();                                                                                  \
        setenv("VESTA_STATE", state, 1);                                                                               \
        run();                                                                                                         \
        snprintf(command, sizeof command, "rm -rf %s", state);                                                         \
        CHECK(system(command) == 0);                                                                                   \
    }

#endif
