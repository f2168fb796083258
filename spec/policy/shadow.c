/* shadow.c -- shadow policies: their verdicts are compared, logged and counted, and whatever they do, they do not
 * affect the policy in force or the fixed rules. */
#include "control.h"
#include "policy/control/shadow.h"

#define POLICY(on_clock_back) "return { api = 1, on_clock_back = function(ctx) " on_clock_back " end }"

static void shadow_by(const char *source) {
    snprintf(desk.shadow, sizeof desk.shadow, "%s/shadow.lua", desk.folder);
    FILE *file = fopen(desk.shadow, "w");
    if (!file || fputs(source, file) < 0 || fclose(file) != 0) abort();
    reload();
    AWAIT(vs_shadow_rests(desk.control));
}

static void begin(const char *source, const char *shadow) {
    set_desk(source);
    shadow_by(shadow);
}

static struct vs_shadow_counts counts_now(void) {
    return status_now().shadow;
}

static struct vs_shadow_seen seen_now(void) {
    struct vs_shadow_seen seen;
    desk.policies.shadow(desk.policies.self, 0, &seen);
    return seen;
}

static uint64_t heard(void) {
    struct vs_shadow_seen seen = seen_now();
    return seen.agreed + seen.differed + seen.failed;
}

#define BACK(counts, word) (counts).word[VS_ON_CLOCK_BACK]

/* ------------------------------------------------------------------ comparing */

static void differs_and_is_not_obeyed(void) {
    begin(POLICY("return 'refuse', 'mine'"), POLICY("log('seen ' .. ctx.back_ms) return 'borrow', 70, 'why not'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    AWAIT(heard() == 1 && vs_shadow_rests(desk.control));
    struct vs_shadow_counts counts = counts_now();
    struct vs_shadow_seen seen = seen_now();
    CHECK(counts.any);
    CHECK_EQ_U64(BACK(counts, differed)[VS_VERDICT_BORROW], 1);
    CHECK_EQ_U64(BACK(counts, agreed)[VS_VERDICT_BORROW], 0);
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK), 1); /* calls of a shadow policy are not counted here */
    CHECK_STR(seen.said, "borrow 70 ms");
    CHECK_STR(seen.done, "refuse");
    CHECK_STR(seen.why, "why not");
    CHECK_HAS(seen.policy, "/tmp/");
    CHECK_EQ_I64(seen.last_unix_ms, atomic_load(&desk.unix_us) / 1000);
    AWAIT(strstr(told(), "a shadow policy differs") != NULL);
    CHECK_HAS(told(), "said=\"borrow 70 ms\" done=refuse by=\"the policy in force\" reason=\"why not\"");
    CHECK_HAS(told(), "msg=\"a shadow policy says\"");
    CHECK_HAS(told(), "text=\"seen 3000\"");
    clear_desk();
}

static void agrees_where_it_says_the_same(void) {
    begin(POLICY("return 'refuse'"), POLICY("return 'refuse', 'too'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    AWAIT(heard() == 1 && vs_shadow_rests(desk.control));
    CHECK_EQ_U64(BACK(counts_now(), agreed)[VS_VERDICT_REFUSE], 1);
    AWAIT(strstr(told(), "a shadow policy agrees") != NULL);
    pass_ms(250);
    ask(0, &desk.back);
    AWAIT(heard() == 2 && vs_shadow_rests(desk.control));
    CHECK(strstr(strstr(told(), "a shadow policy agrees") + 1, "a shadow policy agrees") == NULL); /* logged once */
    clear_desk();
}

static void is_held_against_the_fixed_rules(void) {
    begin(NULL, POLICY("return 'wait'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    AWAIT(heard() == 1 && vs_shadow_rests(desk.control));
    CHECK_STR(seen_now().done, "refuse");
    CHECK_EQ_U64(BACK(counts_now(), differed)[VS_VERDICT_WAIT], 1);
    AWAIT(strstr(told(), "by=\"the fixed rules\"") != NULL);
    for (int i = 0; i < 1000; i++) /* as often as a policy would be asked, and no more */
        CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    CHECK_EQ_U64(heard(), 1);
    pass_ms(250);
    ask(0, &desk.back);
    AWAIT(heard() == 2 && vs_shadow_rests(desk.control));
    CHECK_EQ_I64(ask(0, &desk.full), VS_NO_VERDICT); /* it has no on_exhausted */
    CHECK_EQ_I64(ask(1, &desk.back), VS_NO_VERDICT);
    CHECK_EQ_U64(heard(), 2);
    clear_desk();
}

/* ------------------------------------------------------------------ doing harm, or trying to */

static void failures_are_its_own(void) {
    static const struct {
        const char *body;
        enum vs_call_result result;
    } rows[] = {{"error 'boo'", VS_CALL_ERROR},
                {"return 'go'", VS_CALL_GARBAGE},
                {"while true do end", VS_CALL_INSTRUCTIONS},
                {"while true do pcall(error) end", VS_CALL_INSTRUCTIONS},
                {"local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", VS_CALL_MEMORY}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char source[256];
        snprintf(source, sizeof source, POLICY("%s"), rows[i].body);
        begin(POLICY("return 'refuse'"), source);
        CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
        AWAIT(heard() == 1 && vs_shadow_rests(desk.control));
        CHECK_EQ_U64(BACK(counts_now(), failed)[rows[i].result], 1);
        CHECK_STR(seen_now().said, vs_call_result_name(rows[i].result));
        AWAIT(strstr(told(), "a shadow policy failed") != NULL);
        CHECK_STR(status_now().last_error, "");
        pass_ms(250);
        CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
        settle();
        AWAIT(counts_now().dropped == 1 || heard() == 2); /* it is not called for a second */
        clear_desk();
    }
}

/* No budget ends it here: neither the policy in force, nor a reload, nor closing waits for it. */
static void one_that_never_ends_is_waited_for_by_nobody(void) {
    set_desk_within(
        POLICY("return 'refuse'"),
        (struct vs_vm_limits){.clock = &desk.clock, .instructions = UINT64_MAX / 2, .memory_bytes = 2 << 20});
    shadow_by(POLICY("while true do pcall(error) end"));
    for (int i = 0; i < 10; i++) { /* less of the test's clock than a call may take */
        CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
        pass_ms(260);
    }
    CHECK(!status_now().stuck);
    CHECK(counts_now().dropped > 0);
    CHECK_EQ_U64(heard(), 0);
    uint64_t generation = status_now().generation;
    reload();
    CHECK_EQ_U64(status_now().generation, generation + 1);
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    clear_desk();
}

static void goes_with_a_reload(void) {
    begin(POLICY("return 'refuse'"), POLICY("return 'wait'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    AWAIT(heard() == 1 && vs_shadow_rests(desk.control));
    shadow_by(POLICY("return 'refuse', 'another'"));
    CHECK_EQ_U64(heard(), 0);
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    AWAIT(heard() == 1 && vs_shadow_rests(desk.control));
    CHECK_STR(seen_now().why, "another");
    desk.shadow[0] = 0;
    reload();
    CHECK(!counts_now().any);
    CHECK_STR(seen_now().policy, "");
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    CHECK_EQ_U64(heard(), 0);
    clear_desk();
}

/* The holder of their locks has the lowest priority, and may not run at all. */
static void a_loop_that_looks_waits_for_no_lock(void) {
    begin(POLICY("return 'refuse'"), POLICY("return 'refuse'"));
    ask(0, &desk.back);
    AWAIT(heard() == 1 && vs_shadow_rests(desk.control));
    settle();
    CHECK_EQ_U64(BACK(counts_now(), agreed)[VS_VERDICT_REFUSE], 1);
    pthread_mutex_lock(&desk.control->lock);
    pthread_mutex_lock(&desk.control->shadow_lock);
    CHECK_EQ_U64(status_now().generation, 2); /* the last known state */
    CHECK_EQ_U64(BACK(counts_now(), agreed)[VS_VERDICT_REFUSE], 1);
    CHECK_STR(seen_now().said, "refuse");
    pthread_mutex_unlock(&desk.control->shadow_lock);
    pthread_mutex_unlock(&desk.control->lock);
    clear_desk();
}

/* ------------------------------------------------------------------ a question, kept */

static void a_question_is_kept_whole(void) {
    char host[] = "host-1";
    struct vesta_record record[2] = {{.worker = 3, .holder = "host-1", .identity = "me", .held = true}, {.worker = 4}};
    struct vs_ctx_peer peer = {7, 8};
    const struct vs_ctx ctx[] = {vs_ctx_text("host", host),
                                 vs_ctx_text("ip", NULL),
                                 vs_ctx_integer("now_ms", 5),
                                 {.name = "records", .kind = VS_CTX_RECORDS, .records = record, .count = 2},
                                 {.name = "peers", .kind = VS_CTX_PEERS, .peers = &peer, .count = 1}};
    struct vs_question_copy kept;
    CHECK(vs_question_keep(&kept, &(struct vs_hook_input){VS_CHOOSE_WORKER, ctx, 5}));
    memset(host, 'x', sizeof host - 1);
    memset(record, 0, sizeof record);
    memset(&peer, 0, sizeof peer);
    CHECK_STR(kept.ctx[0].text, "host-1");
    CHECK(!kept.ctx[1].text);
    CHECK_EQ_I64(kept.ctx[2].integer, 5);
    CHECK_EQ_U64(kept.ctx[3].records[0].worker, 3);
    CHECK_STR(kept.ctx[3].records[0].holder, "host-1");
    CHECK_STR(kept.ctx[3].records[0].identity, "me");
    CHECK_EQ_U64(kept.ctx[3].records[1].worker, 4);
    CHECK_EQ_I64(kept.ctx[4].peers[0].seen_ms, 8);
    vs_question_free(&kept);
    vs_question_free(&kept);
}

static const struct check_case cases[] = {
    {"a shadow policy with another verdict is not obeyed; log, counts and status have both", differs_and_is_not_obeyed},
    {"a shadow policy with the same verdict agrees, and is logged once", agrees_where_it_says_the_same},
    {"a shadow policy without a policy in force is compared with the fixed rules", is_held_against_the_fixed_rules},
    {"a shadow policy that raises, loops, uses too much memory or returns garbage only harms itself",
     failures_are_its_own},
    {"nothing waits for a shadow policy whose call never ends", one_that_never_ends_is_waited_for_by_nobody},
    {"a reload replaces or removes the shadow policy", goes_with_a_reload},
    {"an event loop that reads the status waits for no lock of the policies", a_loop_that_looks_waits_for_no_lock},
    {"a question is copied with all data that it points to", a_question_is_kept_whole},
};

CHECK_MAIN(cases)
