/* prove.c -- `layout prove`: whether ids of two layouts can ever be equal, and by what that is known. */
#include "cli/ids/prove.h"

#include "cli/ids/times.h"
#include "command/options.h"

#include <inttypes.h>

/* The first layout's ids were made at any time, the second's from an instant on. */
struct question {
    struct vesta_layout layout[2];
    int64_t from_ms, until_ms;
    bool has_until;
    struct vesta_proof proof;
    int64_t differ_until_ms; /* where they collide: before then they do not; from_ms: at once */
};

static void ask(struct question *q, int64_t until_ms, struct vesta_proof *proof) {
    const struct vesta_made a = {&q->layout[0], INT64_MIN, until_ms}, b = {&q->layout[1], q->from_ms, until_ms};
    vesta_layout_prove(&a, &b, proof);
}

/* More time is more ids: what collides by an instant does so by every later one. */
static void find_until(struct question *q) {
    int64_t ends[2] = {vesta_layout_end_ms(&q->layout[0]), vesta_layout_end_ms(&q->layout[1])};
    int64_t low = q->from_ms, high = ends[0] > ends[1] ? ends[0] : ends[1];
    struct vesta_proof proof;
    if (q->until_ms < high) high = q->until_ms;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        ask(q, middle + 1, &proof);
        if (proof.by == VESTA_COLLIDE)
            high = middle;
        else
            low = middle + 1;
    }
    q->differ_until_ms = low;
}

static int read_times(struct question *q, const struct vs_prove *asked) {
    int64_t now_ms = vs_now_ms();
    int rc = VS_GO;
    q->from_ms = now_ms;
    q->until_ms = INT64_MAX;
    q->has_until = asked->until != NULL;
    if (asked->from) rc = vs_time_operand(asked->from, now_ms, &q->from_ms);
    if (rc == VS_GO && asked->until) rc = vs_time_operand(asked->until, now_ms, &q->until_ms);
    if (rc == VS_GO && q->until_ms <= q->from_ms)
        return vs_usage("--until is not after %s", asked->from ? "--from" : "now, when the second layout's ids begin");
    return rc;
}

/* ------------------------------------------------------------------ telling */

static void print_made(const struct question *q, int i, const char *title) {
    struct vesta_parts parts;
    char iso[VESTA_ISO_MAX];
    const struct vesta_layout *l = &q->layout[i];
    vesta_explain(l, q->proof.id, &parts, NULL);
    vs_outf("  %s  made at %s:", title, vs_iso(parts.unix_ms, iso));
    for (int f = 0; f < l->field_count; f++)
        vs_outf(" %s=%" PRIu64, l->field[f].name, parts.values[f]);
    vs_outf("\n");
}

static void print_collision(const struct question *q) {
    char from[VESTA_ISO_MAX], until[VESTA_ISO_MAX];
    vs_outf("can be equal: %" PRIu64 " is an id of both\n", q->proof.id);
    print_made(q, 0, "the first ");
    print_made(q, 1, "the second");
    if (q->differ_until_ms > q->from_ms)
        vs_outf("not before %s: until then ids of the second, made from %s on, are others\n",
                vs_iso(q->differ_until_ms, until), vs_iso(q->from_ms, from));
    else
        vs_outf("no constant field has another value at the same bit; one more would prove it: version:1=1\n");
}

static void print_proof(const struct question *q) {
    char from[VESTA_ISO_MAX], until[VESTA_ISO_MAX];
    if (q->proof.by == VESTA_DISJOINT_TIMES) {
        vs_outf("never equal by their times: ids of the first, of any time, and of the second from %s on",
                vs_iso(q->from_ms, from));
        vs_outf("%s%s\n", q->has_until ? ", both until " : "", q->has_until ? vs_iso(q->until_ms, until) : "");
        return;
    }
    const struct vesta_field *f[2] = {&q->layout[0].field[q->proof.field[0]], &q->layout[1].field[q->proof.field[1]]};
    /* which of them has the 1 there: the one whose value, in its place, has it */
    unsigned first = (unsigned)(f[0]->value >> (q->proof.bit - f[0]->shift) & 1);
    vs_outf("never equal: bit %d is %u in ids of the first (%s=%" PRIu64 "), %u in the second (%s=%" PRIu64 ")\n",
            q->proof.bit, first, f[0]->name, f[0]->value, !first, f[1]->name, f[1]->value);
}

static void print_json(const struct question *q) {
    static const char *const by[] = {"collide", "bits", "times"};
    char iso[VESTA_ISO_MAX];
    vs_outf("{\"equal\":\"%s\",\"by\":\"%s\"", q->proof.by == VESTA_COLLIDE ? "possible" : "never", by[q->proof.by]);
    for (int i = 0; i < 2; i++) {
        char text[VESTA_LAYOUT_TEXT_MAX];
        vesta_layout_text(&q->layout[i], text);
        vs_outf(",\"%s\":{\"text\":\"%s\"", i ? "second" : "first", text);
        const struct vesta_field *f = &q->layout[i].field[q->proof.field[i]];
        if (q->proof.by == VESTA_DISJOINT_BITS) vs_outf(",\"field\":\"%s\",\"value\":%" PRIu64, f->name, f->value);
        vs_outf("}");
    }
    if (q->proof.by == VESTA_DISJOINT_BITS) vs_outf(",\"bit\":%d", q->proof.bit);
    vs_outf(",\"from\":\"%s\"", vs_iso(q->from_ms, iso));
    if (q->has_until) vs_outf(",\"until\":\"%s\"", vs_iso(q->until_ms, iso));
    if (q->proof.by == VESTA_COLLIDE)
        vs_outf(",\"id\":\"%" PRIu64 "\",\"not_before\":\"%s\"", q->proof.id, vs_iso(q->differ_until_ms, iso));
    vs_outf("}\n");
}

int vs_prove(const struct vs_prove *asked, int count, char **operands) {
    struct question q = {.from_ms = 0};
    int rc;
    if (count != 2)
        return vs_usage("prove needs two layouts, each in quotes where it has several words; there %s %d",
                        count == 1 ? "is" : "are", count);
    for (int i = 0; i < 2; i++)
        if ((rc = vs_read_layout(operands[i], &q.layout[i])) != VS_DONE) return rc;
    if ((rc = read_times(&q, asked)) != VS_GO) return rc;
    ask(&q, q.until_ms, &q.proof);
    if (q.proof.by == VESTA_COLLIDE) find_until(&q);
    if (asked->json)
        print_json(&q);
    else if (q.proof.by == VESTA_COLLIDE)
        print_collision(&q);
    else
        print_proof(&q);
    return q.proof.by == VESTA_COLLIDE ? VS_FAILED : VS_DONE;
}
