/* say.c -- writes to the log what policies pass to log(), a few lines per second.  Further lines are counted, and their
 * number is logged.  Never blocks, because the log has a separate thread. */
#include "policy/control/controls.h"

#include "log/log.h"

#define SECOND_US 1000000

static void saying_tell(const struct vs_policy_set *set, int ns, const char *said) {
    static const char *const sentences[2][2] = {
        {"a policy logged more lines than a second may have", "a policy says"},
        {"a shadow policy logged more lines than a second may have", "a shadow policy says"}};
    uint64_t dropped = set->saying[ns].dropped;
    vs_log(VS_LOG_INFO, sentences[set->is_shadow][said != NULL], "namespace", set->control->name[ns], "policy",
           set->text[ns].name, "text", said, "dropped", dropped ? VS_DIGITS((int64_t)dropped) : NULL, NULL);
}

void vs_saying_hear(void *self, const char *said) {
    struct vs_saying *saying = self;
    int64_t now_us = vs_control_now_us(saying->set->control);
    if (saying->from_us == 0 || now_us - saying->from_us >= SECOND_US) {
        saying->from_us = now_us;
        saying->lines = 0;
    }
    if (++saying->lines > VS_SAID_LINES_MAX) {
        saying->dropped++;
        saying->set->has_dropped = true;
        return;
    }
    saying_tell(saying->set, saying->ns, said);
    saying->dropped = 0;
}

bool vs_saying_tell(struct vs_policy_set *set) {
    bool is_more = false;
    if (!set->has_dropped) return false;
    for (int ns = 0; ns < set->control->opts.ns_count; ns++) {
        struct vs_saying *saying = &set->saying[ns];
        bool is_over = vs_control_now_us(set->control) - saying->from_us >= SECOND_US;
        if (saying->dropped == 0) continue;
        is_more = is_more || !is_over;
        if (!is_over) continue;
        saying_tell(set, ns, NULL);
        saying->dropped = 0;
    }
    return set->has_dropped = is_more;
}
