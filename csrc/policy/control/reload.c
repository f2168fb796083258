/* reload.c -- loads a set of policies from its sources.  Then replaces the old set, or retains it if the load fails. */
#include "policy/control/shadow.h"

#include "base/error.h"
#include "base/table.h"
#include "log/log.h"

#include <stdlib.h>
#include <string.h>

#define CHANGES_TOLD_MAX 16 /* maximum number of changes logged for one reload */
#define RELOAD_MORE_MAX 32  /* bytes of ", " and " and N more" */

/* ------------------------------------------------------------------ a set */

void vs_policy_set_free(struct vs_policy_set *set) {
    if (!set) return;
    vs_policy_set_free(set->shadow);
    for (int i = 0; set->policy && i < set->control->opts.ns_count; i++)
        vs_policy_close(set->policy[i]);
    for (int i = 0; set->text && i < set->control->opts.ns_count; i++)
        vs_policy_text_free(&set->text[i]);
    free(set->saying);
    free(set->text);
    free(set->policy);
    free(set->mark);
    free(set);
}

static struct vs_policy_set *reload_new_set(const struct vs_control *c, bool is_shadow) {
    struct vs_policy_set *set = calloc(1, sizeof *set);
    size_t count = (size_t)c->opts.ns_count;
    if (!set) return NULL;
    set->control = c;
    set->is_shadow = is_shadow;
    set->saying = calloc(count, sizeof *set->saying);
    set->text = calloc(count, sizeof *set->text);
    set->policy = calloc(count, sizeof *set->policy);
    set->mark = calloc(count, sizeof *set->mark);
    if (!set->saying || !set->text || !set->policy || !set->mark) return vs_policy_set_free(set), NULL;
    return set;
}

static int reload_load_all(struct vs_control *c, struct vs_policy_set *set, struct vesta_error *err) {
    struct vesta_error why;
    struct vs_vm_limits limits = c->opts.limits;
    if (set->is_shadow) limits.cancel = &c->ending_now;
    const struct vs_policy_opts opts = {.limits = &limits};
    int rc = VESTA_OK;
    for (int i = 0; rc == VESTA_OK && i < c->opts.ns_count; i++) {
        if (!set->text[i].chunk) continue;
        vs_control_busy(c, true);
        rc = vs_policy_open(&set->text[i], &opts, &set->policy[i], &why);
        vs_control_busy(c, false);
        if (rc != VESTA_OK) vs_fail(err, rc, "namespace '%s': %s", c->name[i], why.text);
    }
    /* Direct the policies' lines to the log only after all policies are loaded, because a policy is loaded more often
     * than it is put in force. */
    for (int i = 0; rc == VESTA_OK && i < c->opts.ns_count; i++) {
        set->saying[i] = (struct vs_saying){.set = set, .ns = i};
        if (set->policy[i]) vs_policy_listen(set->policy[i], vs_saying_hear, &set->saying[i]);
    }
    return rc;
}

/* Makes a set.  The set takes over the texts, even after an error. */
static int reload_make_set(struct vs_control *c, struct vs_policy_text *texts, bool is_shadow,
                           struct vs_policy_set **out, struct vesta_error *err) {
    struct vs_policy_set *set = reload_new_set(c, is_shadow);
    if (!set) return vs_fail(err, VESTA_ENOMEM, "no memory");
    for (int i = 0; i < c->opts.ns_count; i++) {
        set->text[i] = texts[i];
        texts[i] = (struct vs_policy_text){0};
    }
    int rc = reload_load_all(c, set, err);
    if (rc == VESTA_OK)
        *out = set;
    else
        vs_policy_set_free(set);
    return rc;
}

static uint64_t reload_hash(const char *text, uint64_t seed) {
    return text ? vs_table_hash(text, strlen(text) + 1, seed) : seed;
}

static uint64_t reload_mark(const struct vs_policy_text *text, uint64_t seed) {
    uint64_t mark = seed;
    if (!text->chunk) return mark;
    mark = reload_hash(text->name, mark);
    mark = reload_hash(text->options, mark);
    mark = reload_hash(text->env, mark);
    return vs_table_hash(text->text, text->length, mark);
}

int vs_policy_set_make(struct vs_control *c, struct vs_policy_set **out, struct vesta_error *err) {
    struct vs_policy_set *set = NULL;
    int count = c->opts.ns_count;
    struct vs_policy_text *texts = calloc(2 * (size_t)count, sizeof *texts);
    if (!texts) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = c->opts.sources(c->opts.self, texts, texts + count, err);
    if (rc == VESTA_OK) rc = reload_make_set(c, texts, false, &set, err);
    if (rc == VESTA_OK) rc = reload_make_set(c, texts + count, true, &set->shadow, err);
    for (int i = 0; rc == VESTA_OK && i < count; i++)
        set->mark[i] = reload_mark(&set->shadow->text[i], reload_mark(&set->text[i], 1) + 1);
    for (int i = 0; i < 2 * count; i++)
        vs_policy_text_free(&texts[i]);
    free(texts);
    if (rc == VESTA_OK)
        *out = set;
    else
        vs_policy_set_free(set);
    return rc;
}

/* ------------------------------------------------------------------ putting it to work */

unsigned vs_policy_set_hooks(const struct vs_policy_set *set, int ns) {
    unsigned bits = 0;
    for (int hook = 0; hook < VS_HOOKS && set->policy[ns]; hook++)
        if (vs_policy_has(set->policy[ns], (enum vs_hook)hook)) bits |= 1U << hook;
    return bits;
}

const char *vs_policy_set_name(const struct vs_policy_set *set, int ns) {
    if (!set->policy[ns]) return "none";
    return set->text[ns].name ? set->text[ns].name : set->text[ns].chunk + 1;
}

static bool reload_has_policies(const struct vs_policy_set *set) {
    for (int i = 0; i < set->control->opts.ns_count; i++)
        if (set->policy[i]) return true;
    return false;
}

/* Hands the shadow policies over to their thread.  If that thread cannot be started, shadow policies are not called,
 * and everything else continues. */
static void reload_hand_over_shadows(struct vs_control *c, struct vs_policy_set *set) {
    struct vs_shadow *shadow = atomic_load(&c->shadow);
    struct vesta_error err;
    if (!shadow && !reload_has_policies(set->shadow)) return;
    if (!shadow && vs_shadow_open(c, &shadow, &err) != VESTA_OK) {
        vs_log(VS_LOG_ERROR, "shadow policies are not asked", "error", err.text, NULL);
        return;
    }
    vs_shadow_take(shadow, set->shadow);
    set->shadow = NULL;
    atomic_store(&c->shadow, shadow);
}

struct vs_policy_set *vs_policy_set_swap(struct vs_control *c, struct vs_policy_set *set) {
    struct vs_policy_set *old = c->set;
    c->set = set;
    for (int i = 0; i < c->opts.ns_count; i++) {
        unsigned bits = vs_policy_set_hooks(set, i);
        atomic_store_explicit(&c->hooks[i], bits, memory_order_relaxed); /* relaxed: see vs_control_judge */
    }
    reload_hand_over_shadows(c, set);
    for (int i = 0; i < c->opts.ns_count * VS_CAUSES; i++) {
        free(c->question[i].refusal);
        c->question[i] = (struct vs_pause_question){.next = VS_PENDING}, c->asked[i] = false;
    }
    c->status.generation++;
    c->status.reload_ok = true;
    c->status.reload_unix_ms = vs_control_unix_ms(c);
    return old;
}

/* Lists the namespaces with a changed policy or shadow policy, as "orders, shop and 3 more".  Returns their number. */
static int reload_put_changes(const struct vs_control *c, const struct vs_policy_set *set, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "reloaded: the new policies are in use: ");
    int count = 0, named = 0;
    for (int i = 0; i < c->opts.ns_count; i++) {
        if (set->mark[i] == c->set->mark[i]) continue;
        bool has_room = count == named && used + strlen(c->name[i]) + RELOAD_MORE_MAX <= size;
        count++;
        if (!has_room) continue; /* further changes are only counted */
        used += (size_t)snprintf(text + used, size - used, "%s%s", named++ > 0 ? ", " : "", c->name[i]);
    }
    if (count > named) snprintf(text + used, size - used, " and %d more", count - named);
    if (count == 0) snprintf(text, size, "reloaded: no policy has changed since");
    return count;
}

/* Logs which namespaces get a different policy or shadow policy.  Called before the set is in force. */
static void reload_tell_changes(const struct vs_control *c, const struct vs_policy_set *set) {
    int count = 0;
    for (int i = 0; i < c->opts.ns_count; i++) {
        if (set->mark[i] == c->set->mark[i]) continue;
        if (count++ < CHANGES_TOLD_MAX)
            vs_log(VS_LOG_INFO, "a changed policy was loaded", "namespace", c->name[i], "policy",
                   vs_policy_set_name(set, i), "shadow_policy", vs_policy_set_name(set->shadow, i), NULL);
    }
}

void vs_control_renew(struct vs_control *c) {
    struct vs_policy_set *set, *old = NULL;
    struct vesta_error err = {0};
    int rc = vs_policy_set_make(c, &set, &err);
    char result[sizeof c->status.reload_result];
    int changed = 0;
    if (rc == VESTA_OK) {
        reload_tell_changes(c, set);
        changed = reload_put_changes(c, set, result, sizeof result);
    } else {
        snprintf(result, sizeof result, "%s", err.text);
    }
    pthread_mutex_lock(&c->lock);
    memcpy(c->status.reload_result, result, sizeof result);
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
        vs_log(VS_LOG_INFO,
               changed > 0 ? "reloaded: the new policies are in use" : "reloaded: no policy has changed since",
               "generation", VS_DIGITS(generation), "changed", VS_DIGITS(changed), NULL);
    else
        vs_log(VS_LOG_ERROR, "reload failed: the old policies stay in use", "generation", VS_DIGITS(generation),
               "error", err.text, NULL);
    if (c->opts.changed) c->opts.changed(c->opts.self);
    pthread_mutex_lock(&c->lock);
    c->status.reloads++;
    pthread_mutex_unlock(&c->lock);
}
