"""a_body_of_a_get_is_rejected.py -- the body of a GET was dropped: `curl -X GET -d ns=nosuch /genid` returned an id of the
first namespace with 200."""
import re

from serving import Server, claim, get, main, same

FORM = b"ns=nosuch"


def routes(server):
    """Every path that `/` lists, without its parameters."""
    listed = re.findall(r"(?m)^(/[\w/.{}]*)", server.get("/").body)
    return [path.replace("{id}", "1").replace("{key}", "default") for path in listed]


def ask(server, method, path, *headers, body=FORM):
    length = "Content-Length: %d" % len(body)
    return server.say(server.http, get(path, length, *headers, method=method) + body)


def status(said):
    return int(said.split(b" ", 2)[1])


@claim("a body of a GET, HEAD or OPTIONS is 415 on every route, whatever its type; none of them takes an id")
def _(world):
    with Server(world) as server:
        all_routes = routes(server)
        assert len(all_routes) > 20, all_routes
        before = server.tick()
        for path in all_routes + ["*"]:
            for method in ("OPTIONS",) if path == "*" else ("GET", "HEAD", "OPTIONS"):
                for kind in ("application/x-www-form-urlencoded", "application/json", "text/plain"):
                    said = ask(server, method, path, "Content-Type: " + kind)
                    if "/reservations" in path and method != "OPTIONS":
                        same((method, path, status(said)), (method, path, 405))
                    elif "/tinyid/" in path:  # its failures have status 200, and no id
                        same((method, path, status(said)), (method, path, 200))
                        assert method == "HEAD" or path.endswith("Simple") or b'"code":6' in said, said
                    else:
                        same((method, path, kind, status(said)), (method, path, kind, 415))
        same(server.tick(), before + 1)


@claim("a body in chunks is 411 with every method, and what follows it is not taken for a request")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for method in "GET", "HEAD", "POST", "OPTIONS":
            chunks = b"9\r\nns=nosuch\r\n0\r\n\r\n"
            said = server.say(server.http, get("/genid", "Transfer-Encoding: chunked", method=method) + chunks + get("/genid"))
            same((method, status(said), said.count(b"HTTP/1.1 ")), (method, 411, 1))
        same(server.tick(), before + 1)


@claim("an empty body is none: Content-Length 0 is answered as before")
def _(world):
    with Server(world) as server:
        for method in "GET", "HEAD", "POST", "OPTIONS":
            same(status(ask(server, method, "/genid", body=b"")), 200)


@claim("a parameter that is unknown, given twice or given in the query and in the body is 400")
def _(world):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with Server(world) as server:
        for path in "/genid?x=1", "/genid?ns=default&ns=default", "/healthz?x=1", "/v1/ids?n=1&n=2", "/genid?=x", "/makeid?time=1&time=2&seq=1":
            same((path, server.get(path).status), (path, 400))
        same(server.get("/genid?ns=default", method="POST", headers=form, body="ns=default").status, 400)
        same(server.get("/v1/ids?n=1", method="POST", headers=form, body="ns=default").status, 200)


main()
