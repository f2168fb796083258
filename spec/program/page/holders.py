"""holders.py -- the admin's page while a store accepts connections but never answers."""
from paged import TOKEN, Events, Paged, browsing, open_page, text_of
from servers import MariaDB
from serving import claim, main, same

CONFIG = """return { admin = { token = "%s" }, namespaces = {
    orders = { layout = "vesta-milli", store = "%s" },
    requests = { layout = "snowflake", worker = 3, store = "file:%s" } } }"""


@claim("the page shows since when a store is silent, delays nothing else, and updates when the store answers again")
def _(world):
    db = MariaDB().start()
    try:
        db.sql("CREATE DATABASE vesta; CREATE USER owner@'127.0.0.1' IDENTIFIED BY 'own'; GRANT ALL ON *.* TO owner@'127.0.0.1'")
        uri = "mysql://owner:own@127.0.0.1:%d/vesta?tls=off" % db.port
        made = world.run("store", "init", "--store", uri, "--namespace", "orders", "--layout", "vesta-milli")
        assert made.code == 0, made.err
        with Paged(world, CONFIG % (TOKEN, uri, world.folder)) as server, browsing() as browser:
            watch(server, open_page(browser, server), db)
    finally:
        db.end()


def watch(server, tab, db):
    events = Events(server)
    said = events.workers("orders", lambda said: said.get("workers") and said["error"] == "")
    same((said["held"], said["error"], said["workers"][0]["state"]), (1, "", "held"))
    assert said["workers"][0]["end_ms"] > said["store_ms"], said
    again = events.workers("orders", lambda said: said["error"] == "")
    assert again["read_unix_ms"] > said["read_unix_ms"], again
    if "workers" not in again:  # If no lease was renewed in between, the unchanged list is not sent again.
        same(server.ask("workers?ns=orders")["workers"], said["workers"])
    db.pause()
    silent = events.workers("orders", lambda said: "has been unreachable since" in said["error"])
    for _ in range(20):  # The pending call has not returned, so it does not affect these replies.
        said = server.ask("workers?ns=orders")
        for ns in "requests", "orders":
            same(server.get("/v1/ids?n=3&ns=" + ns).status, 200)
    same((said["error"], silent["error"][-1]), (silent["error"], "Z"))
    assert said["workers"] and server.ask("workers?ns=requests")["workers"], said
    tab.until("document.querySelector('#workers-orders caption').innerText.includes('has been unreachable since')")
    tab.until("!document.querySelector('#workers-requests caption').innerText.includes('not answer')")
    assert "held" in text_of(tab, "#workers-orders tbody"), text_of(tab, "#workers")
    db.go_on()
    healed = events.workers("orders", lambda said: said["error"] == "")
    assert healed["read_unix_ms"] > again["read_unix_ms"], healed
    tab.until("!document.querySelector('#workers-orders caption').innerText.includes('does not answer')")
    same(tab.faults, [])


main()
