"""tour_py.py PORT [PASSWORD] -- the tour of spec/program/clients/clients.py with redis-py."""
import os
import sys

import redis

client = redis.Redis(port=int(sys.argv[1]), password=sys.argv[2] if len(sys.argv) > 2 else None, client_name="tour",
                     username=os.environ.get("TOUR_USER"),
                     health_check_interval=1, decode_responses=True)
print("id", client.get("default"))
print("batch", *client.mget(["default"] * 5))


def many(pipeline, count):
    for _ in range(count):
        pipeline.get("default")
    return pipeline.execute()


print("pipeline", *many(client.pipeline(transaction=False), 10))
print("multi", *many(client.pipeline(), 3))  # redis-py uses MULTI and EXEC by default.
try:
    client.get("nowhere")
except redis.ResponseError as error:
    print("error", error)
print("id", client.get("default"))
print("done")
