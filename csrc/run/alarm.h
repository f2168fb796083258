/* alarm.h -- waits until an instant of boot time, or until the clock is set. */
#ifndef VS_RUN_ALARM_H
#define VS_RUN_ALARM_H

#include <poll.h>
#include <stdint.h>

struct vs_run_alarm {
    int boot; /* this timer counts suspended time, so it fires at once if the machine resumes after the instant */
    int wall; /* this timer fires when the clock is set */
};

/* Returns 0, or -1 with errno. */
int vs_run_alarm_open(struct vs_run_alarm *alarm);
/* Waits until the instant, a change of the clock, or an event of a descriptor in at[0..count-2).  Overwrites the last
 * two elements of `at`. */
void vs_run_alarm_wait(const struct vs_run_alarm *alarm, int64_t until_boot_us, struct pollfd *at, nfds_t count);

#endif
