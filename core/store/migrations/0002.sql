-- Search, equality by folded text, pages in their order; what a proposal may contradict. `folded` and `terms` are
-- functions of ours (core.rules): schema.py gives them to the connection that migrates.

ALTER TABLE lesson ADD COLUMN folded TEXT NOT NULL DEFAULT '';
ALTER TABLE lesson ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
UPDATE lesson SET folded = folded(rule), size = length(domain) + length(rule);
CREATE INDEX lesson_folded ON lesson (folded) WHERE active = 1;
CREATE INDEX lesson_page ON lesson (
  active,
  CASE scope WHEN 'global' THEN 0 WHEN 'project' THEN 1 ELSE 2 END,
  CASE domain WHEN 'debug' THEN 0 WHEN 'refactoring' THEN 1 WHEN 'feature' THEN 2 WHEN 'review' THEN 3 ELSE 4 END,
  number, scope, domain, project
);
CREATE INDEX lesson_merged ON lesson (merged_into) WHERE merged_into IS NOT NULL;
-- All that choosing what the block has room for reads, in its order.
CREATE INDEX lesson_told ON lesson (decided DESC, number, scope, project, size, id, active)
WHERE active = 1 AND scope <> 'domain';
CREATE INDEX lesson_on_demand ON lesson (number, domain, active, scope) WHERE active = 1 AND scope = 'domain';

-- The active lessons' index terms by the number of the lesson.
CREATE VIRTUAL TABLE lesson_terms USING fts5(terms, tokenize = 'unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE lesson_vocabulary USING fts5vocab(lesson_terms, 'row');
INSERT INTO lesson_terms (rowid, terms) SELECT number, terms(rule) FROM lesson WHERE active = 1;

ALTER TABLE proposal ADD COLUMN conflicts TEXT NOT NULL DEFAULT '[]';
CREATE INDEX feedback_standing ON feedback (run) WHERE is_current = 1 AND type <> 'withdrawn';
