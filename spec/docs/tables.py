#!/usr/bin/env python3
"""tables.py PROGRAM -- scripts/tables detects and rewrites a table that differs from the rows in the code."""
import importlib.machinery
import importlib.util
import os
import sys

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "spec", "support"))
from claims import report  # noqa: E402

loader = importlib.machinery.SourceFileLoader("tables", os.path.join(REPO, "scripts", "tables"))
tables = importlib.util.module_from_spec(importlib.util.spec_from_loader("tables", loader))
loader.exec_module(tables)

ROWS = {"options": "| `-n, --count N` | ", "keys": "| `namespaces.NAME.layout` | ", "routes": "| `/genid?ns=NAME` | ",
        "commands-redis": "| `GET name` | ", "errors": "| `full` | 503 | `TRYAGAIN` | yes | ",
        "metrics": "| `vesta_requests_total{proto,code}` | counter | ", "limits": "| the request line | 4 KiB | ",
        "mutants": "| `CURSOR_BEFORE_CLOSE` | The released cursor is read just before the close | `DUPLICATE` | `cursor_at_the_close` |",
        "mutants-relayout": "| `GIVES_WITHOUT_A_PROOF` | A host issues ids of a generation without a proof |",
        "presets": "| `vesta-second` | `version:1 type:1=0 method:2 time:30 seq:20 machine:10` | 1s | ",
        "shards": "| `(id >> 10) % N` | up to 1,024 |"}


def claims(program):
    for name in tables.TABLES:
        marks = "<!-- table: %s -->\n", "\n<!-- end -->"
        page = tables.page_of(program, (marks[0] % name) + "an old row" + marks[1], "a page")
        yield "the table of %s is written" % name, [] if ROWS[name] in page and "an old row" not in page else [page[:300]]
        yield "the table of %s stays if it is right" % name, [] if tables.page_of(program, page, "a page") == page else ["it changed"]


sys.exit(report(claims(sys.argv[1])))
