-- What agents did, and what was counted of it: a file of its own, less durable than what people do
-- (reliability.md 2). Columns of `trace` are the fields of core/model/trace.py.

CREATE TABLE trace (
  seq INTEGER PRIMARY KEY,
  ts REAL NOT NULL, session TEXT NOT NULL, run TEXT NOT NULL, turn INTEGER NOT NULL, project TEXT NOT NULL,
  agent TEXT NOT NULL, tool TEXT NOT NULL, is_error INTEGER, exit_code INTEGER, aborted INTEGER NOT NULL,
  file TEXT, cmd TEXT, verb TEXT, error_class TEXT, snippet TEXT NOT NULL
) STRICT;
CREATE INDEX trace_run ON trace (session, seq);

-- The calls that were counted, by a hash of what makes them one: longer than the traces themselves.
CREATE TABLE counted (hash INTEGER PRIMARY KEY) STRICT;

CREATE TABLE pattern (
  id INTEGER PRIMARY KEY,
  project TEXT NOT NULL, tool TEXT NOT NULL, verb TEXT NOT NULL, error_class TEXT NOT NULL,
  failures INTEGER NOT NULL, runs INTEGER NOT NULL, sessions INTEGER NOT NULL,
  first_ts REAL NOT NULL, last_ts REAL NOT NULL, last_cmd TEXT, last_error TEXT NOT NULL,
  last_recovery TEXT, last_recovery_ts REAL, regressed_ts REAL, agent TEXT NOT NULL,
  UNIQUE (project, tool, verb, error_class)
) STRICT;

-- The runs and sessions in which a pattern failed: a new row is a new one.
CREATE TABLE seen (pattern INTEGER NOT NULL, kind TEXT NOT NULL, hash INTEGER NOT NULL,
  PRIMARY KEY (pattern, kind, hash)) STRICT, WITHOUT ROWID;

-- Calls and failures by week; `week` counts weeks of seven days since the epoch.
CREATE TABLE usage (
  project TEXT NOT NULL, tool TEXT NOT NULL, verb TEXT NOT NULL, week INTEGER NOT NULL,
  calls INTEGER NOT NULL, failures INTEGER NOT NULL,
  PRIMARY KEY (project, tool, verb, week)
) STRICT, WITHOUT ROWID;

-- How far each file was imported.
CREATE TABLE import (
  path TEXT PRIMARY KEY, format TEXT NOT NULL, head TEXT NOT NULL, offset INTEGER NOT NULL,
  line INTEGER NOT NULL, state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
