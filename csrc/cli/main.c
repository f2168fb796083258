/* main.c -- the program: one table of commands, and what is done around each of them. */
#include "cli/cli.h"
#include "command/command.h"

#include "base/nearest.h"
#include "mapping/mapping.h"
#include "serve/serving.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct vs_command commands[] = {
    {"gen", vs_cmd_gen, "print new ids", "gen [-n N] [OPTION...]",
     "Prints new ids, one per line.  They never repeat, no matter who else makes ids in the same\n"
     "namespace.  The first call on a machine draws a worker number and keeps it; later calls and other\n"
     "programs share its generator file.  Waits while the clock is behind or the second is used up, and\n"
     "says why when that takes longer than two seconds.\n"
     "\n"
     "  $ vesta gen\n"
     "  vesta gen: drew the worker number 417 at random; it is kept in file:/var/lib/vesta\n"
     "  403041233137828257\n"
     "\n"
     "  $ vesta gen -n 2 --namespace orders --layout snowflake --worker 7\n"
     "  2183926093211201536\n"
     "  2183926093211201537\n"},
    {"explain", vs_cmd_explain, "take ids apart: fields, time, worker", "explain [OPTION...] [ID...]",
     "Shows what the bits of an id mean.  Ids are operands, or lines of stdin.  An id carries no mark of\n"
     "its layout: another --layout reads other fields out of it, and `vesta guess` says which are likely.\n"
     "\n"
     "  $ vesta explain 2319542600899494910\n"
     "  2319542600899494910  read as vesta-second\n"
     "\n"
     "    0 0 10 000000110000101010111011010011 00000000000000000000 1111111110\n"
     "    │ │ │  │                              │                    └─ machine 1022  the worker\n"
     "    │ │ │  │                              └─ seq 0\n"
     "    │ │ │  └─ time 12758739  2015-05-28T08:05:39Z, 11 years ago\n"
     "    │ │ └─ method 2\n"
     "    │ └─ type 0\n"
     "    └─ version 0\n"
     "\n"
     "    hex 2030abb4c00003fe   base32 20C5BPK0000ZY   base62 2lLWqFGstB8\n"
     "\n"
     "  $ vesta explain --json --layout vesta-legacy-second 1138729511026688\n"
     "  {\"id\":\"1138729511026688\",\"version\":0, ... \"worker\":1,\"unix_ms\":1432276864000,\n"
     "  \"iso\":\"2015-05-22T06:41:04Z\"}\n"},
    {"make", vs_cmd_make, "make one id by hand from its fields", "make [OPTION...] FIELD=VALUE...",
     "Joins fields into an id, the exact inverse of explain.  The time, the sequence and the worker are\n"
     "required; other fields are 0 or their constant.  Nothing keeps others from making the same id: for\n"
     "new ids use `vesta gen`.  time= is a number, or a date.\n"
     "\n"
     "  $ vesta make time=12758739 seq=0 machine=1022 method=2\n"
     "  2319542600899494910\n"
     "\n"
     "  $ vesta make --layout snowflake time=2026-01-01T00:00:00Z seq=0 worker=7\n"
     "  2006515713438674944\n"},
    {"range", vs_cmd_range, "the smallest and largest ids of a time", "range [OPTION...] T0 [T1] [FIELD=VALUE...]",
     "The ids that can be made from T0 until just before T1, for a WHERE id BETWEEN; without T1, those of\n"
     "the one time unit of T0.  Times are RFC 3339 or Unix milliseconds.  There is one pair for each\n"
     "combination of the fields above the time, unless you name their values.\n"
     "\n"
     "  $ vesta range --layout snowflake 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z\n"
     "  2006515713438646272 2006878101304246271\n"
     "\n"
     "  $ vesta range 2026-01-01T00:00:00Z version=0 method=0\n"
     "  372785981423616000 372785982497357823  version=0  method=0\n"},
    {"guess", vs_cmd_guess, "which known layouts could have made an id", "guess [OPTION...] [ID...]",
     "Reads an id under every preset and lists those it fits, likeliest first, with the time and the\n"
     "fields each would mean.  It is a guess: an id carries no mark of its layout.\n"
     "\n"
     "  $ vesta guess 1138729511026688\n"
     "  1138729511026688  could be, likeliest first:\n"
     "    vesta-legacy-second  2015-05-22T06:41:04Z, 11 years ago       version=0 method=0 machine=1 seq=0\n"
     "    sonyflake            2014-09-08T20:32:15.680Z, 12 years ago   seq=0 machine=0\n"
     "    ...\n"
     "\n"
     "  $ vesta guess 1138729511026688 --json\n"
     "  {\"id\":\"1138729511026688\",\"guesses\":[{\"layout\":\"vesta-legacy-second\",\"worker\":1,...\n"},
    {"fit", vs_cmd_fit, "propose a layout that meets given needs", "fit --rate N/s --nodes N --years N [OPTION...]",
     "Splits 63 bits so that each node can give that many ids per second, that many nodes can run at the\n"
     "same time, and the time field lasts that long; shows how much is left to spare.\n"
     "\n"
     "  $ vesta fit --rate 50000/s --nodes 4000 --years 30 --epoch 2026-01-01T00:00:00Z\n"
     "  sign:1=0 time:40 seq:11 worker:12 unit=1ms epoch=2026-01-01T00:00:00Z\n"
     "  ...\n"
     "\n"
     "  $ vesta fit --rate 2000/day --nodes 3 --years 100 --json\n"
     "  {\"text\":\"sign:1=0 time:42 seq:19 worker:2 unit=1ms ...\n"},
    {"layout", vs_cmd_layout, "the presets, or what a layout means and how long it lasts",
     "layout [OPTION...] [TEXT|PRESET]",
     "Without a layout: the presets, one per line.  With one: its canonical text, a picture of the bits, how\n"
     "many ids it has room for, when its time ends, and the fingerprint that generator files are checked\n"
     "against.  A preset may be followed by overrides.\n"
     "\n"
     "  $ vesta layout\n"
     "  PRESET               ENDS               ABOUT\n"
     "  vesta-second         2049-01-09         Vesta's max-peak since April 2017: ...\n"
     "  ...\n"
     "\n"
     "  $ vesta layout uid epoch=2026-01-01T00:00:00Z\n"
     "  sign:1=0 time:28 worker:22 seq:13 unit=1s epoch=2026-01-01T00:00:00Z\n"
     "  ...\n"},
    {"serve", vs_cmd_serve, "serve ids over HTTP and the Redis protocol", "serve [OPTION...]",
     "Gives ids to its clients: over HTTP with Vesta's routes and /v1, and over the Redis protocol, so that any\n"
     "Redis client can be used.  Serves only this machine unless told otherwise.  Stops on TERM or Ctrl-C after\n"
     "answering requests in flight, or at once on a second one.  Logs what happens, one event per line;\n"
     "USR1 reopens the log file, USR2 logs the state of each namespace.\n"
     "\n"
     "  $ vesta serve &\n"
     "  $ curl -s http://127.0.0.1:8088/genid\n"
     "  2319542600899494910\n"
     "\n"
     "  $ vesta serve --http 0.0.0.0:8088 --resp unix:/run/vesta/resp.sock --worker 7 &\n"
     "  $ redis-cli -s /run/vesta/resp.sock GET default\n"
     "  \"1166621096292647943\"\n"
     "\n"
     "  $ vesta serve --store zk://user:password@zk1:2181,zk2:2181/vesta --namespace orders --layout snowflake &\n"
     "  (prepared once by `vesta store init`, as are mysql: stores)\n"
     "\n"
     "  $ vesta serve -c /etc/vesta/vesta.lua --threads 2\n"},
    {"check", vs_cmd_check, "read a config and say what is wrong with it", "check [OPTION...] FILE",
     "Reads a config file as `vesta serve -c` does and shows the result, or what is wrong: the file, the\n"
     "line, the key, what was expected.  A config is a Lua file that returns a table.  Nothing is opened or\n"
     "claimed.  Exit code 1 if it cannot be used.\n"
     "\n"
     "  $ vesta check /etc/vesta/vesta.lua\n"
     "  /etc/vesta/vesta.lua: ok\n"
     "    namespaces      orders: vesta-milli, worker 7\n"
     "  ...\n"
     "\n"
     "  $ vesta check /etc/vesta/vesta.lua\n"
     "  vesta check: /etc/vesta/vesta.lua:4: namespaces.orders.wait_ms is no key; did you mean wait_ms_max?\n"},
    {"doctor", vs_cmd_doctor, "look at what a server needs on this machine, and say what to do", "doctor [OPTION...]",
     "Looks at the clock, limits, addresses, the state folder, generator files, layouts, stores of leases,\n"
     "and with -c at the config and its policies.  One line each: ok, warn, or fail with what to do.  Changes\n"
     "nothing, claims nothing.  Exit code 1 if something fails.\n"
     "\n"
     "  $ vesta doctor -c /etc/vesta/vesta.lua\n"
     "  ok    clock           2026-11-21T19:32:16Z, synchronized to a time source, off by 3 ms at most\n"
     "  ...\n"
     "  fail  state           /var/lib/vesta belongs to user 0, has mode 755 and is not writable for vesta: change "
     "...\n"
     "\n"
     "  $ vesta doctor --json\n"
     "  {\"state\":\"ok\",\"what\":\"clock\",\"says\":\"2026-11-21T19:32:16Z, synchronized ...\n"},
    {"store", vs_cmd_store, "create, inspect and repair the stores of worker numbers",
     "store init|show|advance|lower [OPTION...]",
     "A shared store is prepared once, by an operator; a server never does it silently.\n"
     "\n"
     "  init     creates what the store needs (tables, a root node), and with --namespace the record of that\n"
     "           namespace, with the --static numbers that are given out by hand; what exists stays as it is;\n"
     "           a namespace that this store had and lost is created --again: no lease starts before the\n"
     "           store's clock plus a margin, so that ids which somebody may still hold are not repeated\n"
     "  show     the namespace's record, and how many numbers are held, expired and free; without --namespace,\n"
     "           those of every namespace in the store\n"
     "  advance  continues with a store that lost what it had acknowledged: every holder must claim again, and\n"
     "           no lease starts before the store's clock plus a margin; asks first, or needs --yes\n"
     "  lower    lowers a floor that was set by a clock that was ahead; asks first, or needs --yes\n"
     "\n"
     "  $ vesta store init --store sqlite:/var/lib/vesta/vesta.db --namespace orders --layout snowflake\n"
     "  store is ready: the database and its tables are there; whoever leases must be able to ...\n"
     "  namespace orders was created: sign:1=0 time:41 worker:10 seq:12 unit=1ms ...\n"
     "\n"
     "  $ vesta store show --store zk://user:password@zk1:2181,zk2:2181/vesta --namespace orders\n"
     "  namespace    orders\n"
     "  ...\n"
     "  numbers      3 held, 0 expired, 1 free, 1,020 never used\n"},
    {"workers", vs_cmd_workers, "who holds which worker number",
     "workers [OPTION...]\n       vesta workers import --from KIND --source URI [OPTION...]",
     "Lists the numbers of a namespace that were ever used: held by whom and for how much longer, expired or\n"
     "free; how far the holder's clock was from the store's when it last wrote; and the time before which\n"
     "all ids granted to it lie.  Changes nothing.\n"
     "\n"
     "import reads which numbers another generator has given out (Butterfly's table or nodes, Leaf's nodes,\n"
     "UidGenerator's or Vesta's table) and marks them as held, or as used up to now, so that none is leased\n"
     "twice.  Without --yes it only shows what it would write.  `vesta help workers import` has its options.\n"
     "\n"
     "  $ vesta workers --store mysql://vesta@db/vesta?secret_file=/etc/vesta/db --namespace orders\n"
     "  NUMBER  STATE        LEFT       CLOCK  USED BELOW                HOLDER, IDENTITY\n"
     "     417  held        11:58    -0.002 s  2026-11-21T20:10:00.123Z  web1 pid 812  web1:/var/lib/...\n"
     "  orders: 1 held, 0 expired, 0 free, 1,023 never used; at 2026-11-21T20:00:02.125Z by the store's clock\n"
     "\n"
     "  $ vesta workers import --from leaf --source zk://zk1:2181/snowflake --name orders \\\n"
     "    --store zk://user:password@zk1:2181/vesta --namespace orders --yes\n"
     "       3  mark   held until the layout's end          10.0.0.4:8080-0000000003\n"
     "  ...\n"
     "\n"
     "  $ vesta workers --store file:/var/lib/vesta --watch --json\n"
     "  {\"namespace\":\"default\",\"store_ms\":1795300000000,...\n"},
    {"policy", vs_cmd_policy, "try out the Lua policies that judge pauses", "policy check|run|test [OPTION...] ...",
     "A policy is a Lua file with functions that say what to do when the clock goes back, when ids run out,\n"
     "and the like: docs/policies.md.  Each of these runs it as a server would, with the same limits on what it may "
     "use, how long it\n"
     "may take and what it may answer.\n"
     "\n"
     "  check FILE|NAME...                    whether it loads, and which functions it has\n"
     "  run FUNCTION FILE|NAME [NAME=VALUE...] what a function answers when given these values\n"
     "  test FILE|FOLDER...                   specs (describe, it, assert), which require \"vesta.testing\"\n"
     "\n"
     "  $ vesta policy check borrow ./mine.lua\n"
     "  borrow: on_clock_back, on_exhausted\n"
     "  ./mine.lua: on_clock_back\n"
     "\n"
     "  $ vesta policy run on_clock_back wait back_ms=3000 --options '{ wait_ms_max = 1000 }'\n"
     "  refuse: the clock is back by 3000 ms, and nobody waits longer than 1000\n"
     "  (on_clock_back answered within 41 us)\n"
     "\n"
     "  $ vesta policy test spec/policy\n"
     "  ok - borrow goes on, up to its bound, however far the clock is back\n"
     "  ...\n"
     "  18 passed, 0 failed\n"},
    {"bench", vs_cmd_bench, "measure what an id costs on this machine", "bench [OPTION...]",
     "Measures what one id costs in a program that uses the library, next to the least that any shared\n"
     "counter can cost: one atomic add, in the same rounds.  Touches no state and takes no worker number;\n"
     "its ids are thrown away.  Takes a few seconds.\n"
     "\n"
     "  $ vesta bench\n"
     "  vesta-second, clock pacing, 5 rounds of 100 ms: medians, and ratios within a round\n"
     "  ...\n"
     "  $ vesta bench --pacing history --layout \"sign:1 time:31 seq:22 worker:10 unit=1s \\\n"
     "    epoch=2026-01-01T00:00:00Z\"\n"
     "  ...\n"},
    {"audit", vs_cmd_audit, "find equal ids and oddities in lists of ids", "audit [OPTION...] [FILE...]",
     "Reads decimal ids, one per line in the first column, from files or stdin, and counts exactly how many\n"
     "occur more than once.  With --layout also: ids of another layout, from the future, out of order within\n"
     "their worker, and how many each worker made.  Needs 24 bytes of memory per id.\n"
     "Exit code 1 if an id occurs twice, 2 if a line is not an id.\n"
     "\n"
     "  $ vesta gen -n 1000000 | vesta audit\n"
     "  total             1,000,000\n"
     "  distinct          1,000,000\n"
     "  duplicates                0\n"
     "\n"
     "  $ printf '7\\n8\\n7\\n' | vesta audit\n"
     "  total                     3\n"
     "  distinct                  2\n"
     "  duplicates                1\n"
     "    7  2 times: stdin line 1, stdin line 3\n"},
};
#define COMMANDS (sizeof commands / sizeof *commands)

static const struct vs_command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

static int unknown_command(const char *word) {
    const char *names[COMMANDS + 2] = {0};
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    names[COMMANDS] = "help";
    const char *near = vs_nearest(word, names);
    if (near) return vs_usage("there is no command %s; did you mean %s?", vs_shown_text(word), near);
    return vs_usage("there is no command %s", vs_shown_text(word));
}

/* ------------------------------------------------------------------ help and version */

static int print_overview(void) {
    vs_outf("vesta %s -- 64-bit ids that never repeat, sort by time and can be read back\n\n", VESTA_VERSION);
    vs_outf("Usage: vesta COMMAND ...\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        vs_outf("  %-8s  %s\n", commands[i].name, commands[i].line);
    vs_outf("\n`vesta help COMMAND` explains a command; `vesta --version` prints the version.\n"
            "Exit codes: 0 done, 1 it could not be done (or a duplicate was found), 2 the call was wrong.\n");
    return VS_DONE;
}

static int run_command(int argc, char **argv) {
    const struct vs_command *command = find(argv[0]);
    if (!command) return unknown_command(argv[0]);
    vs_command_begin(command);
    return command->run(argc, argv);
}

static int print_help(int argc, char **argv) {
    if (argc == 0) return print_overview();
    const struct vs_command *command = find(argv[0]);
    bool has_word = argc == 2 && command && strstr(command->usage, argv[1]); /* help workers import, store init */
    if (has_word) return run_command(3, (char *[]){argv[0], argv[1], "--help", NULL});
    if (argc > 1) return vs_usage("unexpected operand %s; help takes one command", vs_shown_text(argv[1]));
    return run_command(2, (char *[]){argv[0], "--help", NULL});
}

static int dispatch(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_overview();
    if (strcmp(argv[1], "help") == 0) return print_help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        vs_outf("vesta %s\n", VESTA_VERSION);
        return VS_DONE;
    }
    if (argv[1][0] == '-') return vs_usage("the command must come first, but %s is an option", vs_shown_text(argv[1]));
    return run_command(argc - 1, argv + 1);
}

/* A program started with stdout closed would get 1 as the descriptor of the next file it opens, and write ids into
 * it: occupy 0 to 2 with something that can be neither read nor written as it should be. */
static void occupy_standard_files(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(VS_FAILED);
}

int main(int argc, char **argv) {
    occupy_standard_files();
    (void)vs_guard_on();
    signal(SIGPIPE, SIG_IGN); /* a reader who has seen enough is no failure: out.c meets EPIPE */
    return vs_out_end(dispatch(argc, argv));
}
