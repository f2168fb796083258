/* reckon.c -- what a need comes to, by formulas that are printed with it.  Pure. */
#include "cli/plan/plan.h"
#include "id/id.h"

#include <math.h>
#include <stdio.h>

#define MS_PER_YEAR 31556952000.0
#define DAY_S 86400.0
#define STARTS_READS_WRITES 3 /* a listing, a claim and its first renewal */
#define TOGETHER_S 5.0        /* retries after an outage are spread over as long, or half as long again */

const char *const vs_plan_formulas[] = {
    "IDS/S EACH = 2^seq / unit",
    "USED = busiest / IDS/S EACH; busiest = peak / issuers, unless --busiest says more",
    "WAITS = E[max(0, N - 2^seq)] / E[N], N Poisson with mean busiest x unit: who finds the unit used up waits for the "
    "next one, less than a unit",
    "UNTIL = epoch + 2^time x unit",
    "fenced = issuers x restarts / 86,400 s x lease: Little's law, of issuers that end without giving back and come "
    "back "
    "as others; none where numbers are given by hand",
    "NUMBERS = issuers x (1 + surge) + fenced + 3 x sqrt(fenced)",
    "WRITES/S = issuers / renewal while they give ids, issuers / idle renewal while they rest",
    "STARTS/S = issuers x restarts / 86,400 s x 3: a listing, a claim, a renewal",
    "ALL AT ONCE = issuers x 2 / 5 s: after an outage each looks once and writes once, spread over 5 s",
    "OUTAGE = the shorter of window and deadline (autonomous: the deadline), less one idle renewal",
    NULL};

/* E[max(0, N - c)] of a Poisson N: summed where it is small, else by the normal distribution that it is near. */
static double excess(double mean, double c) {
    if (mean <= 0) return 0;
    if (mean > 700) {
        double sigma = sqrt(mean), z = (c - mean) / sigma;
        double density = exp(-z * z / 2) / sqrt(2 * M_PI), tail = erfc(z / sqrt(2)) / 2;
        return fmax(0, sigma * (density - z * tail));
    }
    double p = exp(-mean), short_of = 0; /* E[max(0, c - N)]: its sum is finite */
    for (double n = 0; n < c && n < mean + 60 * sqrt(mean) + 60; n++, p *= mean / n)
        short_of += (c - n) * p;
    return fmax(0, mean - c + short_of);
}

static void judge(const struct vs_need *need, uint64_t numbers, struct vs_fit *fit) {
    char a[VS_GROUPED_MAX], b[VS_GROUPED_MAX];
    if (fit->layout.read_only)
        snprintf(fit->verdict, sizeof fit->verdict, "only read");
    else if (fit->years <= 0)
        snprintf(fit->verdict, sizeof fit->verdict, "its time is over");
    else if (fit->used > 1)
        snprintf(fit->verdict, sizeof fit->verdict, "ids/s: %.1f x too slow", fit->used);
    else if (fit->numbers < numbers)
        snprintf(fit->verdict, sizeof fit->verdict, "numbers: %s of %s", vs_grouped(fit->numbers, a),
                 vs_grouped(numbers, b));
    else if (fit->years < need->years)
        snprintf(fit->verdict, sizeof fit->verdict, "years: %.1f of %g", fit->years, need->years);
    else {
        fit->fits = true;
        snprintf(fit->verdict, sizeof fit->verdict, "fits");
    }
}

int vs_plan_fit(const struct vs_need *need, uint64_t numbers, struct vs_fit *fit) {
    int rc = vesta_layout_parse(fit->text, &fit->layout, NULL);
    if (rc != VESTA_OK) return rc;
    const struct vesta_layout *l = &fit->layout;
    double room = (double)vs_seq(l)->max + 1;
    fit->capacity = (double)vs_per_second(l);
    fit->unit_s = room / fit->capacity;
    fit->used = need->busiest / fit->capacity;
    double mean = need->busiest * fit->unit_s;
    fit->late = mean > 0 ? fmin(1, excess(mean, room) / mean) : 0;
    if (fit->late < 1e-9) fit->late = 0; /* what rounding leaves */
    fit->numbers = l->worker >= 0 ? l->field[l->worker].max + 1 : 1;
    fit->years = (double)(vesta_layout_end_ms(l) - need->now_ms) / MS_PER_YEAR;
    judge(need, numbers, fit);
    return VESTA_OK;
}

void vs_plan_load(const struct vs_need *need, const struct vs_lease_timing *timing, struct vs_load *load) {
    struct vs_lease_timing t = vs_lease_timing_for(timing, need->is_given);
    double issuers = (double)need->issuers, starts = issuers * (double)need->restarts / DAY_S;
    *load = (struct vs_load){.timing = timing};
    load->fenced = need->is_given ? 0 : starts * (double)t.lease_ms / 1000;
    load->numbers =
        (uint64_t)ceil(issuers + issuers * (double)need->surge / 100 + load->fenced + 3 * sqrt(load->fenced));
    load->giving = issuers * 1000 / (double)t.renew_ms;
    load->idle = issuers * 1000 / (double)(t.idle_ms && !need->is_given ? t.idle_ms : t.renew_ms);
    load->restarts = starts * STARTS_READS_WRITES;
    load->together = issuers * 2 / TOGETHER_S;
    bool has_history = timing == vs_lease_preset_at(VS_LEASE_AUTONOMOUS); /* whose window lasts as long as it must */
    load->outage_ms = (has_history || t.deadline_ms < t.window_ms ? t.deadline_ms : t.window_ms) - t.idle_ms;
}
