"""drive_nginx.py -- the driver of the client in nginx.  It starts an nginx of one process, which ends with it, and sends each
command as a request to drive_nginx.lua.
"""
import ctypes
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PR_SET_PDEATHSIG = 1
CONF = """
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off; master_process off; pid nginx.pid; error_log stderr error;
env CLOCK_SHIFT;
events {}
http {
    access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
    scgi_temp_path scgi; lua_ssl_trusted_certificate %(ca)s; lua_package_path "%(here)s/?.lua;%(here)s/../../lua/?.lua;;";
    server { listen unix:%(folder)s/sock; location / {
        client_max_body_size 1m; client_body_buffer_size 1m;
        content_by_lua_block {
            ngx.req.read_body()
            ngx.print((require "drive_nginx".answer(ngx.req.get_body_data()):gsub("\\n", " ")))
        } } }
}
"""


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("nginx", timeout=600)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(folder):
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    with open(os.path.join(folder, "nginx.conf"), "w") as file:
        file.write(CONF % {"here": HERE, "folder": folder, "ca": os.environ.get("TLS_CA", "/etc/ssl/certs/ca-certificates.crt")})
    nginx = subprocess.Popen([program, "-p", folder, "-c", file.name, "-e", "stderr"], stdin=subprocess.DEVNULL,
                             stdout=sys.stderr, preexec_fn=die_with_parent)
    connection = Connection(os.path.join(folder, "sock"))
    while True:
        try:
            connection.connect()
            break
        except OSError:
            if nginx.poll() is not None:
                sys.exit("nginx did not start")
            time.sleep(0.01)
    for line in sys.stdin:
        connection.request("POST", "/", body=line.rstrip("\n"))
        answer = connection.getresponse()
        said = answer.read().decode()
        print(said if answer.status == 200 else "error nginx answered %d" % answer.status, flush=True)
    nginx.terminate()
    nginx.wait(20)


with tempfile.TemporaryDirectory(prefix="vesta-drive-") as made:
    main(made)
