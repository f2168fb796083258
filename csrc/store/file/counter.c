/* counter.c -- counters in a folder: one file per tag, which contains the counter's row as text (lease/record.h).
 *
 *     <place>/~counters/tag-<tag>     a dot in the tag is written as ~, because folder.h uses dots after names
 *     <place>/~counters/share-<tag>   the store's share of the tag's numbers, as a row: step is the delta, max is the
 *                                     remainder
 *     <place>/~counters/form-<tag>    the fingerprint of the form of its numbers, as a row: max is the fingerprint
 *     <place>/~counters/lock          the turns of writers
 *
 * A write replaces exactly the text on which it is based (folder.h).  If another writer has changed the text first, the
 * write is tried again.  The first tag creates the folder. */
#include "store/counter.h"
#include "base/error.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/random.h"
#include "store/file/file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define PREFIX "tag-"
#define SHARE "share-"
#define FORM "form-"
#define OTHERS_US_MAX 2000000
#define OTHERS_NAP_US 2000
_Static_assert(sizeof SHARE >= sizeof PREFIX && sizeof SHARE >= sizeof FORM, "SHARE is the longest prefix");
_Static_assert(sizeof SHARE + VESTA_NAMESPACE_MAX <= VS_FOLDER_NAME_MAX, "a tag's file name fits");

struct file_counter_call {
    struct file_store *self;
    const char *tag;
    char name[VS_FOLDER_NAME_MAX];
    struct vs_reply *reply;
};

struct file_counter_text {
    char at[VS_RECORD_TEXT_MAX];
    size_t length; /* 0: the file does not exist */
};

static void change_letter(char *text, char from, char to) {
    for (; *text; text++)
        if (*text == from) *text = to;
}

static void file_counter_name_of(const char *prefix, const char *tag, char *name) {
    snprintf(name, VS_FOLDER_NAME_MAX, "%s%s", prefix, tag);
    change_letter(name, '.', '~');
}

/* Converts a file name to its tag.  Returns false if the file is not a tag's file. */
static bool tag_of(const char *name, char *tag) {
    size_t length = strlen(name);
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 || strchr(name, '.') || length >= VS_FOLDER_NAME_MAX)
        return false;
    memcpy(tag, name + sizeof PREFIX - 1, length - sizeof PREFIX + 2);
    change_letter(tag, '~', '.');
    return true;
}

/* Returns the tag's place (vs_folder_turn).  If two tags have the same place, their writers wait for each other, which
 * is harmless. */
static uint64_t file_counter_place_of(const char *name) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash >> 2;
}

static void file_counter_begin(struct file_counter_call *call, struct vs_store *store, const char *tag,
                               struct vs_reply *reply) {
    assert(store->backend == &vs_store_file);
    vs_reply_clear(reply);
    *call = (struct file_counter_call){.self = (struct file_store *)store, .tag = tag, .reply = reply};
    file_counter_name_of(PREFIX, tag, call->name);
    int64_t now_ms = store->clock->unix_us(store->clock->self) / 1000;
    reply->store_ms = now_ms > 0 ? now_ms : 0;
}

/* ------------------------------------------------------------------ the folder */

static bool has_folder(const struct file_counter_call *call) {
    return access(call->self->counters_dir, F_OK) == 0 || errno != ENOENT;
}

/* Creates the folder.  vs_folder_enter checks its owner, and vs_file_system_check that it is on this machine. */
static bool file_counter_make_folder(const struct file_counter_call *call) {
    struct vs_folder *folder = &call->self->counters;
    struct vesta_error err;
    if (vs_make_dirs(folder->path, folder->group) != 0)
        return vs_answer_fault(call->reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot create %.90s: %.40s",
                               folder->path, strerror(errno));
    if (!vs_folder_enter(folder, call->reply)) return false;
    int rc = vs_file_system_check(folder->fd, folder->path, "a store", &err);
    vs_folder_leave(folder);
    return rc == VESTA_OK || vs_answer(call->reply, VS_STORE_REFUSED, "%s", err.text);
}

/* ------------------------------------------------------------------ a row */

static bool load_text(const struct file_counter_call *call, struct file_counter_text *text) {
    ssize_t length = vs_folder_load(&call->self->counters, call->name, text->at, call->reply);
    text->length = length > 0 ? (size_t)length : 0;
    return length >= 0;
}

static bool read_text(const struct file_counter_call *call, const struct file_counter_text *text, struct vs_tag *row,
                      uint64_t *ver) {
    *ver = 0;
    return text->length == 0 ||
           vs_counter_read(call->tag, (struct vs_slice){text->at, text->length}, row, ver, call->reply);
}

/* Returns whether the file still has the text that was read.  Sets *other if it has a different text. */
static bool file_counter_is_still(const struct file_counter_call *call, const struct file_counter_text *was,
                                  bool *other) {
    struct file_counter_text now;
    if (!load_text(call, &now)) return false;
    *other = now.length != was->length || memcmp(now.at, was->at, now.length) != 0;
    return !*other;
}

/* Announces the change, compares the text, and replaces it.  Does this during a turn, or without a turn if the wait for
 * one was too long.  Sets *other if another writer was first. */
static bool file_counter_make(const struct file_counter_call *call, const struct file_counter_text *was, bool *other) {
    struct vs_folder *folder = &call->self->counters;
    bool made = vs_folder_turn(folder, file_counter_place_of(call->name), 1, true, call->reply) &&
                vs_folder_announce(folder, call->name, call->reply, other) && file_counter_is_still(call, was, other) &&
                vs_folder_make(folder, call->name, call->reply, other);
    assert(!made || !*other);
    if (!made) vs_folder_drop(folder);
    vs_folder_end_turn(folder);
    return made;
}

/* Tries the change once.  Returns true if another writer was first and nothing was changed. */
static bool file_counter_try_change(const struct file_counter_call *call, const struct vs_counter_change *change) {
    struct file_counter_text was, text;
    struct vs_tag row, next;
    uint64_t ver;
    bool other = false;
    if (!load_text(call, &was) || !read_text(call, &was, &row, &ver) ||
        !vs_counter_decide(change, call->tag, ver ? &row : NULL, &next, call->reply))
        return false;
    next.updated_ms = call->reply->store_ms;
    text.length = vs_counter_text(&next, ver + 1, text.at);
    if (!vs_folder_write(&call->self->counters, call->name, text.at, text.length, call->reply)) return false;
    if (file_counter_make(call, &was, &other) && vs_folder_settle(&call->self->counters, call->reply))
        vs_done(call->reply);
    assert(!other || call->reply->outcome != VS_STORE_OK); /* otherwise an acknowledged write would be repeated */
    return other;
}

static void try_until_done(const struct file_counter_call *call, const struct vs_counter_change *change) {
    const struct vesta_clock *clock = vs_clock_system();
    int64_t until_us = clock->boot_us(clock->self) + OTHERS_US_MAX;
    while (file_counter_try_change(call, change)) {
        vs_answer(call->reply, VS_STORE_CONFLICT, "other writers of %.90s/%s were faster for %d s: try again",
                  call->self->counters_dir, call->name, OTHERS_US_MAX / 1000000);
        if (clock->boot_us(clock->self) >= until_us) return;
        uint32_t dice = 0;
        (void)vs_random(&dice, sizeof dice);
        clock->sleep_us(clock->self, dice % OTHERS_NAP_US);
        call->reply->outcome = VS_STORE_DOWN;
    }
}

static void file_counter_change(struct vs_store *store, const struct vs_counter *counter,
                                const struct vs_counter_change *change, struct vs_reply *reply) {
    struct file_counter_call call;
    struct vs_tag none;
    vs_reply_clear(reply);
    if (!vs_counter_no_table(counter->table, reply) || !vs_counter_check(counter, reply)) return;
    file_counter_begin(&call, store, counter->tag, reply);
    if (!has_folder(&call) &&
        (!vs_counter_decide(change, call.tag, NULL, &none, reply) || !file_counter_make_folder(&call)))
        return;
    if (!vs_folder_enter(&call.self->counters, reply)) return;
    try_until_done(&call, change);
    vs_folder_leave(&call.self->counters);
}

/* ------------------------------------------------------------------ operations */

void vs_file_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply) {
    file_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAKE, .step = step}, reply);
}

void vs_file_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                    struct vs_reply *reply) {
    file_counter_change(store, counter, &(struct vs_counter_change){.what = VS_UNTAKE, .from = from, .until = until},
                        reply);
}

void vs_file_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                     struct vs_reply *reply) {
    file_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAG_ADD, .from = from, .step = step},
                        reply);
}

void vs_file_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply) {
    file_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAG_STEP, .step = step}, reply);
}

void vs_file_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply) {
    file_counter_change(store, counter, &(struct vs_counter_change){.what = VS_LIFT, .from = floor}, reply);
}

static bool load_row(const struct file_counter_call *call, struct vs_tag *row, uint64_t *ver) {
    struct file_counter_text text;
    return load_text(call, &text) && read_text(call, &text, row, ver);
}

/* Stores the share in the form of a row.  A stored share is never changed. */
static void keep_share(struct file_counter_call *call, const struct vs_share *share) {
    const struct vs_counter_change change = {.what = VS_TAG_ADD, .from = share->remainder, .step = share->delta};
    struct vs_tag row = {.step = 0};
    uint64_t ver = 0;
    file_counter_name_of(SHARE, call->tag, call->name);
    try_until_done(call, &change);
    if (call->reply->outcome != VS_STORE_OK && call->reply->outcome != VS_STORE_CONFLICT) return;
    vs_reply_clear(call->reply);
    if (!load_row(call, &row, &ver)) return;
    const struct vs_share stands = {.delta = ver ? (uint64_t)row.step : 0, .remainder = ver ? (uint64_t)row.max : 0};
    vs_share_answer(&stands, share, call->reply);
}

void vs_file_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                   struct vs_reply *reply) {
    struct file_counter_call call;
    struct vs_tag row;
    uint64_t ver = 0;
    vs_reply_clear(reply);
    if (!vs_counter_no_table(counter->table, reply) || !vs_counter_check(counter, reply)) return;
    file_counter_begin(&call, store, counter->tag, reply);
    if (!has_folder(&call)) {
        vs_counter_unknown(call.tag, reply);
        return;
    }
    if (!vs_folder_enter(&call.self->counters, reply)) return;
    bool well = load_row(&call, &row, &ver);
    if (well && ver)
        keep_share(&call, share);
    else if (well)
        vs_counter_unknown(call.tag, reply);
    vs_folder_leave(&call.self->counters);
}

/* Reads the stored fingerprint, or 0 if there is none. */
static bool load_form(const struct file_counter_call *call, uint64_t *fingerprint) {
    struct vs_tag row = {.max = 0};
    uint64_t ver = 0;
    bool is_read = load_row(call, &row, &ver);
    *fingerprint = is_read && ver ? (uint64_t)row.max : 0;
    return is_read;
}

void vs_file_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                  struct vs_reply *reply) {
    struct file_counter_call call;
    uint64_t stands;
    vs_reply_clear(reply);
    if (!vs_counter_no_table(counter->table, reply) || !vs_counter_check(counter, reply)) return;
    file_counter_begin(&call, store, counter->tag, reply);
    file_counter_name_of(FORM, call.tag, call.name);
    if (!has_folder(&call)) {
        vs_counter_unknown(call.tag, reply);
        return;
    }
    if (!vs_folder_enter(&call.self->counters, reply)) return;
    bool is_read = load_form(&call, &stands);
    if (is_read && stands == 0 && fingerprint) {
        try_until_done(&call, &(struct vs_counter_change){.what = VS_TAG_ADD, .from = fingerprint, .step = 1});
        bool is_there = reply->outcome == VS_STORE_OK || reply->outcome == VS_STORE_CONFLICT;
        if (is_there) vs_reply_clear(reply); /* this call or another writer has written the file, so read it */
        is_read = is_there && load_form(&call, &stands);
    }
    vs_folder_leave(&call.self->counters);
    if (is_read) vs_form_answer(call.tag, stands, fingerprint, reply);
}

/* Adds a file's tag to the list, even if the file's text cannot be used. */
static bool list_file(const struct file_counter_call *list_call, const char *name, struct vs_tag_list *list) {
    struct vs_reply seen = {.outcome = VS_STORE_DOWN};
    struct file_counter_call call = *list_call;
    char tag[VS_FOLDER_NAME_MAX];
    struct file_counter_text text;
    struct vs_tag row;
    uint64_t ver;
    if (!tag_of(name, tag)) return true;
    call.tag = tag;
    call.reply = &seen;
    snprintf(call.name, sizeof call.name, "%s", name);
    struct vs_slice shown = {tag, strlen(tag)};
    if (!vs_tag_is_named(tag)) return vs_tags_pass(list, shown), true;
    if (!load_text(&call, &text)) return vs_tags_add_unusable(list, shown, seen.text, list_call->reply);
    if (text.length == 0) return true; /* deleted since readdir */
    const char *why = vs_counter_parse(tag, (struct vs_slice){text.at, text.length}, &row, &ver);
    return why ? vs_tags_add_unusable(list, shown, why, list_call->reply)
               : vs_tags_add(list, shown, &row, list_call->reply);
}

void vs_file_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply) {
    struct file_counter_call call;
    struct dirent *entry = NULL;
    bool well = true;
    assert(list->count == 0); /* rows that are already in the list would appear as rows of this folder */
    vs_reply_clear(reply);
    if (!vs_counter_no_table(table, reply)) return;
    file_counter_begin(&call, store, "", reply);
    struct vs_folder *folder = &call.self->counters;
    if (!has_folder(&call)) {
        vs_done(reply);
        return;
    }
    if (!vs_folder_enter(folder, reply)) return;
    /* this turn excludes all writers, because a file that is replaced during the scan could appear twice or not at all
     */
    (void)vs_folder_turn(folder, 0, 0, false, reply);
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    while (dir && well && (errno = 0, entry = readdir(dir)))
        well = list_file(&call, entry->d_name, list);
    if (!dir || (well && errno != 0))
        vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot list %.90s: %.40s", folder->path,
                        strerror(errno));
    else if (well)
        vs_done(reply);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    vs_folder_leave(folder);
}
