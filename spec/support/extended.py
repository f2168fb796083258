"""extended.py -- a PostgreSQL with the extension of this build.  PostgreSQL finds extensions relative to its program, so
the program is copied into a folder next to links to all its other files.  Nothing is installed."""
import os
import shutil
import subprocess

from servers import PostgreSQL

VERSION = os.path.basename(os.path.dirname(PostgreSQL.BIN.rstrip("/")))
LIBRARY, SHARE = "lib/postgresql/%s/lib" % VERSION, "share/postgresql/" + VERSION


def link_all(source, target):
    os.makedirs(target)
    for name in os.listdir(source):
        os.symlink(os.path.join(source, name), os.path.join(target, name))


class Extended(PostgreSQL):
    """`build` is the folder of the build.  `generators` is the folder of generator files, which belongs to the server's
    user."""

    def __init__(self, build, *initdb, primary=None):
        super().__init__(*initdb, primary=primary)
        self.build, self.sources = build, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../extensions/postgresql")
        os.chmod(self.folder, 0o755)
        self.make_tree()
        self.generators = self.folder_of_user("generators")
        with open(self.path("data/postgresql.conf"), "a") as file:  # not on the command line, so that tests can change it
            file.write("vesta.directory = '%s'\n" % self.generators)

    def folder_of_user(self, name):
        os.mkdir(self.path(name))
        if os.geteuid() == 0:
            shutil.chown(self.path(name), "postgres", "postgres")
        return self.path(name)

    def make_tree(self):
        tree = self.path("tree")
        link_all("/usr/" + LIBRARY, os.path.join(tree, LIBRARY))
        link_all("/usr/" + SHARE, os.path.join(tree, SHARE))
        extensions = os.path.join(tree, SHARE, "extension")
        os.unlink(extensions)
        link_all(os.path.join("/usr", SHARE, "extension"), extensions)
        for name in ("vesta.control", "vesta--0.2.sql"):
            self.put(os.path.join(self.sources, name), os.path.join(extensions, name))
        self.put(os.path.join(self.build, "postgresql/vesta.so"), self.module())
        self.put(os.path.join(self.build, "csrc/libvesta.so.0"), os.path.join(tree, "libvesta.so.0"))
        os.mkdir(os.path.join(tree, "lib/postgresql/%s/bin" % VERSION))
        self.put(self.BIN + "postgres", os.path.join(tree, "lib/postgresql/%s/bin/postgres" % VERSION))
        self.put(os.path.join(self.build, "vesta"), os.path.join(tree, "vesta"))
        self.programs = self.BIN
        self.BIN = os.path.join(tree, "lib/postgresql/%s/bin/" % VERSION)
        self.env["LD_LIBRARY_PATH"] = tree

    @staticmethod
    def put(source, target):
        """Replaces a file as a package manager does: a process that uses the old file keeps it."""
        shutil.copy(source, target + ".new")
        os.rename(target + ".new", target)

    def module(self):
        return self.path("tree", LIBRARY, "vesta.so")

    def extension(self, name):
        return self.path("tree", SHARE, "extension", name)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def vesta(self, *arguments, **env):
        """Runs the program of this build, as the server's user."""
        done = subprocess.run([self.path("tree/vesta"), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd="/",
                              env=dict(os.environ, **env), **self.as_user())
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def generator(self, name, *more):
        """Creates a generator file, whose store is in the same folder."""
        self.vesta("gen", "--path", os.path.join(self.generators, name + ".gen"), "--store", "file:" + self.generators, "--namespace", name, *more)

    def run_tool(self, name, *more):
        """Runs a client program, such as pg_dump, against this server."""
        return subprocess.run([self.programs + name, "-h", self.folder, "-p", str(self.port), "-U", "postgres", *more], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)

    def tool(self, name, *more):
        done = self.run_tool(name, *more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tool_fails(self, name, *more):
        done = self.run_tool(name, *more)
        assert done.returncode != 0, done.stdout
        return done.stderr
