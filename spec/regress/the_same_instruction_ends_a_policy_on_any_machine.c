/* A policy is ended by the number of its instructions, not by the time of its machine. By default a machine forty
 * times slower reaches the same verdict, and work in C counts as well. */
#include "judge.h"

#define SLOW_NS 400 /* ns per instruction on the slow machine, 10 on the original one */
#define LOOKED 100  /* the minimum of instructions between two reads of the clock */

static int64_t slow_us;

static int64_t tell_slow_time(void *self) {
    (void)self;
    return slow_us += LOOKED * SLOW_NS / 1000;
}

static int64_t tell_no_time(void *self) {
    (void)self;
    return 1;
}

static const struct vesta_clock slow = {.boot_us = tell_slow_time}, still = {.boot_us = tell_no_time};

static void ends(const struct vesta_clock *clock, const char *body, enum vs_call_result want, const char *part) {
    char text[512];
    struct vs_verdict verdict;
    struct vesta_error err = {.text = ""};
    struct shelf *vm = open_vm(&(struct vs_vm_limits){.clock = clock});
    NEED(vm != NULL);
    snprintf(text, sizeof text, "return { api = 1, on_start = function()\n%s\nend }", body);
    int policy = must_load(vm, text);
    enum vs_call_result result = call(vm, policy, VS_ON_START, &verdict, &err);
    if (result != want) CHECK_FAIL("%s: %s, %s", body, vs_call_result_name(result), err.text);
    CHECK_HAS(err.text, part);
    close_vm(vm);
}

static void a_loop_on_a_slow_machine_meets_the_count(void) {
    ends(&slow, "while true do end", VS_CALL_INSTRUCTIONS, "p.lua:2: ended after 10000000 instructions");
    ends(&slow, "while true do pcall(function() while true do end end) end", VS_CALL_INSTRUCTIONS, "p.lua:2: ");
}

/* Each would run for minutes or hours if only the calls counted. */
static void work_in_c_is_counted(void) {
    static const char *const bodies[] = {
        "while true do pcall(string.rep, 'x', 1000000) end",
        "local s = ('x'):rep(1000000) while true do s:upper() end",
        "local s = ('x'):rep(1000000) while true do s:find('y', 1, true) end",
        "local s = ('x'):rep(1000000) while true do hash32(s) end",
        "local s = ('1'):rep(1000000) while true do tonumber(s) end",
        "local t = {} for i = 1, 40000 do t[i] = i end while true do table.remove(t, 1) table.insert(t, 1, 1) end",
        "local t = {} for i = 1, 40000 do t[i] = '' end while true do table.concat(t) end",
    };
    for (size_t i = 0; i < VS_COUNT(bodies); i++)
        ends(&still, bodies[i], VS_CALL_INSTRUCTIONS, "ended after 10000000 instructions");
}

static void what_eats_memory_is_ended_for_that(void) {
    ends(&slow, "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", VS_CALL_MEMORY, "memory");
    ends(&slow, "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end", VS_CALL_MEMORY, "memory");
}

/* An inefficient policy that reads all 16,384 records of a large namespace stays far below the limits. */
static void who_works_is_not_ended(void) {
    ends(&slow,
         "local t = {} for i = 1, 16384 do t[i] = { worker = i, holder = 'h' .. i } end\n"
         "for _ = 1, 3 do for _, r in ipairs(t) do if r.holder == 'x' then return 'refuse' end end end\n"
         "table.sort(t, function(a, b) return a.worker > b.worker end) return 'go'",
         VS_CALL_OK, "");
}

static const struct check_case cases[] = {
    {"a loop on a machine forty times slower is ended by the count", a_loop_on_a_slow_machine_meets_the_count},
    {"work in C is counted as instructions", work_in_c_is_counted},
    {"a policy that takes too much memory is ended for that reason, also on a slow "
     "machine", what_eats_memory_is_ended_for_that},
    {"a policy that reads thousands of records is not ended", who_works_is_not_ended},
};
CHECK_MAIN(cases)
