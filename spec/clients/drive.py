"""drive.py -- runs examples/clients/vesta.py by the commands in README."""
import inspect
import os
import sys
import threading
from urllib.parse import unquote

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "clients"))
import vesta  # noqa: E402

SECONDS = ("ttl", "timeout", "wait")
client = None


def open_client(*pairs):
    global client
    if client:
        client.close()
    given = {key: unquote(value) for key, _, value in (pair.partition("=") for pair in pairs)}
    servers = given.pop("servers", "")
    if not given.pop("as_text", ""):
        servers = [part for part in servers.split(",") if part]
    try:
        for key in SECONDS + ("size",):
            if key in given:
                given[key] = int(given[key]) / 1000 if key in SECONDS else int(given[key])
        if "tls_unverified" in given:
            given["tls_unverified"] = given["tls_unverified"] == "yes" or given["tls_unverified"]
        client = vesta.Client(servers, given.pop("name", ""), **given)
    except (ValueError, TypeError) as error:
        return "error %s" % error
    return "ok"


def take(count):
    """Returns ids until the first error, and that error."""
    ids, error = [], ""
    try:
        for _ in range(count):
            ids.append(client.next())
    except vesta.Error as why:
        error = " error %s" % why
    return "".join(" %d" % id for id in ids), error


def uuids(count):
    try:
        return "uuids " + " ".join(str(client.next_uuid7()) for _ in range(count))
    except (vesta.Error, ValueError) as why:
        return "error %s" % why


def at_once(threads, count):
    said = []
    workers = [threading.Thread(target=lambda: said.append(take(count))) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return "ids" + "".join(ids for ids, _ in said) + max(error for _, error in said)


def fork(count):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(into, "".join(take(count)).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return "ids" + said


def info():
    told = client.info()
    errors = ",".join("%s:%d" % pair for pair in told.pop("errors").items())
    return "info " + " ".join("%s=%d" % pair for pair in told.items()) + " errors=" + errors


def close():
    client.close()
    return "ok"


def defaults():
    held = {key: one.default for key, one in inspect.signature(vesta.Client).parameters.items()}
    return "defaults " + " ".join("%s=%d" % (key, held[key] * (1000 if key in SECONDS else 1)) for key in SECONDS + ("size",))


COMMANDS = {"defaults": defaults, "open": open_client, "next": lambda n: "ids" + "".join(take(int(n))), "info": info, "close": close,
            "at_once": lambda t, n: at_once(int(t), int(n)), "fork": lambda n: fork(int(n)),
            "uuids": lambda n: uuids(int(n))}

for line in sys.stdin:
    word, *arguments = line.split()
    said = COMMANDS[word](*arguments) if word in COMMANDS else "error no command %s" % word
    print(said.replace("\n", " "), flush=True)
