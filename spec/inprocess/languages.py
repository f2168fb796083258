"""languages.py -- the languages of examples/inprocess, one entry each."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "clients"))  # for driver.py
import node_modules  # noqa: E402

JNA = "/usr/share/java/jna.jar"


class Language:
    """command: starts the driver, where BUILD is the build folder and HERE this one.  needs: a file that must exist, and the
    package that has it.  title, file: the heading in docs/languages.md, and the class.  run: the shell command that runs the
    lines of that page."""

    def __init__(self, name, *command, title, file, run, needs=None, forks=False):
        self.name, self.command, self.title, self.file, self.run = name, command, title, file, run
        self.needs, self.forks, self.env = needs, forks, {}

    def argv(self, build):
        return [part.replace("BUILD", build).replace("HERE", HERE) for part in self.command]

    def missing(self, build):
        """Returns why the driver cannot run, or None."""
        if self.name == "node":
            self.env = {"NODE_PATH": os.path.join(build, "npm", "node_modules")}
            return node_modules.install(HERE, os.path.join(build, "npm"))
        path, package = self.needs
        return None if os.path.exists(path.replace("BUILD", build)) else "no %s here: apt-get install %s" % (path, package)


JAVA = "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx64m"
BUILD_GO = """printf 'module example\\n\\ngo 1.19\\n' >go.mod
GOCACHE="${GOCACHE:-$BUILD/../clients/go/cache}" GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local CGO_CFLAGS="-O1 -I$ROOT/csrc/include" \\
    CGO_LDFLAGS="-L$LIBRARY" go build -o use . && ./use"""

LANGUAGES = [
    Language("python", "python3", "HERE/drive.py", needs=("/usr/bin/env", "python3"), forks=True,
             title="Python", file="vesta_ids.py", run="python3 use.python"),
    Language("php", "php", "HERE/drive.php", needs=("/usr/bin/php", "php-cli"), forks=True,
             title="PHP", file="VestaIds.php", run="php use.php"),
    Language("ruby", "ruby", "HERE/drive.rb", needs=("/usr/bin/ruby", "ruby"), forks=True,
             title="Ruby", file="vesta_ids.rb", run="ruby -w use.ruby"),
    Language("node", "node", "HERE/drive.js", title="Node.js", file="vesta_ids.js", run="node use.js"),
    Language("go", "BUILD/drive_go", needs=("BUILD/drive_go", "golang-go"), title="Go", file="vesta_ids.go", run=BUILD_GO),
    Language("java", "java", *JAVA, "-cp", "BUILD/java:" + JNA, "Drive", needs=("BUILD/java/Drive.class", "default-jdk-headless libjna-java"),
             title="Java", file="VestaIds.java",
             run="mv use.java Ids.java; javac -cp %s *.java; java %s -cp .:%s Ids" % (JNA, " ".join(JAVA), JNA)),
]
