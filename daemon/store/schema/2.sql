-- Fractions, arrays, dependencies, retries, reservations and what is kept for
-- fair share and predictions. Documents and times are written as in schema 1.

ALTER TABLE jobs ADD COLUMN owner_groups TEXT NOT NULL DEFAULT '[]'; -- those of the owner's that have a quota
ALTER TABLE jobs ADD COLUMN life TEXT NOT NULL DEFAULT '{}';         -- what the scheduler keeps between attempts

-- Copies for look-ups of what is in life and request.
ALTER TABLE jobs ADD COLUMN array_id INTEGER REFERENCES jobs (id);                   -- of a task
ALTER TABLE jobs ADD COLUMN task_index INTEGER;
ALTER TABLE jobs ADD COLUMN dedup TEXT NOT NULL DEFAULT '';

UPDATE jobs SET life = json_object('queued_at', submitted_at) WHERE submitted_at <> '';

CREATE UNIQUE INDEX jobs_task ON jobs (array_id, task_index) WHERE array_id IS NOT NULL;
CREATE INDEX jobs_done ON jobs (id, uid, dedup) WHERE dedup <> '' AND state = 'completed' AND array_id IS NULL;

ALTER TABLE gpu_controls ADD COLUMN drain INTEGER NOT NULL DEFAULT 0 CHECK (drain IN (0, 1));
ALTER TABLE gpu_controls ADD COLUMN until TEXT NOT NULL DEFAULT '';
ALTER TABLE gpu_controls ADD COLUMN fault TEXT NOT NULL DEFAULT '{}'; -- what its errors tell

CREATE TABLE usage (
  account TEXT    NOT NULL PRIMARY KEY,      -- 'u1001' for a user by number, 'gNAME' for a group
  micro   INTEGER NOT NULL,                  -- micro-GPU-seconds, decayed to the moment at
  at      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE predictions (
  key        TEXT    NOT NULL PRIMARY KEY,
  typical_ns INTEGER NOT NULL,
  runs       INTEGER NOT NULL,
  at         TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX predictions_age ON predictions (at, key);

CREATE TABLE reservations (
  id             INTEGER NOT NULL PRIMARY KEY CHECK (id > 0),
  gpus           TEXT    NOT NULL,
  from_at        TEXT    NOT NULL,
  to_at          TEXT    NOT NULL,
  allowed_users  TEXT    NOT NULL,
  allowed_groups TEXT    NOT NULL,
  reason         TEXT    NOT NULL,
  actor          TEXT    NOT NULL,
  at             TEXT    NOT NULL
) STRICT;

INSERT INTO meta (name, value) VALUES ('next_reservation', 1);

DROP VIEW overview;

-- For people with an SQL shell. A task of an array has its name in task; an
-- array has the number of its tasks, and of those that became jobs, that have
-- not ended and that did not complete.
CREATE VIEW overview AS
SELECT j.id, j.array_id || '_' || j.task_index AS task, j.user, j.name, j.state,
       json_extract(j.life, '$.held') AS held_by,
       json_extract(j.request, '$.gpu_milli') / 1000.0 AS gpus,
       j.submitted_at, a.started_at, a.ended_at,
       (SELECT group_concat(json_extract(g.value, '$.index')) FROM json_each(a.gpus) g) AS gpu_indexes,
       json_extract(j.result, '$.exit_code') AS exit_code,
       a.peak_mem_bytes,
       (SELECT sum((json_extract(r.value, '$.last') - json_extract(r.value, '$.first')) / json_extract(r.value, '$.step') + 1)
        FROM json_each(j.request, '$.array.ranges') r) AS tasks,
       json_extract(j.life, '$.tasks.next') AS tasks_begun,
       json_extract(j.life, '$.tasks.live') AS tasks_live,
       json_extract(j.life, '$.tasks.failed') AS tasks_failed
FROM jobs j LEFT JOIN attempts a ON a.job_id = j.id AND a.number = j.attempt;
