-- Creates vesta's functions in MariaDB: mariadb < functions.sql
CREATE FUNCTION IF NOT EXISTS vesta_next RETURNS INTEGER SONAME 'vesta.so';
CREATE FUNCTION IF NOT EXISTS vesta_time RETURNS STRING SONAME 'vesta.so';
CREATE FUNCTION IF NOT EXISTS vesta_worker RETURNS INTEGER SONAME 'vesta.so';
CREATE FUNCTION IF NOT EXISTS vesta_range_from RETURNS INTEGER SONAME 'vesta.so';
CREATE FUNCTION IF NOT EXISTS vesta_range_until RETURNS INTEGER SONAME 'vesta.so';
