-- The store of auto-improve. Columns are the fields of the records in core/model, one table a record.

CREATE TABLE sequence (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;

CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- what a person thinks ------------------------------------------------------------------------------------
CREATE TABLE feedback (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE, timestamp TEXT NOT NULL, type TEXT NOT NULL, source TEXT NOT NULL,
  session TEXT, project TEXT, domain TEXT NOT NULL, context TEXT NOT NULL, user_comment TEXT NOT NULL,
  run TEXT, user TEXT, reasons TEXT NOT NULL, supersedes TEXT, is_current INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX feedback_one_vote ON feedback (run, user) WHERE is_current = 1 AND run IS NOT NULL;

CREATE TABLE credit (
  feedback TEXT NOT NULL, origin TEXT NOT NULL, kind TEXT NOT NULL, lesson TEXT NOT NULL,
  PRIMARY KEY (feedback, origin, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX credit_lesson ON credit (lesson);

-- what agents are told --------------------------------------------------------------------------------------
CREATE TABLE lesson (
  id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, created TEXT NOT NULL, domain TEXT NOT NULL,
  rule TEXT NOT NULL, rationale TEXT NOT NULL, source_feedback TEXT NOT NULL,
  positive_examples INTEGER NOT NULL, violations INTEGER NOT NULL, active INTEGER NOT NULL,
  scope TEXT NOT NULL, project TEXT, decided INTEGER NOT NULL, revision INTEGER NOT NULL,
  updated TEXT NOT NULL, merged_into TEXT
) STRICT;
CREATE INDEX lesson_active ON lesson (active, scope, project, decided);

CREATE TABLE revision (
  lesson TEXT NOT NULL, revision INTEGER NOT NULL, rule TEXT NOT NULL, rationale TEXT NOT NULL,
  domain TEXT NOT NULL, scope TEXT NOT NULL, project TEXT, active INTEGER NOT NULL,
  who TEXT NOT NULL, at TEXT NOT NULL, why TEXT NOT NULL, decided INTEGER NOT NULL,
  source_feedback TEXT NOT NULL,
  PRIMARY KEY (lesson, revision)
) STRICT, WITHOUT ROWID;

-- the human gate --------------------------------------------------------------------------------------------
CREATE TABLE proposal (
  id TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
  version INTEGER NOT NULL, verdict TEXT NOT NULL, rule TEXT NOT NULL, rationale TEXT NOT NULL,
  domain TEXT NOT NULL, scope TEXT NOT NULL, project TEXT, origin TEXT NOT NULL, created REAL NOT NULL,
  lesson TEXT, lesson_revision INTEGER NOT NULL, old_rule TEXT NOT NULL, relation TEXT,
  evidence TEXT NOT NULL, cause TEXT NOT NULL, flags TEXT NOT NULL, feedback TEXT, run TEXT,
  is_by_rules INTEGER NOT NULL, asks TEXT NOT NULL, remark TEXT NOT NULL, decided_by TEXT, decided_at REAL,
  result TEXT, reminded INTEGER NOT NULL, original_rule TEXT NOT NULL,
  absorbs TEXT NOT NULL
) STRICT;
CREATE INDEX proposal_pending ON proposal (state, number);
CREATE INDEX proposal_feedback ON proposal (feedback);

CREATE TABLE analysis (
  id TEXT PRIMARY KEY, feedback TEXT NOT NULL, run TEXT, state TEXT NOT NULL, due REAL NOT NULL,
  tries INTEGER NOT NULL, remark TEXT NOT NULL, sharpen TEXT, proposal TEXT, lesson TEXT, note TEXT NOT NULL,
  error TEXT NOT NULL
) STRICT;
CREATE INDEX analysis_state ON analysis (state, due);
CREATE INDEX analysis_feedback ON analysis (feedback);

-- what agents do --------------------------------------------------------------------------------------------
CREATE TABLE session (
  id TEXT PRIMARY KEY, lane TEXT NOT NULL, project TEXT NOT NULL, agent TEXT NOT NULL, created REAL NOT NULL,
  is_current INTEGER NOT NULL, is_paused INTEGER NOT NULL, is_lessons_off INTEGER NOT NULL,
  first_prompt TEXT NOT NULL, model TEXT, language TEXT NOT NULL, folder TEXT NOT NULL
) STRICT;
CREATE INDEX session_lane ON session (lane, is_current);

CREATE TABLE prompt (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE, session TEXT NOT NULL, text TEXT NOT NULL, user TEXT NOT NULL, state TEXT NOT NULL,
  created REAL NOT NULL, not_before REAL NOT NULL, run TEXT, message TEXT NOT NULL
) STRICT;
CREATE INDEX prompt_state ON prompt (state, session, seq);

CREATE TABLE run (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE, session TEXT, agent TEXT NOT NULL, project TEXT, prompt TEXT NOT NULL,
  state TEXT NOT NULL, started REAL NOT NULL, answer TEXT NOT NULL, error TEXT NOT NULL, ended REAL,
  told TEXT NOT NULL, told_sha256 TEXT NOT NULL, is_lessons_off INTEGER NOT NULL, domain TEXT NOT NULL,
  calls TEXT NOT NULL, lane TEXT NOT NULL, user TEXT
) STRICT;
CREATE INDEX run_session ON run (session, seq);
CREATE INDEX run_project ON run (project, seq);
CREATE INDEX run_state ON run (state);

CREATE TABLE activity (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at REAL NOT NULL, who TEXT NOT NULL, surface TEXT NOT NULL, verb TEXT NOT NULL, subject TEXT NOT NULL,
  detail TEXT NOT NULL, batch TEXT NOT NULL
) STRICT;

-- what came in, what goes out: neutral, opaque, raw only until done -------------------------------------------
CREATE TABLE inbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id INTEGER NOT NULL UNIQUE, lane TEXT NOT NULL, raw TEXT NOT NULL, state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0, received REAL NOT NULL, error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX inbox_state ON inbox (state, seq);

CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  lane TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL, key TEXT, ref TEXT, rank INTEGER NOT NULL,
  not_before REAL NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL, created REAL NOT NULL
) STRICT;
CREATE INDEX outbox_state ON outbox (state, lane, seq);
CREATE INDEX outbox_key ON outbox (key) WHERE key IS NOT NULL;

CREATE TABLE receipt (
  lane TEXT NOT NULL, external TEXT NOT NULL, ref TEXT NOT NULL, seq INTEGER NOT NULL,
  PRIMARY KEY (lane, external)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipt_ref ON receipt (ref, seq);
CREATE INDEX receipt_lane ON receipt (lane, seq);

CREATE TABLE button (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, lane TEXT NOT NULL, payload TEXT NOT NULL, ref TEXT NOT NULL,
  version INTEGER NOT NULL, message TEXT NOT NULL, created REAL NOT NULL, expires REAL NOT NULL,
  is_used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX button_ref ON button (ref, kind);
CREATE INDEX button_expires ON button (expires);
