-- What people decided about patterns. A decision about a pattern is a person's: it is here; what was counted is
-- in the file of the traces.

CREATE TABLE ruling (
  project TEXT NOT NULL, tool TEXT NOT NULL, verb TEXT NOT NULL, error_class TEXT NOT NULL,
  decision TEXT NOT NULL, decided INTEGER NOT NULL, decided_ts REAL NOT NULL, who TEXT NOT NULL,
  note TEXT NOT NULL, command TEXT NOT NULL, error TEXT NOT NULL, worked TEXT NOT NULL,
  is_global INTEGER NOT NULL, failures INTEGER NOT NULL, calls INTEGER NOT NULL, skill TEXT NOT NULL,
  PRIMARY KEY (project, tool, verb, error_class)
) STRICT, WITHOUT ROWID;
CREATE INDEX ruling_told ON ruling (is_global, decision);

-- Old prompts and answers are blanked by age (learning.md 5).
CREATE INDEX run_ended ON run (ended) WHERE prompt <> '' OR answer <> '';
