"""asker.py FILE COUNT -- an application in a pod: asks the vesta beside it for so many ids, again and again, until it is
ended.  A line of FILE for each answer: when it came, in ms of the monotonic clock, and the ids; `refused` where none did.
"""
import http.client
import json
import sys
import time


def ask(connection, count):
    connection.request("GET", "/v1/ids?n=%s" % count)
    reply = connection.getresponse()
    body = reply.read()
    return json.loads(body)["ids"] if reply.status == 200 else ["refused"]


with open(sys.argv[1], "w", buffering=1) as out:
    connection = http.client.HTTPConnection("127.0.0.1", 8088, timeout=120)
    while True:
        try:
            got = ask(connection, sys.argv[2])
        except (OSError, http.client.HTTPException):
            connection.close()
            got = ["refused"]
        out.write("%d %s\n" % (time.monotonic() * 1000, " ".join(got)))
        time.sleep(0.02)
