-- name: trace_claim
INSERT OR IGNORE INTO counted_lately (hash)
SELECT value FROM json_each(:hashes) WHERE NOT EXISTS (SELECT 1 FROM counted WHERE hash = value)
RETURNING hash;

-- name: trace_lately
SELECT count(*) FROM counted_lately;

-- name: trace_settle
INSERT OR IGNORE INTO counted (hash) SELECT hash FROM counted_lately ORDER BY hash;

-- name: trace_settled
DELETE FROM counted_lately;

-- name: trace_add
INSERT INTO trace (ts, session, run, turn, project, agent, tool, is_error, exit_code, aborted, file, cmd, verb,
  error_class, snippet)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: trace_window
SELECT * FROM (SELECT * FROM trace WHERE session = :session ORDER BY seq DESC LIMIT :limit)
WHERE run = :run AND turn >= :turn ORDER BY seq;

-- name: trace_newest
SELECT * FROM trace WHERE :project IS NULL OR project = :project ORDER BY seq DESC LIMIT :limit;

-- name: trace_prune
DELETE FROM trace WHERE seq BETWEEN :first AND :last AND ts < :before;

-- name: trace_range
SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM trace;

-- name: trace_erase
DELETE FROM trace WHERE project = :project AND tool = :tool AND verb = :verb AND error_class = :error_class;

-- name: trace_count
SELECT count(*) FROM trace;

-- name: pattern_get
SELECT * FROM pattern
WHERE project = :project AND tool = :tool AND verb = :verb AND error_class = :error_class;

-- name: pattern_of
SELECT * FROM pattern WHERE :project IS NULL OR project = :project;

-- name: pattern_put
INSERT INTO pattern (project, tool, verb, error_class, failures, runs, sessions, first_ts, last_ts, last_cmd,
  last_error, last_recovery, last_recovery_ts, regressed_ts, agent)
VALUES (:project, :tool, :verb, :error_class, :failures, :runs, :sessions, :first_ts, :last_ts, :last_cmd,
  :last_error, :last_recovery, :last_recovery_ts, :regressed_ts, :agent)
ON CONFLICT (project, tool, verb, error_class) DO UPDATE SET
  failures = excluded.failures, runs = excluded.runs, sessions = excluded.sessions,
  first_ts = excluded.first_ts, last_ts = excluded.last_ts, last_cmd = excluded.last_cmd,
  last_error = excluded.last_error, last_recovery = excluded.last_recovery,
  last_recovery_ts = excluded.last_recovery_ts, regressed_ts = excluded.regressed_ts, agent = excluded.agent;

-- name: pattern_note
INSERT OR IGNORE INTO seen (pattern, kind, hash)
SELECT id, :kind, :hash FROM pattern
WHERE project = :project AND tool = :tool AND verb = :verb AND error_class = :error_class;

-- name: pattern_forget
DELETE FROM seen WHERE pattern IN (SELECT id FROM pattern
WHERE project = :project AND tool = :tool AND verb = :verb AND error_class = :error_class);

-- name: pattern_drop
DELETE FROM pattern WHERE project = :project AND tool = :tool AND verb = :verb AND error_class = :error_class;

-- name: usage_add
INSERT INTO usage (project, tool, verb, week, calls, failures) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (project, tool, verb, week) DO UPDATE SET
  calls = calls + excluded.calls, failures = failures + excluded.failures;

-- name: usage_calls
SELECT project, tool, verb, sum(calls) AS calls FROM usage
WHERE :project IS NULL OR project = :project GROUP BY project, tool, verb;

-- name: usage_weeks
SELECT week, sum(calls) AS calls, sum(failures) AS failures FROM usage
WHERE :project IS NULL OR project = :project GROUP BY week ORDER BY week;

-- name: usage_tools
SELECT tool, sum(calls) AS calls, sum(failures) AS failures FROM usage
WHERE :project IS NULL OR project = :project GROUP BY tool ORDER BY calls DESC, tool;

-- name: import_get
SELECT * FROM import WHERE path = :path;
