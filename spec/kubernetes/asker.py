"""asker.py FILE COUNT -- an application in a pod that repeatedly requests COUNT ids from the vesta next to it until it
is ended. Each reply is a line of FILE: its time in ms of the monotonic clock, and the ids, or `refused`."""
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
