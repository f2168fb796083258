/* reload.c -- a set of policies: loaded from its sources, and put in the place of the old one, or not at all. */
#include "policy/control/controls.h"

#include "base/error.h"
#include "log/log.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ a set */

void vs_policy_set_free(struct vs_policy_set *set) {
    if (!set) return;
    vs_vm_close(set->vm);
    for (int i = 0; i < VS_CONTROL_NAMESPACES_MAX; i++)
        vs_policy_text_free(&set->text[i]);
    free(set);
}

static int load_all(struct vs_control *c, struct vs_policy_set *set, struct vesta_error *err) {
    struct vesta_error why;
    int rc = vs_vm_open(&c->opts.limits, &set->vm, err);
    for (int i = 0; rc == VESTA_OK && i < c->opts.ns_count; i++) {
        set->policy[i] = -1;
        if (!set->text[i].chunk) continue;
        vs_control_busy(c, true);
        rc = vs_policy_load_text(set->vm, &set->text[i], &set->policy[i], &why);
        vs_control_busy(c, false);
        if (rc != VESTA_OK) vs_fail(err, rc, "namespace '%s': %s", c->name[i], why.text);
    }
    return rc;
}

int vs_policy_set_make(struct vs_control *c, struct vs_policy_set **out, struct vesta_error *err) {
    struct vs_policy_set *set = calloc(1, sizeof *set);
    if (!set) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = c->opts.sources(c->opts.self, set->text, err);
    if (rc == VESTA_OK) rc = load_all(c, set, err);
    if (rc != VESTA_OK) {
        vs_policy_set_free(set);
        return rc;
    }
    set->control = c;
    vs_vm_listen(set->vm, vs_control_hear, set); /* from here on: a file is loaded more often than it is used */
    *out = set;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ putting it to work */

struct vs_policy_set *vs_policy_set_swap(struct vs_control *c, struct vs_policy_set *set) {
    struct vs_policy_set *old = c->set;
    c->set = set;
    for (int i = 0; i < c->opts.ns_count; i++) {
        unsigned bits = 0;
        for (int hook = 0; hook < VS_HOOKS && set->policy[i] >= 0; hook++)
            if (vs_policy_has(set->vm, set->policy[i], (enum vs_hook)hook)) bits |= 1U << hook;
        atomic_store_explicit(&c->hooks[i], bits, memory_order_relaxed); /* as in vs_control_judge */
    }
    for (int i = 0; i < c->opts.ns_count * VS_CAUSES; i++)
        c->question[i] = (struct vs_question){.next = VS_PENDING};
    c->status.generation++;
    c->status.reload_ok = true;
    c->status.reload_unix_ms = vs_control_unix_ms(c);
    return old;
}

void vs_control_renew(struct vs_control *c) {
    struct vs_policy_set *set, *old = NULL;
    struct vesta_error err = {0};
    int rc = vs_policy_set_make(c, &set, &err);
    pthread_mutex_lock(&c->lock);
    if (rc == VESTA_OK) {
        old = vs_policy_set_swap(c, set);
    } else {
        c->status.reload_ok = false;
        vs_control_note(c, &err);
    }
    int64_t generation = (int64_t)c->status.generation;
    pthread_mutex_unlock(&c->lock);
    vs_policy_set_free(old);
    if (rc == VESTA_OK)
        vs_log(VS_LOG_INFO, "reloaded: the new policies are in use", "generation", VS_DIGITS(generation), NULL);
    else
        vs_log(VS_LOG_ERROR, "reload failed: the old policies stay in use", "generation", VS_DIGITS(generation),
               "error", err.text, NULL);
    if (c->opts.changed) c->opts.changed(c->opts.self);
    pthread_mutex_lock(&c->lock);
    c->status.reloads++;
    pthread_mutex_unlock(&c->lock);
}
