"""switch.py LIBRARY GENERATOR_FILE -- waits for a pause, and asks the file's keeper for another worker id, as a policy does."""
import ctypes
import sys
import time

library = ctypes.CDLL(sys.argv[1])
gen, error, pause, id = ctypes.c_void_p(), ctypes.create_string_buffer(516), ctypes.create_string_buffer(32), ctypes.c_uint64()
assert library.vesta_open_text(b"path=" + sys.argv[2].encode(), ctypes.byref(gen), error) == 0, error.raw
end = time.monotonic() + 20
while library.vesta_next(gen, ctypes.byref(id), pause) == 0:
    assert time.monotonic() < end, "no pause"
code = library.vesta_switch(gen, pause)
assert code == 0, code
