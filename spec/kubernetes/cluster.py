"""cluster.py -- does what a kubelet does, with the kernel's namespaces: it runs pods of a manifest's template from the
image of scripts/image, each with its own address, name and disk. The whole cluster is in namespaces as well, so it does
not touch this machine's network, and ends with the spec. It contains nothing about ids."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
MANIFESTS = os.path.join(REPO, "examples", "kubernetes")
GATEWAY = "10.9.0.1"
MEMORY = "/mnt"  # the memory of all pods, in the cluster's own mounts


def enter():
    """Restarts this program as root of new namespaces. Returns false if the kernel or the user's rights do not permit
    that."""
    if os.environ.get("VESTA_CLUSTER"):
        for words in ("link set lo up", "link add pods address 02:00:0a:09:00:01 type bridge", "addr add %s/16 dev pods" % GATEWAY, "link set pods up"):
            subprocess.run(["ip", *words.split()], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "pods", MEMORY], check=True)
        return True
    flags = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
    tried = subprocess.run(["unshare", *flags, "ip", "link", "add", "pods", "type", "bridge"], capture_output=True, text=True)
    if tried.returncode != 0:
        print("# not where namespaces cannot be made: %s" % tried.stderr.strip())
        return False
    sys.stdout.flush()
    os.execvpe("unshare", ["unshare", *flags, sys.executable, *sys.argv], dict(os.environ, VESTA_CLUSTER="1"))


class Image:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="vesta-image-")
        os.chmod(self.folder, 0o755)
        self.tar, self.root, blobs = (os.path.join(self.folder, name) for name in ("image.tar", "root", "blobs"))
        self.said = subprocess.run([os.path.join(REPO, "scripts", "image"), "--program", program, self.tar], check=True, capture_output=True,
                                   text=True, timeout=500).stdout
        os.mkdir(blobs)
        subprocess.run(["tar", "-C", blobs, "-xf", self.tar], check=True)

        def blob(of):
            return os.path.join(blobs, "blobs", *of["digest"].split(":"))

        def read(path):
            with open(path) as file:
                return json.load(file)
        self.index = read(os.path.join(blobs, "index.json"))
        self.manifest = read(blob(self.index["manifests"][0]))
        self.blobs = [blob(of) for of in (self.index["manifests"][0], self.manifest["config"], *self.manifest["layers"])]
        self.config = read(blob(self.manifest["config"]))["config"]
        os.mkdir(self.root)
        os.chmod(self.root, 0o755)
        for layer in self.manifest["layers"]:
            subprocess.run(["tar", "-C", self.root, "-xzf", blob(layer)], check=True)

    def end(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def documents(name):
    with open(os.path.join(MANIFESTS, name)) as file:
        return list(yaml.safe_load_all(file))


def first(name, kind):
    return next(d for d in documents(name) if d["kind"] == kind)


class Box:
    """A running container with its own network. `pid` is the pid of its process 1."""
    count = 0
    lock = threading.Lock()

    def __init__(self, image, name, args, env=None, binds=None, tmpfs=(), uid=65532, gid=65532, read_only=True):
        with Box.lock:
            Box.count += 1
            self.number = Box.count
        self.uid, self.gid = uid, gid
        self.address = "10.9.%d.%d" % (1 + self.number // 250, 1 + self.number % 250)
        self.log_path = os.path.join(image.folder, "log.%d" % self.number)
        for inside in (*(binds or {}), *tmpfs):
            os.makedirs(image.root + inside, exist_ok=True)  # like a container runtime, which then mounts it read-only
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "box.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=log, text=True, bufsize=1)
        self.env = dict(pair.split("=", 1) for pair in image.config["Env"])
        self.env.update(env or {})
        self.say(dict(root=image.root, name=name, uid=uid, gid=gid, args=args, env=self.env, binds=binds or {}, tmpfs=list(tmpfs), read_only=read_only))
        self.net = self.hear()
        link = "p%d" % self.number
        for words in ("ip link add %s type veth peer name eth0 netns %d" % (link, self.net), "ip link set %s master pods up" % link,
                      *("nsenter --net=/proc/%d/ns/net ip %s" % (self.net, more) for more in
                        ("addr add %s/16 dev eth0" % self.address, "link set eth0 up", "link set lo up"))):
            subprocess.run(words.split(), check=True)
        self.say("go")
        self.pid = self.hear()

    def say(self, what):
        self.process.stdin.write(json.dumps(what) + "\n")

    def hear(self):
        line = self.process.stdout.readline()
        assert line, "the container ended: " + self.log()
        return int(line)

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def beside(self, *command, **kw):
        """Starts another container of the pod, with the same network and user."""
        return subprocess.Popen(["nsenter", "--target", str(self.pid), *self.as_user(), "--net", *command], **kw)

    def as_user(self):
        mapped = os.readlink("/proc/self/ns/user") != os.readlink("/proc/%d/ns/user" % self.pid)
        return ["--user", "--preserve-credentials"] if mapped else ["--setuid", str(self.uid), "--setgid", str(self.gid)]

    def execute(self, *command):
        """Runs a program of the image in all namespaces of the container, with its environment, like `kubectl exec`."""
        return subprocess.run(["nsenter", "--target", str(self.pid), *self.as_user(), "--mount", "--pid", "--net", "--ipc", "--uts", "--root", "--wd",
                               *command], capture_output=True, text=True, timeout=200, env=self.env)

    def network(self, state):
        subprocess.run(["ip", "link", "set", "p%d" % self.number, state], check=True)

    def get(self, path, port=8088, timeout=5):
        try:
            with urllib.request.urlopen("http://%s:%d%s" % (self.address, port, path), timeout=timeout) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def send(self, number):
        os.kill(self.pid, number)

    def wait(self, seconds):
        return self.process.wait(seconds)

    def kill(self):
        """Kills process 1, and with it all processes, memory and network of the container."""
        if self.process.poll() is None:
            self.send(signal.SIGKILL)
            self.process.wait(30)
        for pipe in self.process.stdin, self.process.stdout:
            pipe.close()


class Pod(Box):
    """The container vesta of a workload's template, as its manifest describes it. `of` is the pod if the container is
    restarted."""

    def __init__(self, image, workload, name, configs, of=None):
        spec = workload["spec"]["template"]["spec"]
        container = next(c for c in spec.get("initContainers", []) + spec["containers"] if c["name"] == "vesta")
        self.grace = spec["terminationGracePeriodSeconds"]
        self.container = container
        security = spec["securityContext"]
        self.disk = of.disk if of else tempfile.mkdtemp(prefix="pod-", dir=image.folder)
        self.memory = of.memory if of else tempfile.mkdtemp(prefix="shm-", dir=MEMORY)
        os.chmod(self.disk, 0o755)
        os.chmod(self.memory, 0o1777)
        volumes = {volume["name"]: self.volume(volume, configs) for volume in spec.get("volumes", [])}
        env = {e["name"]: e["value"] for e in container.get("env", []) if "value" in e}
        super().__init__(image, name, image.config["Entrypoint"] + container["args"], env,
                         {"/dev/shm": self.memory, **{mount["mountPath"]: volumes[mount["name"]] for mount in container.get("volumeMounts", [])}}, (),
                         security["runAsUser"], security["runAsGroup"], container["securityContext"]["readOnlyRootFilesystem"])

    def volume(self, volume, configs):
        path = os.path.join(self.disk, volume["name"])
        os.makedirs(path, exist_ok=True)
        of = volume.get("configMap", {}).get("name") or volume.get("secret", {}).get("secretName")
        if of:
            for key, text in configs[of].items():
                with open(os.path.join(path, key), "w") as file:
                    file.write(text)
                os.chmod(os.path.join(path, key), volume.get("secret", {}).get("defaultMode", 0o644))
        else:
            assert "emptyDir" in volume, volume
            os.chmod(path, 0o2777)  # the mode that a kubelet sets for an fsGroup
            if os.geteuid() == 0 and os.stat(path).st_uid == 0:
                self.give_away(path)
        return path

    @staticmethod
    def give_away(path):
        """Changes the owner, because a kubelet's volume belongs to root, which is no user of the pod."""
        try:
            os.chown(path, 1, -1)
        except OSError:  # a user namespace without other users
            pass

    def probe(self, name):
        asked = self.container[name]
        if "exec" in asked:
            return self.execute(*asked["exec"]["command"]).returncode == 0
        port = next(p["containerPort"] for p in self.container["ports"] if p["name"] == asked["httpGet"]["port"])
        return self.get(asked["httpGet"]["path"], port)[0] == 200

    def is_ready(self):
        assert self.process.poll() is None, "the container ended: " + self.log()
        return self.probe("readinessProbe")

    def stop(self, before=lambda: None):
        """Ends the pod like a kubelet: preStop, during which Services remove it, SIGTERM, and SIGKILL after the grace
        period. Returns the status of process 1."""
        before()  # replaces preStop's sleep
        self.send(signal.SIGTERM)
        try:
            return self.wait(self.grace - self.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0))
        finally:
            self.kill()

    def lose(self):
        self.kill()
        shutil.rmtree(self.disk)
        shutil.rmtree(self.memory)
