"""vesta_ids.py -- ids in your own process, through libvesta and ctypes.  Copy this file and import it.

    ids = vesta_ids.open("namespace=orders any_worker=true")
    ids.next()                        # an int
    ids.batch(500)                    # a list of ints
    ids.next_uuid()                   # a str
    ids.explain(ids.next())["time"]

If libvesta is built but not installed, set LD_LIBRARY_PATH to its folder.  docs/languages.md has the rest.
"""
import ctypes
import functools

BATCH_MAX, ANSWER_MAX, TEXT_MAX = 10_000, 4096, 91  # as in vesta.h
LIBRARY = "libvesta.so.0"


class Error(Exception):
    """code: the name of an error of vesta.h, such as "bad_option"."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Pause(Error):
    """No id is available now.  reason: for example "clock_back".  wait_ms: when to try again, -1 if waiting will not help."""

    def __init__(self, text, reason, wait_ms):
        super().__init__("pause", text)
        self.reason, self.wait_ms = reason, wait_ms


def _declare(library, **functions):
    for name, (result, *arguments) in functions.items():
        function = getattr(library, "vesta_plain_" + name)
        function.restype, function.argtypes = result, arguments


_id, _int, _text, _room = ctypes.c_uint64, ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p
try:
    _library = ctypes.CDLL(LIBRARY)
except OSError as error:
    raise ImportError("%s: install libvesta0, or set LD_LIBRARY_PATH to the folder of %s" % (error, LIBRARY)) from error
_declare(_library, open=(_id, _text, _room), close=(None, _id), next_wait=(_id, _id, _int, _room),
         batch=(ctypes.c_int, _id, _room, _int, _int, _room), next_uuid=(ctypes.c_int, _id, _text, _room, _int, _room), explain=(ctypes.c_int, _id, _id, _room),
         make=(ctypes.c_int, _id, _text, _room), info=(ctypes.c_int, _id, _room),
         format=(ctypes.c_int, _text, _id, _room), parse=(ctypes.c_int, _text, _text, _id, _room))
# This call never blocks, so it need not release the GIL.  Without argtypes, ctypes passes the handle as it is.
_take = ctypes.PyDLL(LIBRARY).vesta_plain_next
_take.restype = _id


def _lines(answer):
    return dict(line.split("=", 1) for line in answer.value.decode(errors="replace").splitlines())


def _failure(answer):
    told = _lines(answer)
    if told["code"] == "pause":
        return Pause(told["text"], told["reason"], int(told["wait_ms"]))
    return Error(told["code"], told["text"])


def _answer_of(function, *arguments):
    answer = ctypes.create_string_buffer(ANSWER_MAX)
    if function(*arguments, answer) != 0:
        raise _failure(answer)
    return _lines(answer)


def _checked(id):
    if not 0 <= id < 2**64:  # ctypes would drop the higher bits
        raise Error("bad_id", "%d is not an id, which has 64 bits" % id)
    return id


class Generator:
    """An open generator.  All threads may use it at the same time, and children of a fork may, too.

    next: a function without arguments that returns an id, or raises Pause if none came within wait_ms."""

    def __init__(self, options, wait_ms=2000):
        answer = ctypes.create_string_buffer(ANSWER_MAX)
        handle = _id(_library.vesta_plain_open(options.encode(), answer))
        if not handle.value:
            raise _failure(answer)
        self._handle, self._wait_ms = handle, wait_ms
        take, wait = functools.partial(_take, handle), self._wait
        self.next = lambda: take() or wait()  # a closure, because a method would look up three names for each id

    def _wait(self):
        answer = ctypes.create_string_buffer(ANSWER_MAX)
        id = _library.vesta_plain_next_wait(self._handle, self._wait_ms, answer)
        if not id:
            raise _failure(answer)
        return id

    def batch(self, n):
        """Returns a list of n ids."""
        if not 1 <= n <= BATCH_MAX:
            raise Error("bad_option", "a batch of %d ids was requested. Request 1 to %d" % (n, BATCH_MAX))
        ids = (_id * n)()
        _answer_of(_library.vesta_plain_batch, self._handle, ids, n, self._wait_ms)
        return list(ids)

    def next_uuid(self, shape="uuid7"):
        """Returns a UUID as text.  shape: "uuid7", "uuid8", "ulid" or "hex32"."""
        text = ctypes.create_string_buffer(TEXT_MAX)
        _answer_of(_library.vesta_plain_next_uuid, self._handle, shape.encode(), text, self._wait_ms)
        return text.value.decode()

    def explain(self, id):
        """Returns the fields of an id and its time as unix_ms, a dict of int."""
        return {name: int(value) for name, value in _answer_of(_library.vesta_plain_explain, self._handle, _checked(id)).items()}

    def make(self, **fields):
        """Makes an id by hand: make(time=5, seq=1, worker=3).  A generator may issue the same id."""
        text = " ".join("%s=%s" % pair for pair in fields.items())
        return int(_answer_of(_library.vesta_plain_make, self._handle, text.encode())["id"])

    def info(self):
        """Returns the generator's state, a dict of str."""
        return _answer_of(_library.vesta_plain_info, self._handle)

    def close(self):
        """Closes the generator.  Close it only if no other thread uses it.  Later calls raise an Error with code "closed"."""
        handle, self._handle.value = self._handle.value, 0
        _library.vesta_plain_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


open = Generator


def format(id, base="decimal"):
    """Returns an id as text, in "decimal", "hex", "base32" or "base62"."""
    return _answer_of(_library.vesta_plain_format, base.encode(), _checked(id))["text"]


def parse(text, base="decimal"):
    raw = text.encode()
    return int(_answer_of(_library.vesta_plain_parse, base.encode(), raw, len(raw))["id"])
