"""Regression: /transtime printed "-03" as the zone of Sao Paulo, which Java neither reads nor prints. For a zone
without letters, Java prints GMT-03:00."""

from serving import Server, claim, main, same

# 12235264 is 2015-05-22T06:41:04Z, 0 is 2014-12-31T16:00:00Z. The dates are as Java prints them, except for zones with
# a name that only Java has (BRT).
PARIS = "CET-1CEST,M3.5.0,M10.5.0/3"
DATES = (("<-03>3", 12235264, "Fri May 22 03:41:04 GMT-03:00 2015"), ("<+0545>-5:45", 12235264, "Fri May 22 12:26:04 GMT+05:45 2015"),
         ("<+14>-14", 12235264, "Fri May 22 20:41:04 GMT+14:00 2015"), ("<-0930>9:30", 0, "Wed Dec 31 06:30:00 GMT-09:30 2014"),
         ("<+00>0", 0, "Wed Dec 31 16:00:00 GMT 2014"), ("CST-8", 12235264, "Fri May 22 14:41:04 CST 2015"),
         (PARIS, 12235264, "Fri May 22 08:41:04 CEST 2015"), (PARIS, 0, "Wed Dec 31 17:00:00 CET 2014"),
         ("UTC", 12235264, "Fri May 22 06:41:04 UTC 2015"))


@claim("/transtime prints the letters of the zone, or GMT and its offset, like Java's Date")
def zones(world):
    for zone, time, date in DATES:
        with Server(world, layout="vesta-second", pacing="clock", env={"TZ": zone}) as server:
            same((zone, server.get("/transtime?time=%d" % time).body), (zone, date))


main()
