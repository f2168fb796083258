"""drive.py -- runs examples/inprocess/vesta_ids.py by the commands in README."""
import os
import sys
import threading
from urllib.parse import quote, unquote

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "inprocess"))
import vesta_ids  # noqa: E402

CHUNK, FORK_EVERY = 190, 200  # 190 lines of 21 bytes fit into a write that a pipe keeps whole
ids = None


def failed(error):
    if isinstance(error, vesta_ids.Pause):
        return "error pause %s %d %s" % (error.reason, error.wait_ms, error)
    return "error %s %s" % (error.code, error)


def fields(told):
    return "fields " + " ".join("%s=%s" % (name, quote(str(value), safe="")) for name, value in told.items())


def told(numbers):
    return "ids " + " ".join(map(str, numbers))


def open_generator(wait_ms, options):
    global ids
    opened = vesta_ids.open(unquote(options), wait_ms=int(wait_ms))
    if ids:
        ids.close()
    ids = opened
    return "ok"


def take(count):
    """Returns ids until the first error, and that error."""
    numbers = []
    try:
        for _ in range(count):
            numbers.append(ids.next())
    except vesta_ids.Error as error:
        return told(numbers) + " " + failed(error)
    return told(numbers)


def at_once(threads, count):
    said = []
    workers = [threading.Thread(target=lambda: said.append(take(count))) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return "ids" + "".join(line[3:] for line in sorted(said, key=lambda line: "error" in line))


def fork(count):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(into, take(count).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def close():
    ids.close()
    return "ok"


COMMANDS = {
    "open": open_generator, "next": lambda n: take(int(n)), "batch": lambda n: told(ids.batch(int(n))),
    "at_once": lambda t, n: at_once(int(t), int(n)), "fork": lambda n: fork(int(n)), "uuid": lambda shape, n: "text " + " ".join(ids.next_uuid(shape) for _ in range(int(n))), "explain": lambda id: fields(ids.explain(int(id))),
    "make": lambda *pairs: told([ids.make(**dict(pair.split("=") for pair in pairs))]),
    "format": lambda id, base: "text " + vesta_ids.format(int(id), base),
    "parse": lambda base, text="": told([vesta_ids.parse(unquote(text), base)]), "info": lambda: fields(ids.info()), "close": close}


def serve():
    for line in sys.stdin:
        word, *arguments = line.split()
        try:
            said = COMMANDS[word](*arguments)
        except vesta_ids.Error as error:
            said = failed(error)
        print(said.replace("\n", " "), flush=True)


def write(numbers):
    os.write(1, "".join(map("%d\n".__mod__, numbers)).encode())


def record(options):
    generator = vesta_ids.open(options, wait_ms=60_000)
    chunk = 0
    while True:
        chunk += 1
        write(generator.batch(CHUNK) if chunk % 10 == 0 else [generator.next() for _ in range(CHUNK)])
        if chunk % FORK_EVERY == 0:
            child = os.fork()
            if child == 0:
                write([generator.next() for _ in range(CHUNK)])
                os._exit(0)
            os.waitpid(child, 0)


if sys.argv[1:2] == ["record"]:
    record(sys.argv[2])
else:
    serve()
