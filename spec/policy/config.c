/* config.c -- sources of a config and their order, the comparison of two configs, and failing allocations.
 * spec/program/cli/check.py tests errors in files, and spec/lua/config_spec.lua the rows. */
#include "check.h"
#include "base/array.h"
#include "config/config.h"
#include "scarce.h"

#include <stdlib.h>
#include <unistd.h>

/* ------------------------------------------------------------------ reading */

static struct vs_config *must_read(const struct vs_conf_opts *opts) {
    struct vs_config *config = NULL;
    struct vesta_error err = {.text = ""};
    if (vs_config_read(opts, &config, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return config;
}

/* Returns the config of this text, and leaves no file. */
static int read_text(const char *text, struct vs_config **config, struct vesta_error *err) {
    char path[] = "/tmp/vesta-config-XXXXXX";
    int fd = mkstemp(path);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    if (!written) CHECK_FAIL("cannot write %s", path);
    int rc = vs_config_read(&(struct vs_conf_opts){.path = path}, config, err);
    unlink(path);
    return rc;
}

static struct vs_config *must_read_text(const char *text) {
    struct vs_config *config = NULL;
    struct vesta_error err = {.text = ""};
    if (read_text(text, &config, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return config;
}

static void nothing_said_is_the_defaults(void) {
    struct vs_config *config = must_read(&(struct vs_conf_opts){0});
    NEED(config);
    CHECK_EQ_I64(config->ns_count, 1);
    const struct vs_conf_namespace *ns = &config->ns[0];
    CHECK_STR(ns->name, "default");
    CHECK(!ns->store && !ns->policy.name);
    CHECK_EQ_I64(memcmp(&ns->opts, &(struct vesta_opts){0}, sizeof ns->opts), 0); /* the defaults of vesta_open */
    CHECK_EQ_I64(ns->wait_ms_max, -1);
    CHECK_EQ_I64(config->threads, 1);
    CHECK_EQ_I64(config->log_level, VS_LOG_INFO);
    CHECK_EQ_I64(config->log_format, 0);
    CHECK_EQ_I64(config->leaf_any_key, 0);
    CHECK_STR(config->http.text[0], "127.0.0.1:8088");
    CHECK_EQ_I64(config->http.count + config->resp.count, 2);
    CHECK_EQ_I64(config->admin.count, 0);
    CHECK(!config->resp_password && !config->admin_token && !config->user && !config->log_file && !config->name);
    vs_config_free(config);
    vs_config_free(NULL);
}

static void flags_have_the_last_word(void) {
    static const struct vs_conf_flag flags[] = {
        {"--threads", "threads", "7"}, {"--http", "http.listen", "off"}, {"--policy", "namespaces.*.policy", "borrow"}};
    struct vesta_opts ns = {.size = sizeof ns, .namespace_ = "orders", .has_worker = 1, .worker = 3};
    struct vs_conf_opts opts = {.opts = &ns, .flag = flags, .flag_count = VS_COUNT(flags)};
    setenv("VESTA_THREADS", "5", 1);
    struct vs_config *config = must_read(&opts);
    unsetenv("VESTA_THREADS");
    NEED(config);
    CHECK_EQ_I64(config->threads, 7);
    CHECK_EQ_I64(config->http.count, 0);
    CHECK_STR(config->ns[0].name, "orders");
    CHECK_EQ_I64((int64_t)config->ns[0].opts.worker, 3);
    CHECK_STR(config->ns[0].policy.name, "borrow");
    vs_config_free(config);
    config = NULL;
    struct vesta_error err = {.text = ""};
    ns.namespace_ = "a b";
    CHECK_EQ_I64(vs_config_read(&opts, &config, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, "'a b' is not a namespace");
    CHECK(!config); /* set on success only */
}

/* A policy that declares no options accepts all. */
static void options_of_a_policy_are_text(void) {
    static const char source[] = "return { api = 1 }";
    char path[] = "/tmp/vesta-policy-XXXXXX.lua", text[256];
    int fd = mkstemps(path, sizeof ".lua" - 1);
    NEED(fd >= 0 && write(fd, source, sizeof source - 1) == sizeof source - 1 && close(fd) == 0);
    snprintf(text, sizeof text,
             "return { namespaces = { a = { policy = { '%s', b = 2, a = 1.5, c = { 'x\\n\"', true, k = -1 },"
             " d = 1 << 63, e = 1e300 } } } }",
             path);
    struct vs_config *config = must_read_text(text);
    unlink(path);
    NEED(config);
    CHECK_STR(config->ns[0].policy.name, path);
    CHECK_STR(config->ns[0].policy.options,
              "{[\"a\"]=1.50000000000000000e+00,[\"b\"]=2,[\"c\"]={\"x\\010\\034\",true,[\"k\"]=-1,},"
              "[\"d\"]=0x8000000000000000,[\"e\"]=1.00000000000000005e+300,}");
    vs_config_free(config);
}

static void count_value(void *self, const struct vs_conf_value *value) {
    int *count = self;
    CHECK(value->text || value->absent);
    CHECK(value->origin <= VS_FROM_FLAG);
    ++*count;
}

static void each_value_is_visited(void) {
    struct vs_config *config = must_read(&(struct vs_conf_opts){0});
    NEED(config);
    int count = 0;
    CHECK_EQ_I64(vs_config_each(config, count_value, &count), VESTA_OK);
    CHECK(count > 50);
    vs_config_free(config);
}

/* ------------------------------------------------------------------ two configs */

static void differ(const char *a, const char *b, int count, const char *names) {
    struct vs_config *old = must_read_text(a), *new_ = must_read_text(b);
    char buf[256];
    if (!old || !new_) return;
    CHECK_EQ_I64(vs_config_differences(old, new_, buf, sizeof buf), count);
    CHECK_STR(buf, names);
    CHECK_EQ_I64(vs_config_differences(new_, new_, buf, sizeof buf), 0);
    CHECK_STR(buf, "");
    vs_config_free(old);
    vs_config_free(new_);
}

static void differences_are_named(void) {
    differ("return {}", "return { namespaces = { default = {} }, threads = 1 }", 0, "");
    differ("return {}", "return { threads = 2, log = { level = 'warn' } }", 2, "threads, log.level");
    differ("return { threads = 2 }", "return {}", 1, "threads");
    differ("return { resp = { password = 'a' } }", "return { resp = { password = 'b' } }", 1, "resp.password");
    differ("return { http = { listen = { 'unix:/a' } } }", "return { http = { listen = { 'unix:/a', 'unix:/b' } } }", 1,
           "http.listen");
    differ("return { namespaces = { a = {}, b = {} } }", "return { namespaces = { b = { worker = 1 }, c = {} } }", 3,
           "namespaces.a, namespaces.c, namespaces.b.worker");
    differ("return { namespaces = { a = { policy = 'wait' } } }",
           "return { namespaces = { a = { policy = { 'borrow', borrow_ms_max = 5 } } } }", 0, "");
}

static void names_are_cut_where_they_do_not_fit(void) {
    struct vs_config *old = must_read_text("return {}");
    struct vs_config *new_ = must_read_text("return { threads = 2, log = { level = 'warn', format = 'json' } }");
    if (!old || !new_) return;
    char whole[] = "threads, log.level, log.format";
    for (size_t size = 0; size <= sizeof whole; size++) {
        char *buf = malloc(size + 1); /* of that size for the sanitizer, plus one because malloc(0) may be NULL */
        NEED(buf);
        memset(buf, 'x', size + 1);
        CHECK_EQ_I64(vs_config_differences(old, new_, buf, size), 3);
        CHECK(buf[size] == 'x');
        if (size == sizeof whole) CHECK_STR(buf, whole);
        if (size > 4 && size < sizeof whole) CHECK(strcmp(buf + strlen(buf) - 3, "...") == 0);
        free(buf);
    }
    vs_config_free(old);
    vs_config_free(new_);
}

/* ------------------------------------------------------------------ memory */

#define STRIDE 15
#define WELL_MAX 20
_Static_assert(STRIDE <= WELL_MAX, "after a step back, single steps reach the error");

/* Lua makes thousands of allocations. If one fails, Lua collects garbage and tries again, so most failures are no errors.
 * Each of the other ones fails once: an error in a stride leads to a step back, and then to single steps. */
static void allocations_fail(void) {
    static const char text[] = "return { namespaces = { a = { worker = 1, fields = { version = 1 },"
                               " policy = { 'borrow', borrow_ms_max = 5 } } }, http = { listen = { 'unix:/a' } } }";
    int n = 1, step = 1, well = 0, errors = 0;
    bool failed;
    do {
        struct vs_config *config = NULL;
        struct vesta_error err = {.text = ""};
        atomic_store(&fails_at, n);
        int rc = read_text(text, &config, &err);
        failed = atomic_exchange(&fails_at, 0) == 0;
        if (rc == VESTA_OK) {
            NEED(config);
            CHECK_EQ_I64((int64_t)config->ns[0].opts.worker, 1);
        } else {
            CHECK_EQ_I64(rc, VESTA_ENOMEM);
            CHECK_HAS(err.text, "no memory");
            CHECK(!config);
        }
        vs_config_free(config);
        if (rc != VESTA_OK && step > 1) {
            n -= step - 1;
            step = 1;
            continue;
        }
        errors += rc != VESTA_OK;
        well = rc == VESTA_OK ? well + 1 : 0;
        step = well < WELL_MAX ? 1 : STRIDE;
        n += step;
    } while (failed && n < 100000);
    CHECK(n > 5000 && n < 100000);
    CHECK(errors > 100);
}

static const struct check_case cases[] = {
    {"without settings, the defaults hold", nothing_said_is_the_defaults},
    {"flags override the environment, and set the one namespace", flags_have_the_last_word},
    {"a policy's options become Lua text, which is equal for equal options", options_of_a_policy_are_text},
    {"each value is visited once", each_value_is_visited},
    {"changes that need a restart are named", differences_are_named},
    {"names that do not fit are cut", names_are_cut_where_they_do_not_fit},
    {"if an allocation fails, the error is no memory, and nothing leaks", allocations_fail},
};
CHECK_MAIN(cases)
