"""rows.py -- the list of faults.  A row is a function with @row("claim"), which is called with a cell."""
ROWS = []


class Row:
    def __init__(self, text, function):
        self.text, self.function, self.number = text, function, len(ROWS)


def row(text):
    def keep(function):
        ROWS.append(Row(text, function))
        return function
    return keep
