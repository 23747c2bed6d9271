-- name: next_in_sequence
INSERT INTO sequence (name, value) VALUES (:name, 1)
ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value;

-- name: feedback_get
SELECT * FROM feedback WHERE id = :id;

-- name: feedback_current
SELECT * FROM feedback WHERE run = :run AND user IS :user AND is_current = 1;

-- name: feedback_supersede
UPDATE feedback SET is_current = 0 WHERE id = :id;

-- name: feedback_amend
UPDATE feedback SET user_comment = :comment, reasons = :reasons WHERE id = :id;

-- name: feedback_newest
SELECT * FROM feedback
WHERE is_current = 1 AND type <> 'withdrawn' AND (:project IS NULL OR project = :project)
ORDER BY seq DESC LIMIT :limit;

-- name: feedback_erase
UPDATE feedback SET user_comment = '', context = '' WHERE id = :id;

-- name: feedback_voted
SELECT run.id AS run, run.project, run.started, run.told, run.is_lessons_off,
  max(feedback.type = 'negative') AS is_negative
FROM feedback JOIN run ON run.id = feedback.run
WHERE feedback.is_current = 1 AND feedback.type <> 'withdrawn' AND feedback.run IS NOT NULL
GROUP BY run.id ORDER BY run.seq;

-- name: credit_add
INSERT OR IGNORE INTO credit (feedback, origin, kind, lesson) VALUES (:feedback, :origin, :kind, :lesson);

-- name: credit_of
SELECT * FROM credit WHERE feedback = :feedback ORDER BY origin, kind;

-- name: credit_drop
DELETE FROM credit WHERE feedback = :feedback;

-- name: credit_move
UPDATE credit SET lesson = :target WHERE lesson = :source;

-- name: credit_return
UPDATE credit SET lesson = :origin WHERE origin = :origin;

-- name: lesson_get
SELECT * FROM lesson WHERE id = :id;

-- name: lesson_active
SELECT * FROM lesson
WHERE active = 1 AND (scope <> 'project' OR project = :project) ORDER BY number;

-- name: lesson_all
SELECT * FROM lesson WHERE (:active IS NULL OR active = :active) ORDER BY number;

-- name: lesson_history
SELECT * FROM revision WHERE lesson = :lesson ORDER BY revision;

-- name: lesson_reserve
INSERT INTO sequence (name, value) VALUES ('lesson', :number)
ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value);

-- name: lesson_saying
SELECT * FROM lesson WHERE active = 1 AND folded = :folded ORDER BY number;

-- name: lesson_indexed
SELECT 1 FROM lesson WHERE id = :id AND rule = :rule AND active = :active;

-- name: lesson_unindex
DELETE FROM lesson_terms WHERE rowid = :number;

-- name: lesson_index
INSERT INTO lesson_terms (rowid, terms) VALUES (:number, :terms);

-- name: lesson_frequency
SELECT doc FROM lesson_vocabulary WHERE term = :term;

-- name: lesson_nearest
SELECT lesson.*, -bm25(lesson_terms) AS score
FROM lesson_terms JOIN lesson ON lesson.number = lesson_terms.rowid
WHERE lesson_terms MATCH :asked AND (lesson.scope <> 'project' OR lesson.project = :project)
ORDER BY score DESC, lesson.number LIMIT :limit;

-- name: lesson_merged_into
SELECT * FROM lesson WHERE merged_into = :id ORDER BY number;

-- name: lesson_told_sizes
SELECT id, size FROM lesson INDEXED BY lesson_told
WHERE active = 1 AND scope <> 'domain' AND (scope <> 'project' OR project = :project)
ORDER BY decided DESC, number;

-- name: lesson_projects
SELECT DISTINCT project FROM lesson WHERE active = 1 AND scope = 'project' ORDER BY project;

-- name: lesson_domains
SELECT DISTINCT domain FROM lesson INDEXED BY lesson_on_demand WHERE active = 1 AND scope = 'domain';

-- name: lesson_on_demand
SELECT * FROM lesson WHERE active = 1 AND scope = 'domain' ORDER BY number;

-- name: lesson_page
SELECT * FROM lesson
WHERE active = :active
  AND (:is_everywhere OR scope <> 'project' OR project = :project)
  AND (:scope IS NULL OR scope = :scope) AND (:domain IS NULL OR domain = :domain)
ORDER BY CASE scope WHEN 'global' THEN 0 WHEN 'project' THEN 1 ELSE 2 END,
  CASE domain WHEN 'debug' THEN 0 WHEN 'refactoring' THEN 1 WHEN 'feature' THEN 2 WHEN 'review' THEN 3 ELSE 4 END,
  number
LIMIT :limit OFFSET :offset;

-- name: lesson_count
SELECT count(*) FROM lesson
WHERE active = :active
  AND (:is_everywhere OR scope <> 'project' OR project = :project)
  AND (:scope IS NULL OR scope = :scope) AND (:domain IS NULL OR domain = :domain);

-- name: lesson_erase
DELETE FROM lesson WHERE id = :id;

-- name: revision_erase
DELETE FROM revision WHERE lesson = :id;

-- name: proposal_get
SELECT * FROM proposal WHERE id = :id;

-- name: proposal_by_key
SELECT * FROM proposal WHERE key = :key;

-- name: proposal_by_feedback
SELECT * FROM proposal WHERE feedback = :feedback ORDER BY number;

-- name: proposal_is_pending_at
SELECT 1 FROM proposal WHERE id = :id AND state = 'pending' AND version = :version;

-- name: proposal_all
SELECT * FROM proposal ORDER BY number;

-- name: proposal_pending
SELECT * FROM proposal WHERE state = 'pending' ORDER BY number;

-- name: analysis_get
SELECT * FROM analysis WHERE id = :id;

-- name: analysis_of
SELECT * FROM analysis WHERE feedback = :feedback ORDER BY id;

-- name: analysis_in
SELECT analysis.* FROM analysis JOIN json_each(:states) AS wanted ON analysis.state = wanted.value
ORDER BY due, id;

-- name: run_get
SELECT * FROM run WHERE id = :id;

-- name: run_of_session
SELECT * FROM run WHERE session = :session ORDER BY seq DESC LIMIT :limit;

-- name: run_newest
SELECT * FROM run WHERE (:project IS NULL OR project = :project) ORDER BY seq DESC LIMIT 1;

-- name: run_running
SELECT * FROM run WHERE state = 'running' ORDER BY seq;

-- name: session_get
SELECT * FROM session WHERE id = :id;

-- name: session_current
SELECT * FROM session WHERE lane = :lane AND is_current = 1 ORDER BY created DESC, id DESC LIMIT 1;

-- name: session_of_lane
SELECT * FROM session WHERE lane = :lane ORDER BY created DESC, id DESC;

-- name: prompt_get
SELECT * FROM prompt WHERE id = :id;

-- name: prompt_queued
SELECT * FROM prompt WHERE state = 'queued' AND session = :session ORDER BY seq;

-- name: prompt_in
SELECT * FROM prompt WHERE state = :state ORDER BY seq;

-- name: activity_after
SELECT * FROM activity WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: setting_get
SELECT value FROM setting WHERE name = :name;

-- name: setting_put
INSERT INTO setting (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: setting_drop
DELETE FROM setting WHERE name = :name;

-- name: inbox_add
INSERT OR IGNORE INTO inbox (id, lane, raw, state, received) VALUES (:id, :lane, :raw, 'waiting', :at);

-- name: inbox_waiting
SELECT id, lane, raw, attempts, received FROM inbox WHERE state = 'waiting' ORDER BY seq;

-- name: inbox_finish
UPDATE inbox SET state = 'done', raw = '' WHERE id = :id;

-- name: inbox_fail
UPDATE inbox SET state = :state, attempts = attempts + 1, error = :error WHERE id = :id;

-- name: inbox_dead
SELECT id, lane, raw, attempts, received FROM inbox WHERE state = 'dead' ORDER BY seq;

-- name: inbox_prune
DELETE FROM inbox WHERE state = 'done' AND received < :before;

-- name: outbox_replace
DELETE FROM outbox WHERE key = :key AND state = 'waiting';

-- name: outbox_waiting
SELECT * FROM outbox WHERE state IN ('waiting', 'sending') AND (:lane IS NULL OR lane = :lane) ORDER BY rank, seq;

-- name: outbox_lanes
SELECT DISTINCT lane FROM outbox WHERE state IN ('waiting', 'sending');

-- name: outbox_start
UPDATE outbox SET state = 'sending', attempts = attempts + 1, body = :body WHERE seq = :seq;

-- name: outbox_delay
UPDATE outbox SET state = 'waiting', not_before = :not_before, error = :error, body = :body WHERE seq = :seq;

-- name: outbox_finish
UPDATE outbox SET state = 'done', body = '' WHERE seq = :seq;

-- name: outbox_fail
UPDATE outbox SET state = 'dead', error = :error, body = '' WHERE seq = :seq;

-- name: outbox_move
UPDATE outbox SET lane = :target WHERE lane = :lane AND state IN ('waiting', 'sending');

-- name: outbox_drop
UPDATE outbox SET state = 'dead', body = '', error = 'the chat is gone' WHERE lane = :lane AND state IN ('waiting', 'sending');

-- name: outbox_dead
SELECT * FROM outbox WHERE state = 'dead' ORDER BY seq;

-- name: outbox_prune
DELETE FROM outbox WHERE state IN ('done', 'dead') AND created < :before;

-- name: receipt_put
INSERT INTO receipt (lane, external, ref, seq) VALUES (:lane, :external, :ref, :seq)
ON CONFLICT (lane, external) DO UPDATE SET ref = excluded.ref, seq = excluded.seq;

-- name: receipt_of
SELECT * FROM receipt WHERE ref = :ref ORDER BY seq;

-- name: receipt_newest
SELECT * FROM receipt WHERE lane = :lane ORDER BY seq DESC LIMIT 1;

-- name: receipt_ref
SELECT ref FROM receipt WHERE lane = :lane AND external = :external;

-- name: receipt_move
UPDATE OR REPLACE receipt SET lane = :target WHERE lane = :lane;

-- name: button_get
SELECT * FROM button WHERE id = :id;

-- name: button_of
SELECT * FROM button WHERE ref = :ref AND kind = :kind ORDER BY created DESC, version DESC, id DESC LIMIT 1;

-- name: button_prune
DELETE FROM button WHERE expires < :before;

-- name: agent_get
SELECT * FROM agent WHERE id = :id;

-- name: agent_all
SELECT * FROM agent ORDER BY id;

-- name: agent_drop
DELETE FROM agent WHERE id = :id;

-- name: assignment_get
SELECT * FROM assignment WHERE agent = :agent AND skill = :skill;

-- name: assignment_of
SELECT * FROM assignment WHERE agent = :agent ORDER BY skill;

-- name: assignment_all
SELECT * FROM assignment ORDER BY agent, skill;

-- name: assignment_drop
DELETE FROM assignment WHERE agent = :agent AND skill = :skill;

-- name: assignment_drop_agent
DELETE FROM assignment WHERE agent = :agent;

-- name: assignment_read
UPDATE assignment SET reads = reads + 1, read_at = :at WHERE agent = :agent AND skill = :skill;
