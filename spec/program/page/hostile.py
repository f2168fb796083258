"""hostile.py -- a proxy between the page and a real server replaces every text that the page receives, such as names,
holders, answers of policies, layouts and states, with a hostile one."""
import json

from between import Between
from paged import TOKEN, Paged, browsing, shown
from serving import claim, main, same

MARKUP = "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\"><b id=odd>'\"&amp;</style></textarea>"
TURNED = "\u202egnp.\u2066\u200f\u061c\u2029\u0007 "

# Chromium 150 reports the whole option as the scrollWidth of a SELECT, but draws it within the box.
OUTSIDE = """[...document.querySelectorAll('body *')].filter(e => {
    const at = e.getBoundingClientRect(), isFree = e.closest('.scroll, .skip, dialog');
    return !isFree && e.checkVisibility() && (at.left < 0 || at.right > innerWidth ||
        (e.tagName !== 'SELECT' && e.scrollWidth > innerWidth));
}).map(e => e.tagName + '.' + e.className + ' in ' + e.parentElement.className)"""


class Forger(Between):
    """Replaces each text of an event by `text` followed by the original, so that names stay distinct."""
    text = ""

    def forge(self, said):
        if isinstance(said, dict):
            return {key: self.forge(value) for key, value in said.items()}
        if isinstance(said, list):
            return [self.forge(value) for value in said]
        return self.text + said if isinstance(said, str) else said

    def met(self, client, server):
        self.in_background(self.pass_on, client, server, lambda line: line)
        self.in_background(self.pass_on, server, client, self.of_event)

    def of_event(self, line):
        return b"data: " + json.dumps(self.forge(json.loads(line[6:]))).encode() + b"\n" if line.startswith(b"data: {") else line

    @staticmethod
    def pass_on(source, sink, change):
        try:
            for line in source.makefile("rb"):
                sink.sendall(change(line))
        except OSError:
            pass
        finally:
            source.close()
            sink.close()


@claim("markup, text that reverses its direction, and 64 KB in every text run no script and stay inside their boxes")
def _(world):
    with Paged(world) as server, browsing() as browser:
        server.redis("INCR", "invoices")
        forger = Forger(server.admin)
        for text in (MARKUP + TURNED, "W" * 65536, TURNED * 8192, "\ud7ff \u0e49\u0e49" * 16384):
            forger.text = text
            for width in (1280, 360):
                look(browser.tab(width=width), "http://127.0.0.1:%d/#token=%s" % (forger.port, TOKEN.replace(" ", "%20")))
            browser.close_tabs()


def look(tab, url):
    tab.go(url)
    tab.until(shown("#board") + " && document.querySelectorAll('#workers tbody tr').length == 2"
              " && document.querySelectorAll('#segments tbody tr').length == 1 && document.querySelectorAll('.spark svg').length == 2")
    same(tab.run("document.querySelectorAll('#odd, main img, main script, main style').length"), 0)
    assert tab.run("document.title").startswith("vesta"), tab.run("document.title")
    same(tab.run(OUTSIDE), [])
    same(tab.run("document.documentElement.scrollWidth <= innerWidth"), True)
    assert tab.run("document.body.scrollHeight") < 40000, tab.run("document.body.scrollHeight")
    same(tab.run("/[\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.innerText)"), False)
    same(tab.run("document.getElementById('live').className"), "good")
    same(tab.faults, [])


main()
