/* reload.c -- a set of policies: read from its sources, tried, and put in the place of the old one, or not at all. */
#include "policy/control/controls.h"

#include "base/error.h"
#include "log/log.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ a set */

void vs_policy_set_free(struct vs_policy_set *set) {
    if (!set) return;
    vs_vm_close(set->vm);
    for (int i = 0; i < VS_CONTROL_SPACES_MAX; i++) {
        free(set->source[i].name);
        free(set->source[i].options);
    }
    free(set);
}

static int load_all(struct vs_control *c, struct vs_policy_set *set, struct vesta_error *err) {
    struct vesta_error why;
    int rc = vs_vm_open(&c->opts.limits, &set->vm, err);
    for (int i = 0; rc == VESTA_OK && i < c->opts.space_count; i++) {
        const struct vs_policy_source *source = &set->source[i];
        set->policy[i] = -1;
        if (!source->name) continue;
        vs_control_busy(c, true);
        rc = vs_policy_load(set->vm, source->name, source->options, &set->policy[i], &why);
        vs_control_busy(c, false);
        if (rc != VESTA_OK) vs_fail(err, rc, "namespace '%s': %s", c->space[i], why.text);
    }
    return rc;
}

/* ------------------------------------------------------------------ trying */

static int try_policy(struct vs_control *c, struct vs_policy_set *set, int space, struct vesta_error *err) {
    struct vesta_error why;
    int rc = VESTA_OK;
    for (int i = 0; rc == VESTA_OK && i < vs_situation_count; i++) {
        vs_control_busy(c, true);
        const struct vs_rehearsal rehearsal = {i, c->space[space], vs_control_unix_ms(c)};
        rc = vs_policy_rehearse(set->vm, set->policy[space], &rehearsal, &why);
        vs_control_busy(c, false);
    }
    return rc == VESTA_OK ? rc : vs_fail(err, rc, "namespace '%s': %s", c->space[space], why.text);
}

static int try_all(struct vs_control *c, struct vs_policy_set *set, struct vesta_error *err) {
    int rc = VESTA_OK;
    for (int i = 0; rc == VESTA_OK && i < c->opts.space_count; i++)
        if (set->policy[i] >= 0) rc = try_policy(c, set, i, err);
    return rc;
}

/* What is tried here is loaded once more: a policy that counts its calls begins at its first. */
int vs_policy_set_make(struct vs_control *c, struct vs_policy_set **out, struct vesta_error *err) {
    struct vs_policy_set *set = calloc(1, sizeof *set);
    if (!set) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = c->opts.sources(c->opts.self, set->source, err);
    if (rc == VESTA_OK) rc = load_all(c, set, err);
    if (rc == VESTA_OK && !c->opts.tried) rc = try_all(c, set, err);
    if (rc == VESTA_OK && !c->opts.tried) {
        vs_vm_close(set->vm);
        set->vm = NULL;
        rc = load_all(c, set, err);
    }
    if (rc != VESTA_OK) {
        vs_policy_set_free(set);
        return rc;
    }
    *out = set;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ putting it to work */

struct vs_policy_set *vs_policy_set_swap(struct vs_control *c, struct vs_policy_set *set) {
    struct vs_policy_set *old = c->set;
    c->set = set;
    for (int i = 0; i < c->opts.space_count; i++) {
        unsigned bits = 0;
        for (int hook = 0; hook < VS_HOOKS && set->policy[i] >= 0; hook++)
            if (vs_policy_has(set->vm, set->policy[i], (enum vs_hook)hook)) bits |= 1U << hook;
        atomic_store_explicit(&c->hooks[i], bits, memory_order_relaxed); /* as in vs_control_judge */
    }
    for (int i = 0; i < c->opts.space_count * VS_CAUSES; i++)
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
        vs_log(VS_LOG_INFO, "reloaded: other policies are at work", "generation", VS_DIGITS(generation), NULL);
    else
        vs_log(VS_LOG_ERROR, "reload failed: the old policies stay at work", "generation", VS_DIGITS(generation),
               "error", err.text, NULL);
    if (c->opts.changed) c->opts.changed(c->opts.self);
    pthread_mutex_lock(&c->lock);
    c->status.reloads++;
    pthread_mutex_unlock(&c->lock);
}
