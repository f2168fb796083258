"""manifests.py PROGRAM -- checks examples/kubernetes against a table of Kubernetes' fields and types, where an unknown
field is an error as in kubectl, and against the program: accepted configs, existing routes and ports, and the time to
end."""
import os
import re
import subprocess
import sys
import tempfile

import yaml

from claims import claim, run

PROGRAM = os.path.abspath(sys.argv[1])
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(REPO, "examples", "kubernetes")
FILES = sorted(name for name in os.listdir(FOLDER) if name.endswith(".yaml"))
ENDS_S = 5  # the server's time to end, from docs/deploy.md

# A type, a set of words, {key: schema}, [schema] for a list, or (schema,) for a map with arbitrary keys. * marks a
# required key.
NAMED = {"*name": str, "labels": (str,)}
LABELS = {"matchLabels": (str,)}
PROBE = {"httpGet": {"*path": str, "*port": str}, "exec": {"*command": [str]}, "periodSeconds": int, "timeoutSeconds": int, "failureThreshold": int}
CONTAINER = {
    "*name": str, "*image": str, "args": [str], "ports": [{"*name": str, "*containerPort": int}], "restartPolicy": {"Always"}, "env": [{"*name": str, "*value": str}],
    "startupProbe": PROBE, "livenessProbe": PROBE, "readinessProbe": PROBE, "lifecycle": {"preStop": {"sleep": {"*seconds": int}}},
    "resources": {"requests": {"cpu": str, "memory": str}, "limits": {"cpu": str, "memory": str}},
    "securityContext": {"readOnlyRootFilesystem": bool, "allowPrivilegeEscalation": bool, "capabilities": {"drop": [str]}},
    "volumeMounts": [{"*name": str, "*mountPath": str, "readOnly": bool}]}
POD = {
    "terminationGracePeriodSeconds": int, "automountServiceAccountToken": bool,
    "securityContext": {"runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int, "fsGroup": int, "seccompProfile": {"*type": {"RuntimeDefault"}}},
    "topologySpreadConstraints": [{"*maxSkew": int, "*topologyKey": str, "*whenUnsatisfiable": {"ScheduleAnyway", "DoNotSchedule"}, "labelSelector": LABELS}],
    "initContainers": [CONTAINER], "*containers": [CONTAINER],
    "volumes": [{"*name": str, "configMap": {"*name": str}, "secret": {"*secretName": str, "defaultMode": int}, "emptyDir": {"medium": {"Memory"}}}]}
TEMPLATE = {"*metadata": {"*labels": (str,)}, "*spec": POD}
KINDS = {
    "ConfigMap": ("v1", {"*metadata": NAMED, "*data": (str,)}),
    "Service": ("v1", {"*metadata": NAMED, "*spec": {"clusterIP": {"None"}, "*selector": (str,), "*ports": [{"*name": str, "*port": int, "*targetPort": str}]}}),
    "PodDisruptionBudget": ("policy/v1", {"*metadata": NAMED, "*spec": {"maxUnavailable": int, "*selector": LABELS}}),
    "StatefulSet": ("apps/v1", {"*metadata": NAMED, "*spec": {"*serviceName": str, "replicas": int, "podManagementPolicy": {"Parallel"}, "*selector": LABELS, "*template": TEMPLATE}}),
    "Deployment": ("apps/v1", {"*metadata": NAMED, "*spec": {"replicas": int, "strategy": {"rollingUpdate": {"maxSurge": int, "maxUnavailable": int}}, "*selector": LABELS, "*template": TEMPLATE}})}


def wrong(value, what, at):
    """Yields the places where the value does not match the schema."""
    if isinstance(what, (set, type)):
        good = value in what if isinstance(what, set) else type(value) is what
        return [] if good else ["%s is %r, not %s" % (at, value, what)]
    if isinstance(what, list):
        return [w for i, v in enumerate(value) for w in wrong(v, what[0], "%s[%d]" % (at, i))] if isinstance(value, list) else [at + " is no list"]
    if not isinstance(value, dict):
        return [at + " is no map"]
    if isinstance(what, tuple):
        return [w for k, v in value.items() for w in wrong(v, what[0], at + "." + k)]
    known = {key.lstrip("*"): of for key, of in what.items()}
    return ([w for k, v in value.items() for w in (wrong(v, known[k], at + "." + k) if k in known else ["%s has no field %s" % (at, k)])]
            + ["%s lacks %s" % (at, k[1:]) for k in what if k[0] == "*" and k[1:] not in value])


def wrong_document(document):
    version, what = KINDS[document["kind"]]
    return wrong(document, {"*apiVersion": {version}, "*kind": str, **what}, document["kind"])


def documents(name):
    with open(os.path.join(FOLDER, name)) as file:
        return list(yaml.safe_load_all(file))


def workloads():
    for name in FILES:
        everything = documents(name)
        for document in everything:
            if "template" in document.get("spec", {}):
                yield name, everything, document, document["spec"]["template"]


def containers(template):
    return template["spec"].get("initContainers", []) + template["spec"]["containers"]


@claim("every field exists in Kubernetes and has its type, and a misspelt, missing or mistyped field is detected")
def _():
    assert len(FILES) >= 3
    for name in FILES:
        for document in documents(name):
            assert not wrong_document(document), (name, wrong_document(document))
    found = documents("statefulset.yaml")[-1]
    found["spec"]["replica"] = 3
    found["spec"]["replicas"] = "3"
    del found["spec"]["serviceName"]
    assert len(wrong_document(found)) == 3, wrong_document(found)


@claim("selectors and names of volumes, ports and ConfigMaps refer to existing objects")
def _():
    for name, everything, document, template in workloads():
        labels, of = template["metadata"]["labels"], {(d["kind"], d["metadata"]["name"]): d for d in everything}
        assert document["spec"]["selector"]["matchLabels"].items() <= labels.items(), name
        ports = {p["name"] for c in containers(template) for p in c.get("ports", [])}
        for d in everything:
            if d["kind"] in ("Service", "PodDisruptionBudget"):
                selector = d["spec"]["selector"]
                assert selector.get("matchLabels", selector).items() <= labels.items(), (name, d["metadata"])
                assert {p["targetPort"] for p in d["spec"].get("ports", [])} <= ports, (name, d)
        volumes = {v["name"]: v for v in template["spec"]["volumes"]}
        for volume in volumes.values():
            assert "configMap" not in volume or ("ConfigMap", volume["configMap"]["name"]) in of, (name, volume)
        mounted = {m["name"] for c in containers(template) for m in c["volumeMounts"]}
        assert mounted == set(volumes), (name, mounted, set(volumes))
        if document["kind"] == "StatefulSet":
            assert of["Service", document["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"


@claim("vesta check accepts the configs, and probes use the health command or existing routes and ports of the server")
def _():
    with open(os.path.join(REPO, "csrc", "server", "table.h")) as file:
        routes = set(re.findall(r'^ROUTE\(.*?"(/[^"]*)"', file.read(), re.M))
    for name, everything, _, template in workloads():
        config = next(d["data"]["vesta.lua"] for d in everything if d["kind"] == "ConfigMap")
        with tempfile.TemporaryDirectory() as folder:
            for secret, text in (("store", "zk://zk:2181/vesta"), ("auth", "a:b"), ("resp", "0123456789abcdef"), ("vesta.lua", config.replace("/run/secrets/vesta/", folder + "/"))):
                with open(os.path.join(folder, secret), "w") as file:
                    file.write(text)
                os.chmod(os.path.join(folder, secret), 0o600)
            done = subprocess.run([PROGRAM, "check", os.path.join(folder, "vesta.lua")], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (name, done.stderr)
        vesta = next(c for c in containers(template) if c["name"] == "vesta")
        ports = {p["name"]: p["containerPort"] for p in vesta.get("ports", [])}
        for port in ports.values():
            assert '0.0.0.0:%d"' % port in config, (name, port)
        for probe in (vesta[key] for key in vesta if key.endswith("Probe")):
            if "exec" in probe:
                assert probe["exec"]["command"][:2] == ["/usr/bin/vesta", "health"], probe
            else:
                assert probe["httpGet"]["path"] in routes and probe["httpGet"]["port"] in ports, probe


@claim("the grace period exceeds preStop and the server's time to end, and no container runs as root or writes to its "
       "root")
def _():
    for name, _, _, template in workloads():
        spec = template["spec"]
        sleep = max(c.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0) for c in containers(template))
        assert spec["terminationGracePeriodSeconds"] >= sleep + 2 * ENDS_S, name
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0
        for container in containers(template):
            assert container["securityContext"] == {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}, name


@claim("the state is in vesta's own folder, in an emptyDir that no other container mounts")
def _():
    for name, _, _, template in workloads():
        everywhere = [(c["name"], m) for c in containers(template) for m in c["volumeMounts"]]
        vesta = next(c for c in containers(template) if c["name"] == "vesta")
        state = next(e["value"] for e in vesta["env"] if e["name"] == "VESTA_STATE")
        volume = next(m["name"] for m in vesta["volumeMounts"] if m["mountPath"] == os.path.dirname(state))
        assert next(v for v in template["spec"]["volumes"] if v["name"] == volume) == {"name": volume, "emptyDir": {}}, name
        assert [who for who, m in everywhere if m["name"] == volume] == ["vesta"], name


sys.exit(run("", lambda function: function()))
