/* doctor.h -- what `vesta doctor` looks at, and the files that look.
 *
 *   doctor.c   the command: what is asked for, findings, the config and its policies
 *   machine.c  the clock, limits, addresses
 *   state.c    the folder for state, generator files, how long a layout lasts
 *   store.c    the stores that numbers are leased from */
#ifndef VS_DOCTOR_H
#define VS_DOCTOR_H

#include "config/config.h"
#include "command/command.h"

enum vs_health { VS_FINE, VS_WARN, VS_SICK };

struct vs_doctor {
    int json, effective;
    bool sick;            /* something was found that must be set right */
    bool is_at_odds;      /* the generator file of the namespace looked at cannot be used, which was said */
    uint64_t incarnation; /* of the store that granted the leases of the namespace looked at; 0: none has */
    const struct vs_config *config;
    const struct vesta_clock *clock;
};

/* Prints a finding: what was looked at, what holds, and what to do about it (NULL: nothing). */
void vs_doctor_found(struct vs_doctor *doctor, enum vs_health health, const char *what, const char *todo,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

void vs_doctor_clock(struct vs_doctor *doctor);
void vs_doctor_limits(struct vs_doctor *doctor);
void vs_doctor_addresses(struct vs_doctor *doctor);

void vs_doctor_folders(struct vs_doctor *doctor);
void vs_doctor_namespace(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, struct vesta_layout *layout);

void vs_doctor_store(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, const struct vesta_layout *layout);

#endif
