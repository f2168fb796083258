"""leaf.py -- the routes of Leaf's server, and routes for ids with a namespace."""
import json
import re

from serving import Configured, Server, claim, main, same

TWO = """return { leaf_any_key = %s, namespaces = {
  orders = { layout = "leaf", worker = 7 }, ["a:b"] = { layout = "vesta-milli", worker = 9 } } }"""


@claim("/api/snowflake/get/{key} returns an id of the namespace as text")
def _(world):
    with Configured(world, TWO % "false") as server:
        for key, worker in (("orders", "7"), ("a:b", "9"), ("a%3Ab", "9"), ("a%3ab", "9")):
            reply = server.get("/api/snowflake/get/" + key)
            assert reply.status == 200 and re.fullmatch(r"\d+", reply.body), reply.body
            same(reply.headers["content-type"], "text/plain")
            said = json.loads(server.get("/v1/ids/%s?ns=%s" % (reply.body, key)).body)
            same(str(said["worker"]), worker)
        same(server.get("/api/snowflake/get/orders", method="POST").status, 200)
        for key in ("nobody", "ORDERS", "orders%20", "%2525", "%00", "%ff", "a%2Fb", "..%2f..", "x" * 65, "+", "%27%20OR%201=1%20--"):
            reply = server.get("/api/snowflake/get/" + key)
            same((key, reply.status, reply.headers["content-type"]), (key, 404, "text/plain"))
        for key in ("%", "%4", "%zz", "orders%"):
            same((key, server.get("/api/snowflake/get/" + key).status), (key, 400))
        for path in ("", "/", "orders/x"):
            same(server.get("/api/snowflake/get/" + path).status, 404)
        reply = server.get("/api/segment/get/orders")
        same((reply.status, reply.body), (404, "'orders' is a namespace: /api/snowflake/get/orders issues its ids\n"))
        reply = server.get("/api/segment/get/nobody")
        same((reply.status, reply.body), (404, "unknown name 'nobody': this server has no tags. To serve tags, add a table to segments in its config\n"))


@claim("with leaf_any_key an unknown key uses the first namespace, as in Leaf")
def _(world):
    with Configured(world, TWO % "true") as server:
        first = json.loads(server.get("/v1/ids/" + server.get("/api/snowflake/get/nobody").body).body)["worker"]
        same(first, json.loads(server.get("/v1/ids/" + server.get("/genid").body).body)["worker"])
        same(json.loads(server.get("/v1/ids/%s?ns=a:b" % server.get("/api/snowflake/get/a:b").body).body)["worker"], 9)
        same(server.get("/v1/ids?ns=nobody").status, 404)


@claim("/decodeSnowflakeId answers like Leaf's server, in the server's time zone")
def _(world):
    with Server(world, layout="leaf", pacing="clock", env={"TZ": "CST-8"}) as server:
        reply = server.get("/decodeSnowflakeId?snowflakeId=1169786042799259000")
        same((reply.status, reply.headers["content-type"]), (200, "application/json"))
        same(json.loads(reply.body), {"timestamp": "1567733700834(2019-09-06 09:35:00.834)", "workerId": "39", "sequenceId": "3448"})
        same(json.loads(server.get("/decodeSnowflakeId?snowflakeId=4198401").body)["timestamp"], "1288834974658(2010-11-04 09:42:54.658)")
        for query in ("", "?snowflakeId=", "?snowflakeId=x", "?snowflakeId=-1", "?snowflakeId=18446744073709551616",
                      "?snowflakeId=9223372036854775808", "?snowflakeId=1&ns=nobody", "?snowflakeId=%22%5c%00"):
            reply = server.get("/decodeSnowflakeId" + query)
            assert reply.status in (400, 404) and list(json.loads(reply.body)) == ["errorMsg"], reply.body
            same(reply.headers["content-type"], "application/json")


@claim("the routes of Vesta (Java) accept a namespace, and use the first one without it")
def _(world):
    with Configured(world, TWO % "false") as server:
        for name, width in (("orders", 12), ("a:b", 10)):
            ask = "ns=" + name
            id_ = server.get("/genid?" + ask).body
            fields = json.loads(server.get("/expid?id=%s&%s" % (id_, ask)).body)
            worker = fields.get("machine", fields.get("worker"))
            same(worker, 7 if name == "orders" else 9)
            query = "&".join("%s=%d" % item for item in fields.items())
            same(server.get("/makeid?%s&%s" % (query, ask)).body, id_)
            same(server.get("/makeid?%s&%s" % (ask, query)).body, id_)
            assert " 20" in server.get("/transtime?time=%d&%s" % (fields["time"], ask)).body
        for path in ("/genid?", "/expid?id=1&", "/transtime?time=1&", "/makeid?time=1&seq=1&", "/v1/ids/1?"):
            same((path, server.get(path + "ns=nobody").status), (path, 404))
            same((path, server.get(path + "ns=orders&ns=orders").status), (path, 400))


main()
