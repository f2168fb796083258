"""served.py -- real stores for the specs of the program: a MariaDB, a PostgreSQL and a ZooKeeper, each started at the
first use in a file, and stopped at its end; and a place for a store of each kind."""
import atexit
import functools

from servers import MariaDB, PostgreSQL, ZooKeeper

# Leaf's own columns, in a database of that name.
LEAF = ("CREATE TABLE %s.leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint(20) NOT NULL DEFAULT 1, "
        "step int(11) NOT NULL, description varchar(256) DEFAULT NULL, update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP "
        "ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (biz_tag)) ENGINE=InnoDB")


@functools.cache
def mariadb():
    """With a database `vesta`, an owner who may create tables, and a user with the rights that leases need."""
    db = MariaDB()
    atexit.register(db.end)
    db.start()
    db.sql("CREATE DATABASE vesta; CREATE USER owner@'127.0.0.1' IDENTIFIED BY 'own/er'; GRANT ALL ON *.* TO owner@'127.0.0.1';"
           "CREATE USER vesta@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT SELECT, INSERT, UPDATE ON vesta.* TO vesta@'127.0.0.1'")
    return db


@functools.cache
def postgresql():
    """With the same database and users."""
    db = PostgreSQL()
    atexit.register(db.end)
    db.start()
    db.sql("CREATE ROLE owner LOGIN PASSWORD 'own/er'; CREATE ROLE vesta LOGIN PASSWORD 's3cret'")
    db.sql("CREATE DATABASE vesta OWNER owner")
    db.sql("ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT, INSERT, UPDATE ON TABLES TO vesta", "vesta")
    return db


@functools.cache
def zookeeper():
    zk = ZooKeeper()
    atexit.register(zk.end)
    return zk.start().ready()


def mysql_uri(user="owner:own%2Fer", name="vesta", more=""):
    return "mysql://%s@127.0.0.1:%d/%s%s" % (user, mariadb().port, name, more)


def postgresql_uri(user="owner:own%2Fer", name="vesta", more=""):
    return "postgresql://%s@127.0.0.1:%d/%s%s" % (user, postgresql().port, name, more)


def zk_uri(user="me:se%2Fcret@", root="/vesta", more=""):
    return "zk://%s127.0.0.1:%d%s%s" % (user, zookeeper().port, root, more)


def stores(world):
    """A fresh place for a store of each kind, by name.  Shared stores are kept apart by namespaces."""
    return {"file": "file:" + world.path("files"), "sqlite": "sqlite:" + world.path("v.db"), "mysql": mysql_uri(), "postgresql": postgresql_uri(),
            "zk": zk_uri()}
