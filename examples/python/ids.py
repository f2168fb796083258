"""Ids in Python through libvesta, without building a module: python3 examples/python/ids.py

Copy this file and import it.  Options are a text for vesta_open_text, so that ctypes needs no struct.  If libvesta is built
but not installed, set LD_LIBRARY_PATH to its folder.
"""
import ctypes

WAIT_US_MAX = 2_000_000


class Error(ctypes.Structure):  # struct vesta_error
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512)]


class Pause(ctypes.Structure):  # struct vesta_pause
    _fields_ = [("why", ctypes.c_int), ("slot", ctypes.c_uint32), ("ahead_ticks", ctypes.c_uint64),
                ("back_us", ctypes.c_int64), ("wait_us", ctypes.c_int64)]


vesta = ctypes.CDLL("libvesta.so.0")
vesta.vesta_batch_wait.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_void_p]
vesta.vesta_pause_text.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
vesta.vesta_close.argtypes = [ctypes.c_void_p]


def open_generator(options):
    gen, error = ctypes.c_void_p(), Error()
    if vesta.vesta_open_text(options.encode(), ctypes.byref(gen), ctypes.byref(error)) != 0:
        raise ValueError(error.text.decode())
    return gen


def next_ids(gen, count):
    """Returns a list of count ids.  Raises if it cannot get all of them."""
    numbers, pause, text = (ctypes.c_uint64 * count)(), Pause(), ctypes.create_string_buffer(512)
    if vesta.vesta_batch_wait(gen, numbers, count, WAIT_US_MAX, ctypes.byref(pause)) != 0:
        vesta.vesta_pause_text(gen, ctypes.byref(pause), text, len(text))
        raise RuntimeError(text.value.decode())
    return list(numbers)


def next_id(gen):
    return next_ids(gen, 1)[0]


if __name__ == "__main__":
    generator = open_generator("namespace=example layout=vesta-milli worker=7 ahead_ms_max=0")
    ids = next_ids(generator, 1000)
    print("an id       %d" % next_id(generator))
    print("a batch     %d ids, %s" % (len(ids), "ascending" if ids == sorted(set(ids)) else "in disorder"))
    try:
        open_generator("wroker=7")
    except ValueError as error:
        print("refused     %s" % error)
    vesta.vesta_close(generator)
