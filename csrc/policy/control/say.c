/* say.c -- what policies say with log(), as lines of the log: a few in a second, the rest is counted and told.  Never
 * waits: the log's own thread writes. */
#include "policy/control/controls.h"

#include "log/log.h"

#define SECOND_US 1000000

static void tell(const struct vs_control *c, int ns, const char *policy, const char *said) {
    uint64_t dropped = c->saying[ns].dropped;
    vs_log(VS_LOG_INFO, said ? "a policy says" : "a policy said more than a second's lines", "namespace", c->name[ns],
           "policy", policy, "text", said, "dropped", dropped ? VS_DIGITS((int64_t)dropped) : NULL, NULL);
}

void vs_control_hear(void *self, int policy, const char *said) {
    const struct vs_policy_set *set = self;
    struct vs_control *c = set->control;
    int64_t now_us = vs_control_now_us(c);
    int ns = 0;
    while (set->policy[ns] != policy)
        ns++;
    struct vs_saying *saying = &c->saying[ns];
    if (saying->from_us == 0 || now_us - saying->from_us >= SECOND_US) {
        saying->from_us = now_us;
        saying->lines = 0;
    }
    if (++saying->lines > VS_SAID_LINES_MAX) {
        saying->dropped++;
        return;
    }
    tell(c, ns, set->text[ns].name, said);
    saying->dropped = 0;
}

void vs_control_tell_dropped(struct vs_control *c) {
    for (int ns = 0; ns < c->opts.ns_count; ns++) {
        struct vs_saying *saying = &c->saying[ns];
        if (saying->dropped == 0 || vs_control_now_us(c) - saying->from_us < SECOND_US) continue;
        tell(c, ns, c->set->text[ns].name, NULL);
        saying->dropped = 0;
    }
}
