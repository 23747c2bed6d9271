-- name: ruling_get
SELECT * FROM ruling
WHERE project = :project AND tool = :tool AND verb = :verb AND error_class = :error_class;

-- name: ruling_drop
DELETE FROM ruling WHERE project = :project AND tool = :tool AND verb = :verb AND error_class = :error_class;

-- name: ruling_of
SELECT * FROM ruling WHERE :project IS NULL OR project = :project OR is_global = 1 ORDER BY decided;

-- name: run_blank
UPDATE run SET prompt = '', answer = '', error = '', calls = '[]'
WHERE ended < :before AND (prompt <> '' OR answer <> '');
