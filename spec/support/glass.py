"""glass.py -- shows what a terminal displays after a program's output: letters, colours, the position of the cursor.

Supports only the codes that this program sends: lines, SGR colours, H, J, K, the alternate screen, autowrap off.  Any
other code is an error, because a real terminal might display it.
"""
import html
import re
import unicodedata

CODE = re.compile(r"\x1b\[([?]?)([0-9;]*)([A-Za-z])")
COLOURS = {31: "#ff6b60", 33: "#e6c45a", 36: "#58c7d8"}


class Glass:
    def __init__(self, columns=80, rows=24):
        self.columns, self.rows = columns, rows
        self.screens = {False: self.empty(), True: self.empty()}
        self.is_other, self.wraps, self.row, self.column, self.colour, self.faults = False, True, 0, 0, 0, []

    def empty(self):
        return [[(" ", 0)] * self.columns for _ in range(self.rows)]

    @property
    def cells(self):
        return self.screens[self.is_other]

    def feed(self, text):
        at = 0
        while at < len(text):
            code = CODE.match(text, at)
            if code:
                self.obey(*code.groups())
                at = code.end()
                continue
            if text[at] == "\n":
                self.row, self.column = self.row + 1, 0
                self.scroll()
            elif text[at] == "\r":
                self.column = 0
            elif text[at] < " " or "\x7f" <= text[at] <= "\x9f":
                self.faults.append(repr(text[at:at + 10]))
            else:
                self.put(text[at])
            at += 1
        return self

    def scroll(self):
        if self.row >= self.rows:
            del self.cells[0]
            self.cells.append([(" ", 0)] * self.columns)
            self.row = self.rows - 1

    def put(self, letter):
        wide = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if self.column + wide > self.columns:
            if not self.wraps:
                return
            self.row, self.column = self.row + 1, 0
            self.scroll()
        self.cells[self.row][self.column] = (letter, self.colour)
        for i in range(1, wide):
            self.cells[self.row][self.column + i] = ("", self.colour)
        self.column += wide

    def obey(self, private, numbers, letter):
        if private and letter in "hl":
            if numbers == "1049":
                self.is_other = letter == "h"
            elif numbers == "7":
                self.wraps = letter == "h"
            elif numbers != "25":
                self.faults.append("?" + numbers + letter)
        elif letter == "m":
            self.colour = int(numbers or 0)
        elif letter == "H" and not numbers:
            self.row = self.column = 0
        elif letter in "JK" and not numbers:
            self.cells[self.row][self.column:] = [(" ", 0)] * (self.columns - self.column)
            for row in range(self.row + 1, self.rows) if letter == "J" else ():
                self.cells[row] = [(" ", 0)] * self.columns
        else:
            self.faults.append(numbers + letter)

    def lines(self):
        return ["".join(letter for letter, _ in row).rstrip() for row in self.cells]

    def html(self):
        """The display as a page of HTML, in the colours of a dark terminal."""
        rows = []
        for row in self.cells:
            text = ""
            for letter, colour in row:
                shown = html.escape(letter)
                text += '<b style="color:%s">%s</b>' % (COLOURS.get(colour, "#f0f"), shown) if colour else shown
            rows.append(text or " ")
        style = "margin:0;padding:12px 14px;background:#16181d;color:#d8dade;font:13px/15px 'DejaVu Sans Mono',monospace"
        return '<!doctype html><meta charset="utf-8"><style>b{font-weight:normal}body{margin:0;background:#16181d}pre{display:inline-block;%s}' \
               '</style><pre>%s</pre>' % (style, "\n".join(rows))
