-- Agents that people registered, and the skills they gave to each: as the skill was shown when it was given.

CREATE TABLE agent (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, command TEXT NOT NULL, project TEXT,
  created REAL NOT NULL
) STRICT;

CREATE TABLE assignment (
  agent TEXT NOT NULL, skill TEXT NOT NULL, description TEXT NOT NULL, kind TEXT NOT NULL,
  scope TEXT NOT NULL, project TEXT, origin TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL,
  who TEXT NOT NULL, at REAL NOT NULL, reads INTEGER NOT NULL, read_at REAL,
  PRIMARY KEY (agent, skill)
) STRICT, WITHOUT ROWID;
