/* alarm.c -- waits until an instant, or until the clock is set (see alarm.h). */
#include "run/alarm.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define ALARM_FAR_S 4000000000 /* an instant that no clock reaches: the timer is only for changes of the clock */

static void alarm_watch_clock(int fd) {
    uint64_t count;
    const struct itimerspec far = {.it_value.tv_sec = ALARM_FAR_S};
    (void)!read(fd, &count, sizeof count); /* ECANCELED, if the clock was set */
    timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);
}

int vs_run_alarm_open(struct vs_run_alarm *alarm) {
    alarm->boot = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    alarm->wall = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (alarm->boot < 0 || alarm->wall < 0) return -1;
    alarm_watch_clock(alarm->wall);
    return 0;
}

void vs_run_alarm_wait(const struct vs_run_alarm *alarm, int64_t until_boot_us, struct pollfd *at, nfds_t count) {
    if (until_boot_us < 1) until_boot_us = 1; /* 0 would turn the timer off */
    const struct itimerspec until = {
        .it_value = {.tv_sec = until_boot_us / 1000000, .tv_nsec = until_boot_us % 1000000 * 1000}};
    timerfd_settime(alarm->boot, TFD_TIMER_ABSTIME, &until, NULL);
    at[count - 2] = (struct pollfd){.fd = alarm->boot, .events = POLLIN};
    at[count - 1] = (struct pollfd){.fd = alarm->wall, .events = POLLIN};
    if (poll(at, count, -1) > 0 && at[count - 1].revents) alarm_watch_clock(alarm->wall);
}
