/* preset.c -- the presets: vesta's own layouts and those of other generators. */
#include "base/array.h"
#include "base/nearest.h"
#include "base/slice.h"
#include "id/id.h"

#define VESTA "https://github.com/robertleepeak/vesta-id-generator"
#define BUTTERFLY "https://github.com/SimonAlong/Butterfly"
#define SONYFLAKE "https://github.com/sony/sonyflake"
#define YITTER "https://github.com/yitter/IdGenerator"
#define PGEDGE "https://github.com/pgEdge/snowflake"

#define APART "if other generators make such ids, keep their worker ids out of the leased range"
#define NODES APART ": set one for each of them, because by default they draw it or derive it from a MAC address"
#define OWN "only for a system without Discord's ids, because both can be equal"

/* Each row has a name, a layout, a description, the address of a longer description, whether ids may be issued, and a
 * caution or the reason why they may not.  `vesta layout` prints the presets in this order, and vesta_guess keeps this
 * order for candidates with equal probability. */
static const struct vesta_preset presets[] = {
    {"vesta-second", "version:1 type:1=0 method:2 time:30 seq:20 machine:10 unit=1s epoch=2014-12-31T16:00:00Z",
     "Vesta (Java)'s max-peak since April 2017: seconds, a million ids in each (the default)", VESTA, 1, APART},
    {"vesta-milli", "version:1 type:1=1 method:2 time:40 seq:10 machine:10 unit=1ms epoch=2014-12-31T16:00:00Z",
     "Vesta (Java)'s min-granularity since April 2017: milliseconds", VESTA, 1, APART},
    {"vesta-legacy-second", "version:1 type:1=0 method:2 machine:10 time:30 seq:20 unit=1s epoch=2014-12-31T16:00:00Z",
     "Vesta (Java)'s max-peak before April 2017, as in its published examples: the machine is above the time", VESTA, 1,
     APART},
    {"vesta-legacy-milli", "version:1 type:1=1 method:2 machine:10 time:40 seq:10 unit=1ms epoch=2014-12-31T16:00:00Z",
     "Vesta (Java)'s min-granularity before April 2017", VESTA, 1, APART},
    {"snowflake", "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z",
     "the common 41/10/12 split with Twitter's epoch (also bwmarrin's default)",
     "https://github.com/bwmarrin/snowflake", 1, APART},
    {"twitter", "sign:1=0 time:41 datacenter:5 worker:5 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z",
     "Twitter's snowflake of 2010: the ten bits are a datacenter and a worker",
     "https://github.com/twitter-archive/snowflake/tree/snowflake-2010", 1, APART},
    {"leaf", "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z seq_start=spread:100",
     "Leaf's snowflake mode: a new millisecond starts its sequence below 100",
     "https://github.com/Meituan-Dianping/Leaf", 1, APART},
    {"butterfly", "sign:1=0 time:41 seq:8 worker:13 seq:1 unit=1ms epoch=2020-02-21T16:00:00Z",
     "Butterfly since 1.0.2: the sequence's last bit is below the worker. For pacing=history", BUTTERFLY, 1, APART},
    {"butterfly-v1.0.1", "sign:1=0 time:41 seq:9 worker:13 unit=1ms epoch=2020-02-21T16:00:00Z",
     "Butterfly up to 1.0.1: the worker is lowest", BUTTERFLY, 1, APART},
    {"uid", "sign:1=0 time:28 worker:22 seq:13 unit=1s epoch=2016-05-19T16:00:00Z",
     "UidGenerator's default. Its time ended on 2024-11-20: override the epoch or the split",
     "https://github.com/baidu/uid-generator", 1, APART},
    {"sonyflake", "sign:1=0 time:39 seq:8 machine:16 unit=10ms epoch=2014-09-01T00:00:00Z", "sonyflake v1", SONYFLAKE,
     1, APART},
    {"sonyflake-v2", "sign:1=0 time:39 seq:8 machine:16 unit=10ms epoch=2025-01-01T00:00:00Z",
     "sonyflake v2's default. Its TimeUnit of 5 ms is sonyflake-v2 unit=5ms", SONYFLAKE, 1, APART},
    {"yitter", "sign:1=0 time:51 worker:6 seq:6 unit=1ms epoch=2020-02-19T18:20:02Z",
     "yitter IdGenerator's default of C, Go, Java and Rust: small ids, below 2^53 until 2089", YITTER, 1, APART},
    {"yitter-js", "sign:1=0 time:51 worker:6 seq:6 unit=1ms epoch=2020-01-01T00:00:00Z",
     "yitter IdGenerator's default of JavaScript", YITTER, 1, APART},
    {"yitter-net", "sign:1=0 time:51 worker:6 seq:6 unit=1ms epoch=2020-02-20T02:20:02.020Z",
     "yitter IdGenerator's default of C#", YITTER, 1, APART},
    {"discord", "time:42 worker:5 process:5 seq:12 unit=1ms epoch=2015-01-01T00:00:00Z seq_start=rotate:4096",
     "Discord's: 42 bits of time, so ids pass 2^63 in 2084. Its count never restarts",
     "https://discord.com/developers/docs/reference#snowflakes", 1, OWN},
    {"instagram", "time:41 shard:13 seq:10 unit=1ms epoch=2011-08-24T21:07:01.721Z",
     "Instagram's, made by PostgreSQL. Ids pass 2^63 in 2046",
     "https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c", 0,
     "its sequence belongs to a database and never restarts, so an id made here could equal one of it"},
    {"mastodon", "time:48 seq:16 unit=1ms epoch=1970-01-01T00:00:00Z",
     "Mastodon's: 48 bits of milliseconds, and a sequence that starts at a secret hash",
     "https://github.com/mastodon/mastodon/blob/main/lib/mastodon/snowflake.rb", 0,
     "its lowest 16 bits are a secret hash and a count, and no worker id separates two generators"},
    {"tsid", "time:42 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z seq_start=spread:4096",
     "TSID with its default of 1024 nodes (tsid-creator, hypersistence). Sequences start at random",
     "https://github.com/f4b6a3/tsid-creator", 1, NODES},
    {"seata", "sign:1=0 worker:10 time:41 seq:12 unit=1ms epoch=2020-05-02T16:00:00Z",
     "Seata's since 1.4: the worker is above the time. For pacing=history",
     "https://seata.apache.org/blog/seata-snowflake-explain/", 1, NODES},
    {"cosid", "sign:1=0 time:41 machine:10 seq:12 unit=1ms epoch=2019-12-24T16:00:00Z seq_start=rotate:2048",
     "CosId's millisecond snowflake. Its sequence counts on across milliseconds at low rates",
     "https://github.com/Ahoo-Wang/CosId", 1, APART},
    {"shardingsphere", "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2016-10-31T16:00:00Z seq_start=rotate:2",
     "ShardingSphere's. Sequences start at 0 and 1 in turn. Its epoch is midnight in the zone of its JVM, here UTC+8",
     "https://shardingsphere.apache.org/document/current/en/dev-manual/sharding/", 1, APART},
    {"pgedge", "sign:1=0 time:41 machine:10 seq:12 unit=1ms epoch=2023-01-01T00:00:00Z",
     "pgEdge's extension snowflake for PostgreSQL since 1.2. Its own sequences may repeat ids", PGEDGE, 1, APART},
    {"pgedge-v1.1", "sign:1=0 time:41 seq:12 machine:10 unit=1ms epoch=2023-01-01T00:00:00Z",
     "pgEdge's snowflake up to 1.1: the node is lowest", PGEDGE, 1, APART},
    {"tid", "sign:1=0 time:53 worker:10 unit=1us epoch=1970-01-01T00:00:00Z",
     "Bluesky's TID of the AT Protocol: microseconds, no sequence, a clock id", "https://atproto.com/specs/tid", 1,
     "its clock ids are random elsewhere and leased here, so only ids made here are unique among themselves"},
    {"cockroachdb", "sign:1=0 time:48 worker:15 unit=10us epoch=2015-01-01T00:00:00Z",
     "CockroachDB's unique_rowid(): 10 microseconds, no sequence, the instance",
     "https://www.cockroachlabs.com/docs/stable/serial", 0,
     "its worker id is the cluster's number of an instance, which a lease cannot reserve"},
    {"clickhouse", "sign:1=0 time:41 machine:10 seq:12 unit=1ms epoch=1970-01-01T00:00:00Z",
     "counts from 1970, like ClickHouse's generateSnowflakeID, flake-idgen, Python's snowflake-id and NewLife",
     "https://clickhouse.com/docs/sql-reference/functions/uuid-functions", 1, NODES},
    {"js53", "zero:11=0 time:32 worker:5 seq:16 unit=1s epoch=2025-01-01T00:00:00Z",
     "ids below 2^53: exact as numbers of JavaScript, JSON and Lua 5.1",
     "https://tc39.es/ecma262/#sec-number.max_safe_integer", 1, "it is vesta's own"},
};
_Static_assert(VS_COUNT(presets) <= VS_PRESETS_MAX, "a list of candidates holds all presets: raise VS_PRESETS_MAX");

const struct vesta_preset *vesta_preset_at(int i) {
    return i >= 0 && i < (int)VS_COUNT(presets) ? &presets[i] : NULL;
}

const struct vesta_preset *vs_preset_find(struct vs_slice name) {
    for (size_t i = 0; i < VS_COUNT(presets); i++)
        if (vs_slice_is(name, presets[i].name)) return &presets[i];
    return NULL;
}

/* Returns the longest preset name that a word contains, such as "uid" in "uid-generator", or NULL. */
static const char *preset_within(const char *word) {
    const char *longest = NULL;
    for (size_t i = 0; i < VS_COUNT(presets); i++)
        if (strstr(word, presets[i].name) && (!longest || strlen(presets[i].name) > strlen(longest)))
            longest = presets[i].name;
    return longest;
}

const char *vs_preset_meant(struct vs_slice word) {
    const char *names[VS_COUNT(presets) + 1] = {NULL};
    char small[64] = "";
    if (word.length >= sizeof small) return NULL;
    for (size_t i = 0; i < word.length; i++)
        small[i] = word.at[i] >= 'A' && word.at[i] <= 'Z' ? (char)(word.at[i] + 32)
                   : word.at[i] == '_'                    ? '-'
                                                          : word.at[i];
    for (size_t i = 0; i < VS_COUNT(presets); i++)
        names[i] = presets[i].name;
    const char *meant = vs_nearest(small, names);
    return meant ? meant : preset_within(small);
}

/* Returns the name of the first preset with the same ids, and with the same seq_start if `with_start`, or NULL. */
static const char *preset_same(const struct vesta_layout *layout, bool with_start) {
    struct vesta_layout preset;
    for (size_t i = 0; i < VS_COUNT(presets); i++)
        if (vesta_layout_parse(presets[i].name, &preset, NULL) == VESTA_OK && vs_layout_is_same(&preset, layout) &&
            (!with_start || (preset.spread == layout->spread && preset.start == layout->start)))
            return presets[i].name;
    return NULL;
}

const char *vs_layout_shown(const char *text) {
    struct vesta_layout layout;
    if (vesta_layout_parse(text, &layout, NULL) != VESTA_OK) return text;
    const char *name = preset_same(&layout, true);
    if (!name) name = preset_same(&layout, false); /* the file may be older than the preset's seq_start */
    return name ? name : text;
}

const struct vesta_preset *vs_preset_of(uint64_t fingerprint) {
    struct vesta_layout preset;
    for (size_t i = 0; i < VS_COUNT(presets); i++)
        if (vesta_layout_parse(presets[i].name, &preset, NULL) == VESTA_OK && preset.fingerprint == fingerprint)
            return &presets[i];
    return NULL;
}
