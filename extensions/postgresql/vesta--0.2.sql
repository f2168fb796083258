\echo Use "CREATE EXTENSION vesta" to load this file. \quit

-- Issues an id.  RESTRICTED: only the leader of a parallel query issues ids, so that they ascend in the order of the
-- result, and no parallel worker opens the generator file.
CREATE FUNCTION vesta_next() RETURNS bigint
    AS 'MODULE_PATHNAME', 'vpg_next' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
CREATE FUNCTION vesta_next(name text) RETURNS bigint
    AS 'MODULE_PATHNAME', 'vpg_next' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
CREATE FUNCTION vesta_next(name text, n integer) RETURNS SETOF bigint
    AS 'MODULE_PATHNAME', 'vpg_next_set' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

-- These read the generator's layout.  STABLE, not IMMUTABLE: another host, or another generator file of this name, may
-- have another layout.
CREATE FUNCTION vesta_time(id bigint) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'vpg_time' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_time(id bigint, name text) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'vpg_time' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_worker(id bigint) RETURNS bigint
    AS 'MODULE_PATHNAME', 'vpg_worker' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_worker(id bigint, name text) RETURNS bigint
    AS 'MODULE_PATHNAME', 'vpg_worker' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_explain(id bigint) RETURNS json
    AS 'MODULE_PATHNAME', 'vpg_explain' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_explain(id bigint, name text) RETURNS json
    AS 'MODULE_PATHNAME', 'vpg_explain' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_range("from" timestamptz, until timestamptz) RETURNS int8range
    AS 'MODULE_PATHNAME', 'vpg_range' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_range("from" timestamptz, until timestamptz, name text) RETURNS int8range
    AS 'MODULE_PATHNAME', 'vpg_range' LANGUAGE C STABLE STRICT PARALLEL SAFE;

-- The planner replaces a call by the body, and then uses an index on the id.
CREATE FUNCTION vesta_between(id bigint, "from" timestamptz, until timestamptz) RETURNS boolean LANGUAGE SQL STABLE PARALLEL SAFE AS
    'SELECT $1 OPERATOR(pg_catalog.>=) pg_catalog.lower(@extschema@.vesta_range($2, $3))
        AND $1 OPERATOR(pg_catalog.<) pg_catalog.upper(@extschema@.vesta_range($2, $3))';
CREATE FUNCTION vesta_between(id bigint, "from" timestamptz, until timestamptz, name text) RETURNS boolean LANGUAGE SQL STABLE PARALLEL SAFE AS
    'SELECT $1 OPERATOR(pg_catalog.>=) pg_catalog.lower(@extschema@.vesta_range($2, $3, $4))
        AND $1 OPERATOR(pg_catalog.<) pg_catalog.upper(@extschema@.vesta_range($2, $3, $4))';

-- For indexes, generated columns and partitions: the layout is an argument, so no file is read.
CREATE FUNCTION vesta_time_of(id bigint, layout text) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'vpg_time_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- UUIDs, ULIDs and TypeIDs: docs/uuids.md.
CREATE FUNCTION vesta_next_uuid() RETURNS uuid
    AS 'MODULE_PATHNAME', 'vpg_next_uuid' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
CREATE FUNCTION vesta_next_uuid(name text) RETURNS uuid
    AS 'MODULE_PATHNAME', 'vpg_next_uuid' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
CREATE FUNCTION vesta_next_uuid(name text, shape text) RETURNS uuid
    AS 'MODULE_PATHNAME', 'vpg_next_uuid' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
CREATE FUNCTION vesta_uuid_time(id uuid) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'vpg_uuid_time' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_ulid(id uuid) RETURNS text
    AS 'MODULE_PATHNAME', 'vpg_ulid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_typeid(prefix text, id uuid) RETURNS text
    AS 'MODULE_PATHNAME', 'vpg_typeid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION vesta_uuid(id text) RETURNS uuid
    AS 'MODULE_PATHNAME', 'vpg_uuid' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
