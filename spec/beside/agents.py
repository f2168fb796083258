"""agents.py VESTA [WORDS OF A CLAIM] -- Debian's monitoring agents for Redis query a real server.  The queries of the
agents of Datadog and New Relic, which Debian does not have, are replayed."""
import json
import re
import subprocess
import sys
import urllib.request

from hosting import Host, found
from serving import Configured, Server, claim, free_port, main, same

ZABBIX, EXPORTER = found("zabbix_agent2"), found("prometheus-redis-exporter")
PASSWORD = "a password of more than 22 characters"


def zabbix(world, server, key, *params):
    """Returns the value of an item, as the agent would send it."""
    with open(world.path("zabbix.conf"), "w") as file:
        file.write("LogFile=%s\nServer=127.0.0.1\nControlSocket=%s\nPluginSocket=%s\n"
                   % (world.path("zabbix.log"), world.path("control.sock"), world.path("plugin.sock")))
    item = "%s[%s]" % (key, ",".join(('"tcp://127.0.0.1:%d"' % server.resp,) + params))
    done = subprocess.run([ZABBIX, "-c", world.path("zabbix.conf"), "-t", item], capture_output=True, text=True, timeout=60)
    value = re.search(r"\[s\|(.*)\]\s*$", done.stdout, re.DOTALL)
    assert value, (done.stdout, done.stderr)
    return value[1]


if ZABBIX:
    @claim("every item of Zabbix agent 2's plugin for Redis has a value, with and without a password")
    def _(world):
        with open(world.path("secret"), "w") as file:
            file.write(PASSWORD)
        for flags, secret in (([], ""), (["--resp-password-file", world.path("secret")], '"%s"' % PASSWORD)):
            with Server(world, *flags) as server:
                same(zabbix(world, server, "redis.ping", secret), "1")
                same(zabbix(world, server, "redis.slowlog.count", secret), "0")
                same(zabbix(world, server, "redis.config", secret, "timeout"), "300")
                info = json.loads(zabbix(world, server, "redis.info", secret))
                same((info["Replication"]["role"], info["Clients"]["connected_clients"], info["Cluster"]["cluster_enabled"]), ("master", "1", "0"))
                for section, name in (("CPU", "used_cpu_user"), ("Memory", "used_memory_peak"), ("Memory", "mem_fragmentation_ratio"),
                                      ("Persistence", "rdb_last_save_time"), ("Stats", "keyspace_hits"), ("Stats", "total_commands_processed")):
                    float(info[section][name])
                for section in ("stats", "keyspace", "commandstats"):
                    assert isinstance(json.loads(zabbix(world, server, "redis.info", secret, section)), dict), section


if EXPORTER:
    @claim("Prometheus' redis_exporter reads the server without an error, and its figures are true")
    def _(world):
        port = free_port()
        with Server(world) as server:
            for _ in range(3):
                server.redis("GET", "default")
            args = [EXPORTER, "-redis.addr", "redis://127.0.0.1:%d" % server.resp, "-web.listen-address", "127.0.0.1:%d" % port, "-log-format", "txt",
                    "-include-system-metrics", "-export-client-list", "-include-config-metrics"]
            with Host(world, args, port=port) as host:
                with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=60) as reply:
                    text = reply.read().decode()
                assert "level=error" not in host.said(), host.said()
            for line in ("redis_up 1", 'redis_exporter_last_scrape_error{err=""} 0', "redis_config_maxclients 5000", "redis_slowlog_length 0",
                         "redis_config_maxmemory 0", "redis_keyspace_hits_total 0"):
                assert "\n%s\n" % line in text, (line, text)
            for name, least in (("redis_uptime_in_seconds", 0), ("redis_commands_processed_total", 3), ("redis_cpu_user_seconds_total", 0),
                                ("redis_memory_used_peak_bytes", 1 << 20), ("redis_total_system_memory_bytes", 1 << 26)):
                assert float(re.search(r"^%s (\S+)$" % name, text, re.M)[1]) >= least, (name, text)


DATADOG = """
import json, redis, sys
r = redis.Redis(port=int(sys.argv[1]), socket_timeout=60)
info, config = r.info(), r.config_get("maxclients")
entries = int(r.config_get("slowlog-max-len")["slowlog-max-len"])
print(json.dumps({"role": info["role"], "maxclients": config["maxclients"], "slow": r.slowlog_get(entries), "stats": r.info("commandstats"),
                  "databases": r.info("keyspace"), "names": [client["name"] for client in r.client_list()],
                  "figures": [info[name] for name in ("used_memory", "maxmemory", "used_cpu_sys", "keyspace_hits", "total_commands_processed",
                                                      "mem_fragmentation_ratio", "latest_fork_usec", "rdb_changes_since_last_save")]}))
"""


@claim("queries of Datadog's redisdb by redis-py return numbers where it expects numbers")
def _(world):
    with Server(world) as server:
        for python in (sys.executable, "/usr/bin/python3"):
            done = subprocess.run([python, "-I", "-c", DATADOG, str(server.resp)], capture_output=True, text=True, timeout=120)
            if "No module named 'redis'" not in done.stderr:
                break
        else:
            return print("# no python3 here has the module redis: apt-get install python3-redis")
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        same((said["role"], int(said["maxclients"]), said["slow"], said["stats"], said["databases"]), ("master", 5000, [], {}, {}))
        assert all(isinstance(figure, (int, float)) for figure in said["figures"]), said


@claim("New Relic's nri-redis can parse each line of INFO: a name, one colon, a value; no database")
def _(world):
    with Configured(world, "return { namespaces = { default = { worker = 5 }, db0 = { worker = 6 }, ['a:b'] = { worker = 7 } } }") as server:
        data = server.redis("INFO").decode()
        lines = [line for line in data.split("\r\n")[1:] if line and not line.startswith("#")]
        assert len(lines) > 80, data
        for line in lines:
            assert re.fullmatch(r"[a-z0-9_]+:[^:]+", line) and not line.startswith("db"), line
        assert "vesta_ids_a_b:0" in lines, data
        assert server.redis("CONFIG", "GET", "*").startswith(b"*24\r\n")


main()
