"""dashboards.py -- examples/grafana/vesta.json: its panels, and its expressions in a real Prometheus that scrapes a server.
Debian has no Grafana."""
import contextlib
import itertools
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from serving import SLOW, Configured, claim, free_port, main, same

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "grafana")
CONFIG = """return { clients = 'clients', stores = { a = { uri = 'sqlite:%s' } }, segments = { { store = 'a', tags = 'invoices' } },
  namespaces = { orders = { layout = 'snowflake', policy = 'wait', shadow_policy = 'wait' }, web = { layout = 'vesta-second', worker = 7 } } }"""
# Grafana's names of units that a panel may have.
UNITS = {"none", "short", "percentunit", "s", "reqps", "ops", "bytes"}
OF_PROMETHEUS = {"job", "instance"}

with open(os.path.join(FOLDER, "vesta.json")) as file:
    DASHBOARD = json.load(file)
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]


def filled(expression):
    """Replaces the variables by their value for All."""
    text = expression.replace("$__rate_interval", "%ds" % (20 * SLOW))
    return re.sub(r"\$\w+", ".*", text)


def serving(world):
    with open(world.path("clients"), "w") as clients:
        clients.write("default names=* calls=give,read\n")
    assert world.run("segments", "add", "invoices", "--store", "sqlite:" + world.path("v.db")).code == 0
    return Configured(world, CONFIG % world.path("v.db"))


def use(server):
    for name in "orders", "web", "invoices":
        same((name, server.get("/v1/ids?n=3&ns=" + name).status), (name, 200))
    server.get("/v1/ids?n=0")


@claim("panels have unique ids and titles, do not overlap, and each has a description, a unit and the data source")
def _(_world):
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    same(len(ids), len(set(ids)))
    same(len({panel["title"] for panel in PANELS}), len(PANELS))
    for panel in PANELS:
        title, source = panel["title"], {"type": "prometheus", "uid": "${datasource}"}
        assert panel["type"] in ("stat", "timeseries", "table") and panel["description"].endswith("."), title
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, title
        same([(title, one["datasource"]) for one in [panel, *panel["targets"]]], [(title, source)] * (len(panel["targets"]) + 1))
        refs = [target["refId"] for target in panel["targets"]]
        same((title, len(refs)), (title, len(set(refs))))
        dashed = [o["matcher"]["options"] for o in panel["fieldConfig"]["overrides"]]
        assert set(dashed) <= set(refs), title
    places = [(panel["title"], panel["gridPos"]) for panel in DASHBOARD["panels"]]
    for (one, a), (other, b) in itertools.combinations(places, 2):
        apart = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
        assert apart and a["x"] + a["w"] <= 24, (one, other)
    same([name["name"] for name in DASHBOARD["templating"]["list"]], ["datasource", "job", "instance", "namespace"])
    known = {"__rate_interval", *(name["name"] for name in DASHBOARD["templating"]["list"])}
    same({name for text in EXPRESSIONS for name in re.findall(r"\$(\w+)", text)} - known, set())


@claim("each expression and variable names only metrics and labels that a running server exposes")
def _(world):
    exposed = {}
    with serving(world) as server:
        use(server)
        for name, labels in re.findall(r"(?m)^(\w+)(?:\{(.*)\})? \S+$", server.get("/metrics").body):
            exposed.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    queries = [variable["query"]["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"]
    for expression in [*EXPRESSIONS, *queries]:
        metrics = set(re.findall(r"\b(?:vesta|process)_\w+", expression))
        assert metrics and metrics <= set(exposed), (expression, metrics - set(exposed))
        for name, selector in re.findall(r"(\w+)\{([^}]*)\}", expression):
            labels = set(re.findall(r"(\w+)(?:=~|!=|=)", selector))
            same((expression, labels - exposed[name] - OF_PROMETHEUS), (expression, set()))
        known = set.union(OF_PROMETHEUS, *(exposed[name] for name in metrics))
        by = {label for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(", ")}
        same((expression, by - known), (expression, set()))
    for panel in PANELS:
        for target in panel["targets"]:
            by = {label for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in group.split(", ")}
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert shown <= by or not by and shown <= {"instance", "namespace"}, target


class Prometheus:
    def __init__(self, world, target):
        self.world, self.port = world, free_port()
        with open(world.path("prometheus.yml"), "w") as config:
            config.write("global: { scrape_interval: 1s }\nscrape_configs: [ { job_name: vesta, static_configs: [ { targets: ['127.0.0.1:%d'] } ] } ]\n" % target)

    def __enter__(self):
        with open(self.world.path("prometheus.log"), "w") as log:
            self.process = subprocess.Popen(
                ["prometheus", "--config.file", self.world.path("prometheus.yml"), "--storage.tsdb.path", self.world.path("tsdb"),
                 "--web.listen-address", "127.0.0.1:%d" % self.port], stdout=log, stderr=subprocess.STDOUT)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, expression):
        """Returns the values of an instant query."""
        url = "http://127.0.0.1:%d/api/v1/query?" % self.port + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return json.load(reply)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # Prometheus starts.
                raise ConnectionError(error) from error
            raise AssertionError((expression, error.read())) from error

    def until(self, expression):
        end = time.monotonic() + 60 * SLOW
        while True:
            assert self.process.poll() is None and time.monotonic() < end, open(self.world.path("prometheus.log")).read()[-2000:]
            with contextlib.suppress(OSError):
                if self.ask(expression):
                    return
            time.sleep(0.2)


@claim("in a real Prometheus, each expression has values, except that those of failures may be empty")
def _(world):
    with serving(world) as server, Prometheus(world, server.http) as prometheus:
        use(server)
        prometheus.until('vesta_ids_issued_total{namespace="orders"} > 0')
        use(server)
        prometheus.until('rate(vesta_ids_issued_total{namespace="orders",proto="http"}[%ds]) > 0' % (20 * SLOW))
        for expression in EXPRESSIONS:
            found = prometheus.ask(filled(expression))
            assert found or expression.endswith("> 0"), expression
        (capacity,) = prometheus.ask('vesta_capacity_ids_per_second{namespace="orders"}')
        same(capacity["value"][1], "4096000")
        rejected = next(text for text in EXPRESSIONS if "proto, code" in text)
        same([one["metric"]["code"] for one in prometheus.ask(filled(rejected))], ["bad_count"])


main()
