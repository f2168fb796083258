/* alarm.h -- waits until an instant of boot time, or until the clock is set. */
#ifndef VS_RUN_ALARM_H
#define VS_RUN_ALARM_H

#include <poll.h>
#include <stdint.h>

struct vs_run_alarm {
    int boot; /* counts suspend, so it rings at once when a machine resumes after the instant */
    int wall; /* rings when the clock is set */
};

/* Returns 0, or -1 with errno. */
int vs_run_alarm_open(struct vs_run_alarm *alarm);
/* Waits for the instant, a change of the clock, or one of the descriptors, of which the last two elements are free. */
void vs_run_alarm_wait(const struct vs_run_alarm *alarm, int64_t until_boot_us, struct pollfd *at, nfds_t count);

#endif
