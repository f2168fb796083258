"""Lanes in Python through libvesta: python3 examples/inprocess/lanes.py

Each thread has its own lane, and a call from another thread fails.  If a language moves its threads between threads of the
system (Go without runtime.LockOSThread, Java's virtual threads), use blocks instead: vesta_next_block.
"""
import ctypes
import threading

import vesta_ids

WAIT_US_MAX = 2_000_000
VESTA_EOPTION = -10
vesta = ctypes.CDLL(vesta_ids.LIBRARY)
vesta.vesta_lane_open.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p]
vesta.vesta_lane_next_wait.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
vesta.vesta_lane_close.argtypes = [ctypes.c_void_p]


class CError(ctypes.Structure):  # struct vesta_error
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512)]


class CPause(ctypes.Structure):  # struct vesta_pause
    _fields_ = [("why", ctypes.c_int), ("slot", ctypes.c_uint32), ("ahead_ticks", ctypes.c_uint64),
                ("back_us", ctypes.c_int64), ("wait_us", ctypes.c_int64)]


def open_generator(options):
    gen, error = ctypes.c_void_p(), CError()
    if vesta.vesta_open_text(options.encode(), ctypes.byref(gen), ctypes.byref(error)) != 0:
        raise ValueError(error.text.decode())
    return gen


def open_lane(gen, run):
    lane, error = ctypes.c_void_p(), CError()
    if vesta.vesta_lane_open(gen, run, ctypes.byref(lane), ctypes.byref(error)) != 0:
        raise ValueError(error.text.decode())
    return lane


def next_of(lane):
    number, pause = ctypes.c_uint64(), CPause()
    code = vesta.vesta_lane_next_wait(lane, ctypes.byref(number), WAIT_US_MAX, ctypes.byref(pause))
    if code == VESTA_EOPTION:
        raise RuntimeError("this lane is another thread's")
    if code != 0:
        raise RuntimeError("no id just now")
    return number.value


def take(gen, count, ids):
    lane = open_lane(gen, 64)
    mine = [next_of(lane) for _ in range(count)]
    vesta.vesta_lane_close(lane)
    assert mine == sorted(mine)
    ids.extend(mine)


if __name__ == "__main__":
    generator = open_generator("namespace=lanes layout=vesta-second worker=7 pacing=history")
    ids = []
    threads = [threading.Thread(target=take, args=(generator, 1000, ids)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("ids         %d by %d threads, %d of them different" % (len(ids), len(threads), len(set(ids))))
    lane = open_lane(generator, 64)
    first = threading.Thread(target=next_of, args=(lane,))
    first.start()
    first.join()
    try:
        next_of(lane)
    except RuntimeError as error:
        print("refused     %s" % error)
    try:
        open_lane(generator, 5000)
    except ValueError as error:
        print("refused     %s" % error)
    vesta.vesta_lane_close(lane)
    vesta.vesta_close(generator)
