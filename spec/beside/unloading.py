"""unloading.py VESTA BUILD -- hosts that load libvesta, its client and the rock, and unload them with everything left
open: a thread of the library outlives the handle.  The host must keep running, and may load them again."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from claims import SLOW, claim, run
from ports import free_port

VESTA, BUILD = sys.argv[1:3]
STAY_S = 1.5  # a keeper and a client's thread wake up within a second
folder = tempfile.mkdtemp(prefix="vesta-unloading-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
LIBRARY, CLIENT = (os.path.join(folder, "lib", name) for name in ("libvesta.so.0", "libvesta_client.so.0"))
os.environ.update(VESTA_STATE=folder, LD_LIBRARY_PATH=os.path.join(folder, "lib"))
has_sqlite = os.path.exists(os.path.join(BUILD, "store", "sqlite.so"))


def claim_if(is_here, what):
    """A claim about a host program that this machine has."""
    return claim(what) if is_here else lambda function: function


luajit, ruby, php = (shutil.which(name) for name in ("luajit", "ruby", "php"))
php = php if php and "FFI" in subprocess.run([php, "-m"], capture_output=True, text=True).stdout else None


def install():
    """The libraries with their modules next to them, as they are installed."""
    os.makedirs(os.path.dirname(LIBRARY))
    for path in filter(os.path.exists, (os.path.join(BUILD, "csrc", os.path.basename(path)) for path in (LIBRARY, CLIENT))):
        shutil.copy(path, os.path.dirname(LIBRARY))
    for name in ("store", "tls", "client"):
        for path in glob.glob(os.path.join(BUILD, name, "*.so")):
            os.makedirs(os.path.join(folder, "lib", "vesta", name), exist_ok=True)
            shutil.copy(path, os.path.join(folder, "lib", "vesta", name))


def lives(command, *has, **kw):
    """Checks that the program ends by itself with 0, and has printed that."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * SLOW, **kw)
    assert done.returncode == 0, "%s ended with %d\n%s%s" % (command[0], done.returncode, done.stdout, done.stderr)
    for part in has:
        assert part in done.stdout, done.stdout + done.stderr


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def options(name):
    return "namespace=%s layout=vesta-milli any_worker=true store=file:%s/leases" % (name, folder)


# ------------------------------------------------------------------ Python

PYTHON = r'''
import ctypes, _ctypes, gc, sys, time

class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512)]
class Pause(ctypes.Structure):
    _fields_ = [("why", ctypes.c_int), ("slot", ctypes.c_uint32), ("ahead_ticks", ctypes.c_uint64), ("back_us", ctypes.c_int64),
                ("wait_us", ctypes.c_int64)]
class ClientOpts(ctypes.Structure):
    _fields_ = ([("size", ctypes.c_size_t)] + [(n, ctypes.c_char_p) for n in ("servers", "name", "password")] + [("fallback", ctypes.c_void_p)] +
                [(n, ctypes.c_int64) for n in ("block_min", "block_max", "ttl_ms", "timeout_ms")] +
                [(n, ctypes.c_char_p) for n in ("user", "secret_file", "tls_ca", "tls_certificate", "tls_key")] + [("tls_unverified", ctypes.c_int)])
class SegmentOpts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("clock", ctypes.c_void_p), ("stores", ctypes.c_char_p * 8), ("secrets", ctypes.c_char_p * 8),
                ("table", ctypes.c_char_p), ("tag", ctypes.c_char_p), ("group", ctypes.c_char_p), ("step", ctypes.c_uint64),
                ("step_max", ctypes.c_uint64), ("order", ctypes.c_int), ("flags", ctypes.c_uint), ("floor", ctypes.c_void_p),
                ("floor_self", ctypes.c_void_p)]

def well(rc, error):
    assert rc == 0, (rc, error.text)

def next_of(call, handle):
    number, pause = ctypes.c_uint64(), Pause()
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    rc = call(handle, ctypes.byref(number), 10000000, ctypes.byref(pause))
    assert rc == 0, (rc, pause.why)
    return number.value

def opened(call, opts):
    handle, error = ctypes.c_void_p(), Error()
    well(call(opts, ctypes.byref(handle), ctypes.byref(error)), error)
    return handle

def generator(lib):
    return next_of(lib.vesta_next_wait, opened(lib.vesta_open_text, sys.argv[2].encode()))

def segment(lib):
    opts = SegmentOpts(ctypes.sizeof(SegmentOpts), tag=b"orders")
    opts.stores[0] = sys.argv[2].encode()
    return next_of(lib.vesta_segment_next_wait, opened(lib.vesta_segment_open, ctypes.byref(opts)))

def client(lib):
    opts = ClientOpts(ctypes.sizeof(ClientOpts), servers=sys.argv[2].encode())
    return next_of(lib.vesta_client_next_wait, opened(lib.vesta_client_open, ctypes.byref(opts)))

seen = set()
for i in range(3):
    lib = ctypes.CDLL(sys.argv[1])
    seen.add(globals()[sys.argv[3]](lib))
    handle = lib._handle
    del lib
    gc.collect()
    _ctypes.dlclose(handle)
    time.sleep(float(sys.argv[4]))
assert len(seen) == 3, seen
print("it lives")
'''


def python(library, opened, what):
    lives([sys.executable, write("host.py", PYTHON), library, opened, what, str(STAY_S)], "it lives")


@claim("Python unloads libvesta with an open generator, and loads it again")
def _():
    python(LIBRARY, options("python"), "generator")


@claim("Python unloads libvesta with an open segment, whose store is a module of its own")
def _():
    for store in ["file:%s/counters" % folder] + ["sqlite:%s/v.db" % folder] * has_sqlite:
        subprocess.run([VESTA, "segments", "add", "orders", "--step", "100", "--store", store], check=True, capture_output=True, timeout=30)
        python(LIBRARY, store, "segment")


@claim_if(os.path.exists(os.path.join(BUILD, "csrc", "libvesta_client.so.0")), "Python unloads libvesta_client with an open client, and libvesta below it")
def _():
    port = free_port()
    server = subprocess.Popen([VESTA, "serve", "--http", "unix:%s/http.sock" % folder, "--resp", "127.0.0.1:%d" % port, "--namespace", "default", "--store",
                               "file:%s/served" % folder, "--path", folder + "/served.gen"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        python(CLIENT, "127.0.0.1:%d" % port, "client")
    finally:
        server.terminate()
        server.wait(20)


# ------------------------------------------------------------------ PHP, LuaJIT, Ruby

PHP = r'''<?php
$ffi = FFI::cdef("int vesta_open_text(const char *, void **, void *); int vesta_next_wait(void *, uint64_t *, int64_t, void *);", "%s");
$gen = FFI::new("void *[1]");
$error = FFI::new("char[600]");
if ($ffi->vesta_open_text("%s", FFI::addr($gen[0]), FFI::addr($error)) !== 0) exit("not opened\n");
$id = FFI::new("uint64_t[1]");
$pause = FFI::new("char[64]");
if ($ffi->vesta_next_wait($gen[0], FFI::addr($id[0]), 10000000, FFI::addr($pause)) !== 0) exit("no id\n");
echo "id ", $id[0], "\n";
'''


@claim_if(php, "PHP's built-in server answers many requests, each of which unloads libvesta with an open generator")
def _():
    script = write("ids.php", PHP % (LIBRARY, options("php")))
    lives([php, "-d", "ffi.enable=1", script], "id ")
    port = free_port()
    server = subprocess.Popen([php, "-d", "ffi.enable=1", "-S", "127.0.0.1:%d" % port, script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ids = set()
        end = time.monotonic() + 20 * SLOW
        while len(ids) < 3:
            assert server.poll() is None, "the host ended with %d after %d ids" % (server.returncode, len(ids))
            assert time.monotonic() < end, "no answer"
            try:
                ids.add(urllib.request.urlopen("http://127.0.0.1:%d/" % port, timeout=10).read().decode())
                time.sleep(STAY_S)
            except OSError:
                time.sleep(0.1)
        assert all(one.startswith("id ") for one in ids), ids
        assert server.poll() is None, "the host ended with %d" % server.returncode
    finally:
        server.kill()
        server.wait()


LUAJIT = r'''
local ffi = require "ffi"
ffi.cdef "int vesta_open_text(const char *, void **, void *); int vesta_next_wait(void *, uint64_t *, int64_t, void *); unsigned sleep(unsigned);"
local seen, count = {}, 0
for i = 1, 3 do
  local lib, gen, id = ffi.load "%s", ffi.new "void *[1]", ffi.new "uint64_t[1]"
  assert(lib.vesta_open_text("%s", gen, ffi.new "char[600]") == 0)
  assert(lib.vesta_next_wait(gen[0], id, 10000000, ffi.new "char[64]") == 0)
  if not seen[tostring(id[0])] then seen[tostring(id[0])], count = true, count + 1 end
  lib, gen = nil, nil
  collectgarbage() collectgarbage()
  ffi.C.sleep(2)
end
print(count == 3 and "it lives" or "ids come twice")
'''


@claim_if(luajit, "LuaJIT collects libvesta with an open generator, and loads it again")
def _():
    lives([luajit, write("host.lua", LUAJIT % (LIBRARY, options("luajit")))], "it lives")


RUBY = r'''
require "fiddle"
seen = (1..3).map do
  lib = Fiddle::Handle.new("%s")
  open = Fiddle::Function.new(lib["vesta_open_text"], [Fiddle::TYPE_VOIDP] * 3, Fiddle::TYPE_INT)
  nxt = Fiddle::Function.new(lib["vesta_next_wait"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP, Fiddle::TYPE_LONG_LONG, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
  gen, id = Fiddle::Pointer.malloc(8), Fiddle::Pointer.malloc(8)
  raise "not opened" unless open.call("%s", gen, Fiddle::Pointer.malloc(600)) == 0
  raise "no id" unless nxt.call(gen.ptr, id, 10000000, Fiddle::Pointer.malloc(64)) == 0
  lib.close
  open = nxt = nil
  GC.start
  sleep 1.5
  id[0, 8].unpack1("Q")
end
puts seen.uniq.size == 3 ? "it lives" : "ids come twice"
'''


@claim_if(ruby, "Ruby closes libvesta with an open generator, and loads it again")
def _():
    lives([ruby, write("host.rb", RUBY % (LIBRARY, options("ruby")))], "it lives")


# ------------------------------------------------------------------ the rock

# A Lua host, as an editor or a game is: states come and go in it, and each unloads the modules that it has loaded.
LUA_HOST = r'''
import ctypes, sys, time
lua = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
lua.luaL_newstate.restype = ctypes.c_void_p
lua.lua_tolstring.restype = ctypes.c_char_p
lua.lua_tolstring.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
for name in ("luaL_openlibs", "lua_close"):
    getattr(lua, name).argtypes = [ctypes.c_void_p]
lua.luaL_loadstring.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
call = getattr(lua, "lua_pcallk", None) if sys.argv[2] != "5.1" else None
for i in range(3):
    L = lua.luaL_newstate()
    lua.luaL_openlibs(L)
    rc = lua.luaL_loadstring(L, sys.argv[3].encode())
    if rc == 0 and call:
        call.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ssize_t, ctypes.c_void_p]
        rc = call(L, 0, 0, 0, 0, None)
    elif rc == 0:
        lua.lua_pcall.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
        rc = lua.lua_pcall(L, 0, 0, 0)
    assert rc == 0, lua.lua_tolstring(L, -1, None)
    lua.lua_close(L)
    time.sleep(float(sys.argv[4]))
print("it lives")
'''

LUA = r'''
local vesta = require "vesta"
ids = vesta.open { namespace = "lua", layout = "vesta-milli", any_worker = true, store = "file:%s/leases", wait_ms_max = 10000 }
assert(ids:next())
local has_segments, seg = pcall(vesta.segment, { tag = "orders", stores = { "file:%s/counters" }, wait_ms_max = 10000 })
if has_segments and seg then assert(seg:next()) end
for name in pairs(package.loaded) do
  if name:find "^vesta" then package.loaded[name] = nil end
end
'''


@claim("a host closes states of each Lua with open generators and segments, and makes others")
def _():
    for core in sorted(glob.glob(os.path.join(BUILD, "lua", "*", "vesta", "core.so"))):
        version = core.split(os.sep)[-3]
        library = "liblua%s.so.0" % version
        if subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('%s')" % library], capture_output=True).returncode != 0:
            continue
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lua")
        env = dict(os.environ, LUA_PATH="%s/?.lua;%s/?/init.lua" % (root, root), LUA_CPATH="%s/lua/%s/?.so" % (BUILD, version))
        lives([sys.executable, write("lua_host.py", LUA_HOST), library, version, LUA % (folder, folder), str(STAY_S)], "it lives", env=env)


@claim("everything that a host loads stays loaded: each library and module has -z nodelete")
def _():
    files = [LIBRARY, CLIENT] + [path for name in ("store", "tls", "client", "fill") for path in glob.glob(os.path.join(BUILD, name, "*.so"))]
    files += glob.glob(os.path.join(BUILD, "lua", "*", "vesta", "core.so"))
    for path in filter(os.path.exists, files):
        dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        assert re.search(r"FLAGS_1.*NODELETE", dynamic), path


try:
    install()
    code = run("", lambda function: function())
finally:
    shutil.rmtree(folder, ignore_errors=True)
sys.exit(code)
