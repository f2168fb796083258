"""metrics.py -- /metrics and /readyz of `vesta serve`."""
import json
import os
import re
import subprocess
import sys
import time

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's module, even if another python3 is first in PATH.
from prometheus_client.openmetrics import parser as openmetrics  # noqa: E402
from prometheus_client import parser as plain  # noqa: E402

from serving import Configured, Server, claim, command, get, main, refuses_soon, same, SLOW, until_closed  # noqa: E402

OPEN = "application/openmetrics-text;version=1.0.0"
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "metrics.md")


def values(server):
    """Returns all samples as {name and labels as written: value as text}."""
    lines = server.get("/metrics").body.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def families(server):
    return dict(re.findall(r"(?m)^# TYPE (\S+) (\S+)$", server.get("/metrics").body))


@claim("promtool finds no fault in /metrics, before and after valid and invalid requests")
def _(world):
    with Server(world) as server:
        for _ in range(2):
            reply = server.get("/metrics")
            same((reply.status, reply.headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
            done = subprocess.run(["promtool", "check", "metrics"], input=reply.body, capture_output=True, text=True)
            same((done.returncode, done.stdout, done.stderr), (0, "", ""))
            server.get("/v1/ids?n=0")
            server.redis("MGET", "default", "default")
            server.redis("NOSUCH")


@claim("/metrics returns OpenMetrics if the client accepts it, with the same names, and the text format otherwise")
def _(world):
    with Server(world) as server:
        reply = server.get("/metrics", headers={"Accept": OPEN + ",text/plain;q=0.5,*/*;q=0.1"})
        same(reply.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        assert reply.body.endswith("\n# EOF\n")
        opened = {sample.name for family in openmetrics.text_string_to_metric_families(reply.body) for sample in family.samples}
        text = server.get("/metrics").body
        same(opened, {sample.name for family in plain.text_string_to_metric_families(text) for sample in family.samples})
        for accept in ("*/*", "text/plain", "text/html", "application/json", "text/plain, " + OPEN + ";q=0.9", "x"):
            reply = server.get("/metrics", headers={"Accept": accept})
            same((reply.status, reply.headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        reply = server.say(server.http, get("/metrics", "Connection: close", method="HEAD"))
        assert re.search(rb"Content-Length: \d{4,}\r\n", reply) and reply.endswith(b"\r\n\r\n"), reply


@claim("each request is counted once, over both protocols and on every thread")
def _(world):
    with Server(world, "--threads", "2") as server:
        same(values(server)['vesta_ids_issued_total{namespace="default",proto="http"}'], "0")
        for n in (1, 10, 1000):
            server.get("/v1/ids?n=%d" % n)
        for _ in range(20):
            server.get("/genid")
        server.get("/v1/ids?ns=other")
        server.say(server.http, b"GET / HTTP/2.0\r\n\r\n")
        server.say(server.resp, command("GET", "default") * 300 + command("MGET", *["default"] * 50) + command("GET", "x"))
        server.say(server.resp, b"*x\r\n")
        after = values(server)
        for name, want in (('vesta_ids_issued_total{namespace="default",proto="http"}', 1031),
                           ('vesta_ids_issued_total{namespace="default",proto="resp"}', 350),
                           ('vesta_requests_total{proto="http",code="unknown_name"}', 1),
                           ('vesta_requests_total{proto="http",code="bad_version"}', 1),
                           ('vesta_requests_total{proto="http",code="ok"}', 24),  # one of them for /metrics
                           ('vesta_requests_total{proto="resp",code="ok"}', 301),
                           ('vesta_requests_total{proto="resp",code="unknown_name"}', 1),
                           ('vesta_requests_total{proto="resp",code="bad_request"}', 1),
                           ('vesta_request_duration_seconds_count{proto="resp"}', 303),
                           ('vesta_request_duration_seconds_bucket{proto="resp",le="+Inf"}', 303),
                           ('vesta_worker_id{namespace="default"}', 5), ('vesta_lease_held{namespace="default"}', 1),
                           ('vesta_connections_accepted_total{proto="resp"}', 2),
                           ('vesta_connections_refused_total{proto="http",reason="total"}', 0)):
            same((name, after[name]), (name, str(want)))


@claim("open connections, waiting requests and the process have correct metrics")
def _(world):
    slow = "sign:1 time:32 seq:1 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"  # 2 ids per second
    with Server(world, "--wait-ms", "20000", layout=slow, pacing="clock") as server:
        socks = [server.connect(server.resp) for _ in range(5)]
        socks[0].sendall(command("MGET", *["default"] * 20))
        while values(server)["vesta_waiting_requests"] != "1":
            time.sleep(0.01)
        now = values(server)
        same(now['vesta_connections{proto="resp"}'], "5")
        same(now['vesta_pauses_total{namespace="default",why="full"}'], "1")
        assert int(now["process_open_fds"]) >= 8 and int(now["process_open_fds"]) < int(now["process_max_fds"])
        assert abs(float(now["process_start_time_seconds"]) - time.time()) < 120
        assert 1 < int(now["process_resident_memory_bytes"]) / 1024 / server.rss_kb() * 2 < 4
        for sock in socks:
            sock.close()
        while values(server)['vesta_connections{proto="resp"}'] != "0":
            time.sleep(0.01)
        same(values(server)["vesta_waiting_requests"], "0")


@claim("the duration of a request, and of the requests behind it, includes its wait for an id")
def _(world):
    slow = "sign:1 time:32 seq:1 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"
    with Server(world, "--wait-ms", "20000", layout=slow, pacing="clock") as server:
        server.say(server.resp, command("MGET", *["default"] * 8) + command("PING"))  # a wait of at least three seconds
        after = values(server)
        same([after['vesta_request_duration_seconds_bucket{proto="resp",le="%s"}' % le] for le in ("1.0", "+Inf")], ["0", "2"])
        assert float(after['vesta_request_duration_seconds_sum{proto="resp"}']) >= 2


@claim("a lease's renewals and end have metrics")
def _(world):
    with Server(world, layout="vesta-milli", pacing="clock") as server:
        ok, end = 'vesta_lease_renewals_total{namespace="default",result="ok"}', 'vesta_lease_expiry_timestamp_seconds{namespace="default"}'
        first = values(server)
        assert abs(float(first[end]) - time.time()) < 60
        while values(server)[ok] == "0":
            server.get("/genid")
            time.sleep(0.02)
        assert float(values(server)[end]) > float(first[end])


@claim("docs/metrics.md lists every metric with its type, and no other")
def _(world):
    with open(DOCS) as page:
        told = dict(re.findall(r"(?m)^\| `((?:vesta|process)_\w+)(?:\{[^`]*\})?` \| (\w+) \|", page.read()))
    with Server(world) as server:
        plain_families = families(server)
    with open(world.path("clients"), "w") as file:
        file.write("default names=* calls=give,read\n")
    config = ("return { clients = 'clients', log = { access = '%s' }, namespaces = { judged = { policy = 'wait', shadow_policy = 'wait' } }, stores = { a = { uri = 'sqlite:%s' } }, "
              "segments = { { store = 'a', tags = 'orders' } } }" % (world.path("access"), world.path("v.db")))
    with Configured(world, config) as server:
        same(families(server), told)
        lua = re.search(r'vesta_build_info\{version="[\d.]+",lua="([\d.]+)"\} 1', server.get("/metrics").body).group(1)
        same(json.loads(server.get("/version").body)["lua"], lua)
    same(set(told) - set(plain_families), {name for name in told if re.match("vesta_(policy|config|tags?)_|vesta_tags$|vesta_client_(requests|ids|refused|connections)|vesta_access_log_", name)})


@claim("docs/errors.md lists every code that is counted, and no other")
def _(world):
    with open(os.path.join(os.path.dirname(DOCS), "errors.md")) as page:
        listed = set(re.findall(r"(?m)^\| `(\w+)` \| \d{3} \|", page.read()))
    with Server(world) as server:
        counted = {re.search('code="(.*)"', name).group(1) for name in values(server) if name.startswith("vesta_requests_total")}
    same(listed, counted - {"ok"})


@claim("docs/metrics.md lists the labels that samples have")
def _(world):
    with open(DOCS) as page:
        listed = dict(re.findall(r"(?m)^\| `((?:vesta|process)_\w+)(?:\{([^`]*)\})?` \| \w+ \|", page.read()))
    with Server(world) as server:
        server.get("/genid")
        samples = [re.match(r"(\w+)(?:\{(.*)\})?$", name) for name in values(server)]
    for sample in samples:
        family = re.sub("_(bucket|sum|count)$", "", sample[1])
        labels = re.findall(r'(\w+)="', sample[2] or "")
        same([label for label in labels if label != "le"], [label for label in listed[family].split(",") if label])


@claim("Prometheus accepts the queries of docs/metrics.md, which name metrics that exist")
def _(world):
    with open(DOCS) as page:
        text = page.read()
    queries = re.findall(r"(?ms)^```promql\n(.*?)^```", text)
    assert len(queries) > 3, queries
    with open(world.path("queries.yml"), "w") as file:
        file.write("groups:\n  - name: queries\n    rules:\n")
        for number, query in enumerate(queries):
            file.write("      - record: query:%d\n        expr: %s\n" % (number, json.dumps(query.strip())))
    done = subprocess.run(["promtool", "check", "rules", "--lint-fatal", world.path("queries.yml")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    families_listed = re.findall(r"(?m)^\| `((?:vesta|process)_\w+)", text)
    for name in re.findall(r"vesta_\w+", " ".join(queries)):
        assert re.sub("_bucket$", "", name) in families_listed, name


@claim("Prometheus accepts the example's config and alerts, and docs/oncall.md has a row for each alert in both "
       "languages")
def _(world):
    folder = os.path.join(os.path.dirname(os.path.dirname(DOCS)), "examples", "prometheus")
    rules = os.path.join(folder, "vesta.rules.yml")
    for words in (("rules", "--lint-fatal", rules), ("config", os.path.join(folder, "prometheus.yml"))):
        done = subprocess.run(["promtool", "check", *words], capture_output=True, text=True)
        assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr
    with open(rules) as file:
        alerts = re.findall(r"alert: (\w+)", file.read())
    for name in "oncall.md", os.path.join("zh-CN", "oncall.md"):
        with open(os.path.join(os.path.dirname(DOCS), name)) as page:
            same(re.findall(r"(?m)^\| `(Vesta\w+)` \|", page.read()), alerts)


@claim("/readyz reports the reason while the store is unreachable and the lease has ended, and recovers afterwards")
def _(world):
    store = world.path("store")
    with Server(world, "--store", "file:" + store, "--wait-ms", "0", layout="vesta-milli", pacing="clock") as server:
        same(server.get("/readyz").status, 200)
        os.rename(store, store + ".away")
        with open(store, "w"):
            pass
        while server.get("/genid").status == 200 or server.get("/readyz").status == 200:
            time.sleep(0.02)
        said = json.loads(server.get("/readyz").body)
        same((said["code"], [(reason["namespace"], reason["code"]) for reason in said["reasons"]]), ("not_ready", [("default", "lease")]))
        same(server.get("/genid").status, 503)
        assert sum(int(number) for name, number in values(server).items()
                   if name.startswith("vesta_lease_renewals_total") and '"ok"' not in name) > 0
        os.remove(store)
        os.rename(store + ".away", store)
        while server.get("/genid").status != 200:
            time.sleep(0.02)
        same(server.get("/readyz").status, 200)


@claim("/readyz is 200 while ids can be issued, and 503 with the reasons while the server drains")
def _(world):
    slow = "sign:1 time:32 seq:1 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"
    with Server(world, "--wait-ms", "4000", layout=slow, pacing="clock") as server:
        reply = server.get("/readyz")
        same((reply.status, reply.headers["content-type"]), (200, "application/json"))
        same(json.loads(reply.body), {"status": "ready", "warnings": []})
        with server.connect(server.http) as busy, server.connect(server.http) as looking:
            busy.sendall(get("/v1/ids?n=6"))
            # An incomplete request keeps its connection open while the server drains.
            looking.sendall(b"GET /readyz HTTP/1.1\r\n")
            while values(server)["vesta_waiting_requests"] != "1" or values(server)['vesta_connections{proto="http"}'] != "3":
                time.sleep(0.01)
            server.process.terminate()
            refuses_soon(server)
            looking.sendall(b"Host: t\r\n\r\n")
            head, _, body = until_closed(looking).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503 ") and b"application/problem+json" in head and b"Retry-After: " in head, head
            said = json.loads(body)
            same((said["status"], said["code"], said["reasons"]),
                 (503, "not_ready", [{"code": "draining", "detail": "the server is stopping"}]))
            assert until_closed(busy).startswith(b"HTTP/1.1 200 ")
        same(server.process.wait(10 * SLOW), 0)


main()
