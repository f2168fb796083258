"""pods.py PROGRAM [STORE...] [ROUNDS] -- the promises of docs/kubernetes.md, on pods of the manifests in
examples/kubernetes and a real store: killed with their disk lost, updated in turn, cut off with their node, suspended
and resumed. Every id of every pod is counted. Prints a table: event, time without ids, duplicates."""
import atexit
import concurrent.futures
import functools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from cluster import GATEWAY, HERE, Image, Pod, enter, first

if not enter():
    sys.exit(0)

from servers import MariaDB, ZooKeeper, claim, main, until  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
STORES = [word for word in sys.argv[2:] if word in ("mysql", "zk")] or ["mysql"]
ROUNDS = next((int(word) for word in sys.argv[2:] if word.isdigit()), 1)
COUNT = 20 if ROUNDS == 1 else 200
table = []


def mysql():
    db = MariaDB().start("--bind-address=0.0.0.0")
    db.sql("CREATE DATABASE vesta; CREATE USER vesta@'%' IDENTIFIED BY 's3cret'; GRANT ALL ON vesta.* TO vesta@'%'")
    return "mysql://vesta:s3cret@%s:%d/vesta?tls=off" % (GATEWAY, db.port), ""


def zk():
    server = ZooKeeper("clientPortAddress=0.0.0.0\n").start().ready()
    return "zk://%s:%d/vesta" % (GATEWAY, server.port), "me:s3cret"


class Workload:
    def __init__(self, image, place, manifest, kind, ns):
        self.image, self.files, self.pods, self.askers = image, [], [], []
        self.workload = first(manifest, kind)
        self.name = self.workload["metadata"]["name"]
        uri, auth = place
        layout, named = ("vesta-milli", "orders = {") if kind == "StatefulSet" else ("snowflake", "users = {")
        config = first(manifest, "ConfigMap")["data"]["vesta.lua"].replace(named, ns + " = {")
        assert ns + " = {" in config, config
        store = 'file(secrets .. "store")'  # A manifest is for either kind of store.
        config = config.replace(', auth = file(secrets .. "auth")', "").replace(store, store + ', auth = file(secrets .. "auth")' if auth else store)
        self.configs = {self.name: {"vesta.lua": config, "store": uri, "auth": auth, "resp": "0123456789abcdef"}}
        made = subprocess.run([PROGRAM, "store", "init", "--store", uri.replace("://", "://%s@" % auth) if auth else uri, "--namespace", ns, "--layout", layout],
                              capture_output=True, text=True, timeout=200)
        assert made.returncode == 0, made.stderr

    def start(self, name, of=None):
        """Starts a pod, or its container again, with an application that requests ids."""
        pod = Pod(self.image, self.workload, "%s-%s" % (self.name, name), self.configs, of)
        self.pods.append(pod)
        pod.file = pod.log_path + ".ids"
        with open(pod.file, "w"):
            os.chmod(pod.file, 0o666)
        self.files.append(pod.file)
        self.askers.append(pod.beside(sys.executable, os.path.join(HERE, "asker.py"), pod.file, str(COUNT)))
        return pod

    def ready(self, name):
        pod = self.start(name)
        until(pod.is_ready, lambda: "%s is ready:\n%s" % (name, pod.log()), 200)
        assert pod.probe("startupProbe") and pod.probe("livenessProbe"), pod.log()
        assert "cannot create" not in pod.log(), pod.log()
        self.gives(pod)
        return pod

    @staticmethod
    def lines(pod):
        """Returns (ms, ids) of each reply so far, without an incomplete last line."""
        if not os.path.exists(pod.file):
            return []
        with open(pod.file) as file:
            text = file.read()
        return [(int(line.split()[0]), line.split()[1:]) for line in text[:text.rfind("\n") + 1].splitlines()]

    def given(self, pod):
        return [(ms, ids) for ms, ids in self.lines(pod) if ids != ["refused"]]

    def gives(self, pod, since_ms=0, seconds=200):
        return until(lambda: next((ms for ms, _ in self.given(pod) if ms >= since_ms), None),
                     lambda: "ids of the pod:\n" + pod.log()[-3000:], seconds)

    def refuses(self, pod, since_ms):
        return until(lambda: any(ms >= since_ms and ids == ["refused"] for ms, ids in self.lines(pod)), "the pod refuses", 200)

    def end(self):
        for asker in self.askers:
            asker.kill()
            asker.wait()
        ids = [i for pod in self.pods for _, line in self.given(pod) for i in line]
        for pod in self.pods:
            pod.kill()
        return len(ids), len(ids) - len(set(ids))


def now_ms():
    return int(time.monotonic() * 1000)


# ---------------------------------------------------------------- events, each of which returns its duration in ms

def killed(work, old, new):
    pod = work.ready(old)
    at = now_ms()
    pod.lose()
    return work.gives(work.start(new)) - at


def restarted(work, old, _):
    """The container is killed as if out of memory, and restarted in the same pod."""
    pod = work.ready(old)
    at = now_ms()
    pod.kill()
    return work.gives(work.start(old, pod)) - at


def cut_off(work, old, new):
    """The node is cut off, and its pod is replaced by force while it still runs there. Then the node returns."""
    pod = work.ready(old)
    at = now_ms()
    pod.network("down")
    other = work.start(new)
    came = work.gives(other)
    if old == new:
        work.refuses(pod, at)
    pod.network("up")
    work.gives(other, now_ms())
    return came - at


def suspended(work, old, new):
    """The pod is suspended, replaced by force, and resumed."""
    pod = work.ready(old)
    at = now_ms()
    pod.send(signal.SIGSTOP)
    other = work.start(new)
    came = work.gives(other)
    pod.send(signal.SIGCONT)
    resumed = now_ms()
    if old == new:
        work.refuses(pod, resumed)
    else:
        work.gives(pod, resumed)
    work.gives(other, resumed)
    return came - at


class Service:
    """A client of all ready pods, one request after the other. It counts requests without a reply, and 503 replies,
    which a busy machine may cause."""

    def __init__(self, work):
        self.work, self.pods, self.lost, self.late, self.given, self.over = work, [], 0, 0, 0, False
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.ask, daemon=True)

    def ask(self):
        while not self.over:
            with self.lock:
                pod = self.pods[self.given % len(self.pods)]
                status, _ = pod.get("/genid", timeout=200)
                self.given += 1
                self.lost += status == 0
                self.late += status not in (0, 200)
            time.sleep(0.005)

    def forget(self, pod):
        """Removes the pod during its preStop, so that it gets no more requests."""
        with self.lock:
            self.pods.remove(pod)

    def updates(self, names, surge):
        """Replaces each pod in turn: the new one is ready before the old one ends (a Deployment), or the old one ends
        first (a StatefulSet)."""
        self.pods = [self.work.ready(name) for name in names]
        self.thread.start()
        longest = 0
        for pod, name in zip(list(self.pods), names):
            new = self.work.ready(name + surge) if surge else None
            at = now_ms()
            with self.lock:
                if new:
                    self.pods.append(new)
            assert pod.stop(lambda pod=pod: self.forget(pod)) == 0, pod.log()
            if not new:
                new = self.work.ready(name)
                longest = max(longest, now_ms() - at)
                with self.lock:
                    self.pods.append(new)
        self.over = True
        self.thread.join()
        assert self.lost == 0 and self.given > len(names), (self.lost, self.given)
        assert self.late == 0 or ROUNDS == 1, (self.late, self.given)
        return longest


def updated(work, old, _):
    return Service(work).updates((old, str(int(old) + 1)), "")


def rolled(work, old, _):
    return Service(work).updates((old, old + "b"), "n")


EVENTS = (("ordinal: killed with its disk", "statefulset.yaml", killed, "0", "0"),
          ("ordinal: container killed, restarted in the pod", "statefulset.yaml", restarted, "0", ""),
          ("ordinal: node cut off, pod replaced by force, node back", "statefulset.yaml", cut_off, "0", "0"),
          ("ordinal: suspended, replaced by force, resumed", "statefulset.yaml", suspended, "0", "0"),
          ("ordinal: rolling update, rejected requests: 0", "statefulset.yaml", updated, "0", ""),
          ("lease: killed with its disk", "deployment.yaml", killed, "5d8f-x2x1", "5d8f-k7ab"),
          ("lease: container killed, restarted in the pod", "deployment.yaml", restarted, "5d8f-x2x4", ""),
          ("lease: node cut off, pod replaced, node back", "deployment.yaml", cut_off, "5d8f-x2x2", "5d8f-k7ac"),
          ("lease: suspended, replaced, resumed", "deployment.yaml", suspended, "5d8f-x2x3", "5d8f-k7ad"),
          ("lease: rolling update, rejected requests: 0", "deployment.yaml", rolled, "5d8f", ""))


def happens(kind, number, turn):
    text, manifest, event, old, new = EVENTS[number]
    work = Workload(image(), place(kind), manifest, "StatefulSet" if manifest == "statefulset.yaml" else "Deployment", "e%dt%d" % (number, turn))
    try:
        again_ms = event(work, old, new)
    finally:
        ids, twice = work.end()
    table.append((kind, text, again_ms, ids, twice))
    assert ids > 0 and twice == 0, (text, ids, twice)


@functools.cache
def place(kind):
    return {"mysql": mysql, "zk": zk}[kind]()


@functools.cache
def image():
    made = Image(PROGRAM)
    atexit.register(made.end)
    return made


for _kind in STORES:
    @claim("%s: pods that were killed, cut off, suspended and updated issue ids again, without duplicates" % _kind)
    def _(kind=_kind):
        with concurrent.futures.ThreadPoolExecutor(len(EVENTS)) as at_once:
            for turn in range(ROUNDS):
                image(), place(kind)
                for done in [at_once.submit(happens, kind, number, turn) for number in range(len(EVENTS))]:
                    done.result()
        for row in table:
            if row[0] == kind:
                print("    %-6s %-58s ids again after %5.1f s, %7d ids, duplicates %d" % (*row[:2], row[2] / 1000, *row[3:]))


@claim("a sidecar: nginx serves ids of the vesta next to it, and ends before it")
def _():
    config, workload = (first("sidecar.yaml", kind) for kind in ("ConfigMap", "Deployment"))
    uri, auth = place("mysql")
    done = subprocess.run([PROGRAM, "store", "init", "--store", uri, "--namespace", "shop", "--layout", "vesta-milli"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    pod = Pod(image(), workload, "shop-1", {"shop": {**config["data"], "store": uri}})
    try:
        until(lambda: pod.probe("startupProbe"), lambda: "vesta is ready: " + pod.log(), 200)
        assert pod.probe("livenessProbe") and "cannot create" not in pod.log(), pod.log()
        nginx = next(c for c in workload["spec"]["template"]["spec"]["containers"] if c["name"] == "nginx")
        folder = tempfile.mkdtemp(dir=pod.disk)
        own = folder + "/nginx.conf"
        os.chmod(folder, 0o777)
        with open(own, "w") as file:  # It has its own /tmp.
            file.write(config["data"]["nginx.conf"].replace("/tmp/", folder + "/"))
        process = pod.beside(*nginx["args"][:-1], own, stderr=subprocess.DEVNULL)
        port = nginx["ports"][0]["containerPort"]
        path = nginx["readinessProbe"]["httpGet"]["path"]
        until(lambda: pod.get(path, port)[0] == 200, "nginx gives ids", 200)
        assert len({pod.get(path, port)[1] for _ in range(50)}) == 50
        assert pod.get(path)[0] == 0, "nobody else reaches vesta"
        process.terminate()
        process.wait(30)
        checked = pod.execute("/usr/bin/vesta", "doctor", "-c", "/etc/vesta/vesta.lua")
        assert checked.returncode == 0 and "/var/lib/vesta/state is writable" in checked.stdout, checked.stdout
        assert pod.stop() == 0, pod.log()
    finally:
        pod.kill()


main()
