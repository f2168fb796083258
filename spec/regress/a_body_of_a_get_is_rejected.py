"""Regression: the server ignored the body of a GET, so `curl -X GET -d ns=nosuch /genid` returned an id of the first
namespace with 200."""
import re

from serving import Server, claim, get, main, same

FORM = b"ns=nosuch"


def routes(server):
    listed = re.findall(r"(?m)^(?:POST )?(/[\w/.{}]*)", server.get("/").body)
    return [path.replace("{id}", "1").replace("{key}", "default") for path in listed]


def ask(server, method, path, *headers, body=FORM):
    length = "Content-Length: %d" % len(body)
    return server.say(server.http, get(path, length, *headers, method=method) + body)


def status(said):
    return int(said.split(b" ", 2)[1])


@claim("a GET, HEAD or OPTIONS with a body of any type is rejected with 415 on every route, and costs no id")
def _(world):
    with Server(world) as server:
        all_routes = routes(server)
        assert len(all_routes) > 20, all_routes
        before = server.tick()
        for path in all_routes + ["*"]:
            for method in ("OPTIONS",) if path == "*" else ("GET", "HEAD", "OPTIONS"):
                for kind in ("application/x-www-form-urlencoded", "application/json", "text/plain"):
                    said = ask(server, method, path, "Content-Type: " + kind)
                    if re.search("/(reservations|leases)", path) and method != "OPTIONS":
                        same((method, path, status(said)), (method, path, 405))
                    elif "/tinyid/" in path:  # tinyid's errors have status 200 and contain no id.
                        same((method, path, status(said)), (method, path, 200))
                        assert method == "HEAD" or path.endswith("Simple") or b'"code":6' in said, said
                    else:
                        same((method, path, kind, status(said)), (method, path, kind, 415))
        same(server.tick(), before + 1)


@claim("a chunked body is rejected with 411 for every method, and the bytes after it are not read as a request")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for method in "GET", "HEAD", "POST", "OPTIONS":
            chunks = b"9\r\nns=nosuch\r\n0\r\n\r\n"
            said = server.say(server.http, get("/genid", "Transfer-Encoding: chunked", method=method) + chunks + get("/genid"))
            same((method, status(said), said.count(b"HTTP/1.1 ")), (method, 411, 1))
        same(server.tick(), before + 1)


@claim("a request with Content-Length 0 is answered as usual")
def _(world):
    with Server(world) as server:
        for method in "GET", "HEAD", "POST", "OPTIONS":
            same(status(ask(server, method, "/genid", body=b"")), 200)


@claim("an unknown parameter, a repeated one, and one in both the query and the body are rejected with 400")
def _(world):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with Server(world) as server:
        for path in "/genid?x=1", "/genid?ns=default&ns=default", "/healthz?x=1", "/v1/ids?n=1&n=2", "/genid?=x", "/makeid?time=1&time=2&seq=1":
            same((path, server.get(path).status), (path, 400))
        same(server.get("/genid?ns=default", method="POST", headers=form, body="ns=default").status, 400)
        same(server.get("/v1/ids?n=1", method="POST", headers=form, body="ns=default").status, 200)


main()
