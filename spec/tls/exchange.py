"""exchange.py VESTA CERTIFICATES -- a serving server's certificate is replaced, broken, or about to expire."""
import json
import os
import re
import signal
import subprocess
import threading
import time

from secured import Secure, whole
from servers import until
from serving import claim, command, get, main, same


@claim("a certificate is replaced under load without an error")
def a_certificate_is_exchanged_under_load_without_an_error(world):
    with Secure(world, "--threads", "2") as server:
        ended, failed, counts = threading.Event(), [], [0, 0]

        def ask(which):
            while not ended.is_set():
                try:
                    if which:
                        int(server.say(server.resp, command("GET", "default")).split(b"\r\n")[1])
                    else:
                        assert server.say(server.http, get("/genid")).startswith(b"HTTP/1.1 200")
                    counts[which] += 1
                except Exception as error:  # pylint: disable=broad-except
                    failed.append(repr(error))
        askers = [threading.Thread(target=ask, args=(which,), daemon=True) for which in (0, 1)]
        for asker in askers:
            asker.start()
        with server.connect(server.resp) as kept:  # it continues with its original certificate
            for turn in range(2):
                before = list(counts)
                server.put(("next", "server")[turn])
                if turn == 0: # the second time, the change is detected without HUP
                    server.process.send_signal(signal.SIGHUP)
                server.listen("name=%s.example.com" % ("next", "ids")[turn])
                until(lambda: counts[0] > before[0] and counts[1] > before[1], "both receive requests again")
                kept.sendall(command("PING"))
                same(whole(kept, True), b"+PONG\r\n")
        ended.set()
        for asker in askers:
            asker.join()
        same(failed, [])


@claim("symbolic links are followed as Kubernetes and certbot replace them")
def links_are_followed_as_kubernetes_and_certbot_turn_them(world):
    server = Secure(world)
    for name in "server", "next":
        os.mkdir(world.path(name))
        for kind in "pem", "key":
            os.link(server.file("%s.%s" % (name, kind)), world.path(name, kind))
    os.remove(server.own + "/pem"), os.remove(server.own + "/key"), os.rmdir(server.own)
    os.symlink("server", server.own)
    with server:
        os.symlink("next", world.path("turned"))
        os.rename(world.path("turned"), server.own)
        server.listen("name=next.example.com")
        assert "next.example.com" in server.s_client()


@claim("after a broken pair, the old one stays in use and an error names the file")
def a_broken_pair_leaves_the_old_one_and_is_named(world):
    with Secure(world, "--admin", "unix:" + world.path("admin")) as server:
        def state():
            return json.loads(subprocess.run(["curl", "-s", "--unix-socket", world.path("admin"), "http://x/admin/status"],
                                             capture_output=True, check=True).stdout)["tls"]
        same(state()["name"], "ids.example.com")
        server.put("next", key="server")
        said = server.listen("the previous one stays in use")
        assert server.own + "/key: this private key is not that of the certificate in " + server.own + "/pem" in said, said
        assert "this private key is not" in state()["error"]
        with open(server.own + "/pem", "w") as file:
            file.write("-----BEGIN CERTIFICATE-----\nnone\n")
        server.process.send_signal(signal.SIGHUP)
        assert server.own + "/pem: no certificate can be read from it" in server.listen("the previous one stays in use")
        os.remove(server.own + "/pem")
        server.process.send_signal(signal.SIGHUP)
        assert "No such file" in server.listen("the previous one stays in use")
        assert "ids.example.com" in server.s_client()
        server.put("server")
        server.listen("the certificate was reloaded")
        assert "error" not in state()


@claim("a key whose permissions are corrected is read again without HUP")
def a_key_whose_rights_are_corrected_is_read_again_without_hup(world):
    is_root = os.geteuid() == 0
    os.chmod(world.folder, 0o755)
    with Secure(world, *(["--user", "nobody"] if is_root else [])) as server:
        os.chmod(server.own + "/key", 0)
        assert "Permission denied" in server.listen("the previous one stays in use")
        os.chmod(server.own + "/key", 0o644)
        server.listen("the certificate was reloaded")


@claim("if a TLS file hangs while it is read again, released worker ids are not reported as lost")
def a_file_that_hangs_does_not_spoil_the_end(world):
    with Secure(world) as server:
        os.remove(server.own + "/key")
        os.mkfifo(server.own + "/key")  # opening it blocks
        server.process.send_signal(signal.SIGHUP)
        time.sleep(1)
        server.process.send_signal(signal.SIGTERM)
        said = server.process.stderr.read()
        same(server.process.wait(), 0)
        assert "all worker ids are released" in said and "forced to exit" not in said, said
        server.was_killed = True  # it has ended already


@claim("a certificate that expires soon is logged")
def a_certificate_that_runs_out_is_told_of(world):
    server = Secure(world)
    server.put("next")
    with server:
        said = server.heard("the certificate expires soon")
        assert re.search("days_left=(19|20) ", said) and "level=warn" in said, said  # 20 within its first second
        left = server.metric("vesta_tls_certificate_expiry_timestamp_seconds") - time.time()
        assert 19 * 86400 < left <= 20 * 86400, left


main()
