"""observer.py -- what an observer of 10,000 ids learns, from plain and from masked ones.  The table in docs/masks.md is the
output of `python3 spec/mask/observer.py build/release/vesta`.

A shop issues 10,000 order numbers a day for a week.  The observer sees 10,000 of the 70,000 numbers at random, in the
order in which they were issued, and knows the day of each.  The ids of a namespace are 10,000 ids of one minute."""
import json
import os
import random
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("support", "program", "program/server")]  # as typed in docs/masks.md

from harness import claim, main, same  # noqa: E402
from serving import write  # noqa: E402
from worlds import config, key  # noqa: E402

DAYS, DAILY, SEEN = 7, 10000, 10000


def made(world, name):
    """Issues a week of order numbers, and returns the observed (day, text) in order."""
    path, week = world.path(name), []
    for day in range(DAYS):
        done = world.run("segments", "take", "invoices", "-n", str(DAILY), "-c", path)
        same((done.code, done.err), (0, ""))
        week += [(day, text) for text in done.lines()]
    random.seed(28)
    return [week[i] for i in sorted(random.sample(range(len(week)), SEEN))]


def tank(values):
    """The German tank problem: the unbiased estimate of how many numbers there are, from the largest of k."""
    return max(values) * (1 + 1 / len(values)) - 1


def rate(seen):
    """The slope of number over day, by least squares."""
    return statistics.linear_regression([day for day, _ in seen], [int(text) for _, text in seen]).slope


def digits_p(texts):
    """The p-value of a chi-square test that all digits at all places are equally frequent, by Wilson and Hilferty."""
    width = max(map(len, texts))
    counts = [[0] * 10 for _ in range(width)]
    for text in texts:
        for place, digit in enumerate(text.zfill(width)):
            counts[place][int(digit)] += 1
    expected, freedom = len(texts) / 10, 9 * width
    chi = sum((n - expected) ** 2 / expected for row in counts for n in row)
    z = ((chi / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / (2 / (9 * freedom)) ** 0.5
    return 1 - statistics.NormalDist().cdf(z)


def neighbors(texts):
    values = [float(text) for text in texts]
    return statistics.correlation(values[:-1], values[1:])


def counters(world, name, mask=""):
    uri = "sqlite:" + world.path(name + ".db")
    same(world.run("segments", "add", "invoices", "--store", uri).code, 0)
    with open(world.path(name + ".lua"), "w") as file:
        file.write("return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = 'invoices' %s } } }" % (uri, mask))
    return made(world, name + ".lua")


def show(name, plain, masked):
    print("# | %-58s | %22s | %22s |" % (name, plain, masked))


@claim("plain numbers of a counter reveal count and rate, and masked ones do not")
def _(world):
    seen = {"plain": counters(world, "plain"),
            "masked": counters(world, "masked", ", mask = { digits = 10, secret_file = '%s' }" % key(world, "a.key"))}
    plain, masked = ([text for _, text in seen[name]] for name in ("plain", "masked"))
    estimates = [tank([int(text) for text in texts]) for texts in (plain, masked)]
    rates = [rate(seen[name]) for name in ("plain", "masked")]
    ps = [digits_p(texts) for texts in (plain, masked)]
    correlations = [neighbors(texts) for texts in (plain, masked)]
    show("order numbers, of which there are 70,000 (10,000 a day)", "plain", "masked")
    show("German tank estimate of their count", *("{:,.0f}".format(n) for n in estimates))
    show("numbers per day, by the slope", *("{:,.0f}".format(n) for n in rates))
    show("chi-square of the digits, p", *("%.3f" % p for p in ps))
    show("correlation of neighbors", *("%.3f" % r for r in correlations))
    assert abs(estimates[0] / 70000 - 1) < 0.01 and estimates[1] / 70000 > 1000, estimates
    spread = 10**10 / 12**0.5 / (SEEN**0.5 * 2)  # of the slope, if the numbers are random
    assert abs(rates[0] / DAILY - 1) < 0.01 and abs(rates[1]) < 4 * spread, (rates, spread)
    assert ps[0] < 1e-9 and ps[1] > 0.01, ps
    assert correlations[0] > 0.99 and abs(correlations[1]) < 0.04, correlations
    same((len(set(plain)), len(set(masked))), (SEEN, SEEN))


@claim("plain ids of a namespace reveal their time and order, and masked ones do not")
def _(world):
    path = write(world, config(world, "digits = 19, secret_file = '%s'" % key(world, "a.key")))
    ids = {name: world.run("gen", "-c", path, "-n", str(SEEN), "--namespace", name).lines() for name in ("plain", "orders")}
    plain, masked = ids["plain"], ids["orders"]
    now_ms = time.time() * 1000

    def near(texts):
        """How many ids, read with the layout, have a time in the last minute."""
        lines = world.run("explain", "--json", "--layout", "snowflake", stdin="\n".join(texts)).lines()
        return sum(abs(json.loads(line)["unix_ms"] - now_ms) < 60000 for line in lines)

    ps, correlations, times = ([function(texts) for texts in (plain, masked)] for function in (digits_p, neighbors, near))
    show("ids of a namespace", "plain", "masked")
    show("ids that show the minute in which they were issued", *("{:,}".format(n) for n in times))
    show("chi-square of the digits, p", *("%.3f" % p for p in ps))
    show("correlation of neighbors", *("%.3f" % r for r in correlations))
    same(times, [SEEN, 0])
    assert ps[0] < 1e-9 and ps[1] > 1e-6, ps
    assert correlations[0] > 0.99 and abs(correlations[1]) < 0.05, correlations


main()
