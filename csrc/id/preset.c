/* preset.c -- layouts with a name: vesta's own, and those of the generators it stands beside.  A table, no code. */
#include "base/array.h"
#include "base/slice.h"
#include "id/id.h"

/* The order is the order of `vesta layout` and breaks ties of vesta_guess. */
static const struct vesta_preset presets[] = {
    {"vesta-second", "version:1 type:1=0 method:2 time:30 seq:20 machine:10 unit=1s epoch=2014-12-31T16:00:00Z",
     "Vesta's max-peak since April 2017: seconds, a million ids in each; the default"},
    {"vesta-milli", "version:1 type:1=1 method:2 time:40 seq:10 machine:10 unit=1ms epoch=2014-12-31T16:00:00Z",
     "Vesta's min-granularity since April 2017: milliseconds"},
    {"vesta-legacy-second", "version:1 type:1=0 method:2 machine:10 time:30 seq:20 unit=1s epoch=2014-12-31T16:00:00Z",
     "Vesta's max-peak before April 2017, as in its published examples: the machine is above the time"},
    {"vesta-legacy-milli", "version:1 type:1=1 method:2 machine:10 time:40 seq:10 unit=1ms epoch=2014-12-31T16:00:00Z",
     "Vesta's min-granularity before April 2017"},
    {"snowflake", "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z",
     "the common 41/10/12 split with Twitter's epoch (also bwmarrin's default)"},
    {"twitter", "sign:1=0 time:41 datacenter:5 worker:5 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z",
     "Twitter's snowflake of 2010: the ten bits are a datacenter and a worker"},
    {"leaf", "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z seq_start=spread:100",
     "Leaf's snowflake mode: a new millisecond starts its sequence below 100"},
    {"butterfly", "sign:1=0 time:41 seq:8 worker:13 seq:1 unit=1ms epoch=2020-02-21T16:00:00Z",
     "Butterfly since 1.0.2: the sequence's last bit is below the worker; made for pacing=history"},
    {"butterfly-v1.0.1", "sign:1=0 time:41 seq:9 worker:13 unit=1ms epoch=2020-02-21T16:00:00Z",
     "Butterfly up to 1.0.1: the worker is lowest"},
    {"uid", "sign:1=0 time:28 worker:22 seq:13 unit=1s epoch=2016-05-19T16:00:00Z",
     "UidGenerator's default; its time ended on 2024-11-20, override the epoch or the split"},
    {"sonyflake", "sign:1=0 time:39 seq:8 machine:16 unit=10ms epoch=2014-09-01T00:00:00Z",
     "sonyflake v1; v2 is sonyflake epoch=2025-01-01T00:00:00Z"},
    {"yitter", "sign:1=0 time:51 worker:6 seq:6 unit=1ms epoch=2020-02-19T18:20:02Z",
     "yitter IdGenerator's default of C, Go, Java and Rust; small ids, below 2^53 until 2089"},
    {"js53", "zero:11=0 time:32 worker:5 seq:16 unit=1s epoch=2025-01-01T00:00:00Z",
     "ids below 2^53: exact as numbers of JavaScript, JSON and Lua 5.1"},
};

const struct vesta_preset *vesta_preset_at(int i) {
    return i >= 0 && i < (int)VS_COUNT(presets) ? &presets[i] : NULL;
}

const struct vesta_preset *vs_preset_find(struct vs_slice name) {
    for (size_t i = 0; i < VS_COUNT(presets); i++)
        if (vs_slice_is(name, presets[i].name)) return &presets[i];
    return NULL;
}
