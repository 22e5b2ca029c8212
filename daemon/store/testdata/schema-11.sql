-- A state file as the first release with schema 11 left it. Never change it.
PRAGMA application_id=1735423347;
PRAGMA user_version=11;
-- Times are RFC 3339 in UTC with nine decimals, so that text order is time
-- order; '' is no time. Documents (request, result, label, gpus, limits) are
-- JSON. Memory is in bytes, CPU time in nanoseconds.

CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('next_id', 1);

CREATE TABLE jobs (
  id           INTEGER NOT NULL PRIMARY KEY CHECK (id > 0),
  key          TEXT    NOT NULL,             -- request key of the submitter, '' if none
  uid          INTEGER NOT NULL,
  gid          INTEGER NOT NULL,
  user         TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  submitted_at TEXT    NOT NULL,
  changed_at   TEXT    NOT NULL,             -- when state changed last
  stop         TEXT    NOT NULL,             -- why it was told to stop, '' if it was not
  stop_by      TEXT    NOT NULL,
  attempt      INTEGER NOT NULL,             -- number of the current attempt, 0 if none
  label        TEXT    NOT NULL,
  request      TEXT    NOT NULL,
  result       TEXT                          -- NULL until the job has ended
) STRICT;

CREATE UNIQUE INDEX jobs_key ON jobs (uid, key) WHERE key <> '';
CREATE INDEX jobs_live ON jobs (id) WHERE result IS NULL;
CREATE INDEX jobs_ended ON jobs (changed_at, id) WHERE result IS NOT NULL;
CREATE INDEX jobs_ended_of ON jobs (uid, changed_at, id) WHERE result IS NOT NULL;

-- The private part of a job. Arguments and variables end in a NUL byte each.
CREATE TABLE payloads (
  job_id   INTEGER NOT NULL PRIMARY KEY REFERENCES jobs (id),
  argv     BLOB    NOT NULL,
  env_mode TEXT    NOT NULL,
  env      BLOB    NOT NULL,
  dir      BLOB    NOT NULL,
  umask    INTEGER NOT NULL,
  limits   TEXT    NOT NULL
) STRICT;

CREATE TABLE attempts (
  job_id         INTEGER NOT NULL REFERENCES jobs (id),
  number         INTEGER NOT NULL CHECK (number > 0),
  gpus           TEXT    NOT NULL,
  boot_id        TEXT    NOT NULL,
  invocation_id  TEXT    NOT NULL,           -- systemd's, '' until it started
  placed_at      TEXT    NOT NULL,
  started_at     TEXT    NOT NULL,
  ended_at       TEXT    NOT NULL,
  result         TEXT,
  peak_mem_bytes INTEGER NOT NULL,
  cpu_time_ns    INTEGER NOT NULL,
  PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE gpu_controls (
  uuid   TEXT    NOT NULL PRIMARY KEY,
  paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
  reason TEXT    NOT NULL,
  actor  TEXT    NOT NULL,
  at     TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- For people with an SQL shell.
CREATE VIEW overview AS
SELECT j.id, j.user, j.name, j.state,
       json_extract(j.request, '$.gpu_milli') / 1000.0 AS gpus,
       j.submitted_at, a.started_at, a.ended_at,
       (SELECT group_concat(json_extract(g.value, '$.index')) FROM json_each(a.gpus) g) AS gpu_indexes,
       json_extract(j.result, '$.exit_code') AS exit_code,
       a.peak_mem_bytes
FROM jobs j LEFT JOIN attempts a ON a.job_id = j.id AND a.number = j.attempt;

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
ALTER TABLE usage ADD COLUMN counts TEXT NOT NULL DEFAULT '{}';

CREATE TABLE predictions (
  key        TEXT    NOT NULL PRIMARY KEY,
  typical_ns INTEGER NOT NULL,
  runs       INTEGER NOT NULL,
  at         TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE predictions ADD COLUMN spread REAL NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN weight REAL NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN lengths TEXT NOT NULL DEFAULT '{}';
ALTER TABLE payloads ADD COLUMN setup TEXT NOT NULL DEFAULT '{}';

-- What is known of the GPU memory that jobs of a kind take.

ALTER TABLE predictions ADD COLUMN peak_bytes INTEGER NOT NULL DEFAULT 0;
CREATE TABLE notifications (
  job_id INTEGER NOT NULL, -- of a job that may have been forgotten since
  event TEXT NOT NULL,
  which INTEGER NOT NULL,
  closed TEXT NOT NULL, -- '' while it is owed
  data TEXT NOT NULL,
  PRIMARY KEY (job_id, event, which)
) STRICT, WITHOUT ROWID;

CREATE INDEX owed ON notifications (job_id) WHERE closed = '';

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

ALTER TABLE attempts ADD COLUMN eligible_at TEXT NOT NULL DEFAULT '';

CREATE TABLE runs (
  ended_at TEXT    NOT NULL,
  job_id   INTEGER NOT NULL,
  number   INTEGER NOT NULL,               -- of the attempt; 0: it ended without one
  uid      INTEGER NOT NULL,
  text     TEXT    NOT NULL,
  PRIMARY KEY (ended_at, job_id, number)
) STRICT, WITHOUT ROWID;

CREATE VIEW run_source AS
SELECT a.ended_at, a.job_id, a.number, j.uid,
       a.job_id || char(31) || a.number || char(31) || j.uid || char(31) || j.gid || char(31) ||
       iif(j.result IS NOT NULL AND j.attempt = a.number, j.state, '') || char(31) ||
       iif(json_valid(j.request), json_extract(j.request, '$.mem_bytes', '$.gpu_mem_bytes', '$.cpus', '$.time_limit_seconds', '$.priority'), '[]') || char(31) ||
       a.peak_mem_bytes || char(31) || a.cpu_time_ns || char(31) ||
       a.placed_at || char(31) || a.started_at || char(31) || a.ended_at || char(31) || a.eligible_at || char(31) ||
       j.owner_groups || char(31) || iif(json_valid(j.label), coalesce(json_extract(j.label, '$.tags'), ''), '') || char(31) ||
       a.gpus || char(31) || j.user || char(31) || j.name AS text
FROM attempts a CROSS JOIN jobs j ON j.id = a.job_id
UNION ALL
SELECT j.changed_at, j.id, 0, j.uid,
       j.id || char(31) || 0 || char(31) || j.uid || char(31) || j.gid || char(31) || j.state || char(31) ||
       iif(json_valid(j.request), json_extract(j.request, '$.mem_bytes', '$.gpu_mem_bytes', '$.cpus', '$.time_limit_seconds', '$.priority'), '[]') || char(31) ||
       0 || char(31) || 0 || char(31) || char(31) || char(31) || j.changed_at || char(31) || char(31) ||
       j.owner_groups || char(31) || iif(json_valid(j.label), coalesce(json_extract(j.label, '$.tags'), ''), '') || char(31) ||
       '[]' || char(31) || j.user || char(31) || j.name
FROM jobs j WHERE j.result IS NOT NULL AND j.attempt = 0 AND iif(json_valid(j.life), json_extract(j.life, '$.tasks') IS NULL, 1);

INSERT INTO runs SELECT * FROM run_source WHERE ended_at <> '';

CREATE TRIGGER attempt_made AFTER INSERT ON attempts WHEN NEW.ended_at <> '' BEGIN
  INSERT INTO runs SELECT * FROM run_source WHERE job_id = NEW.job_id AND number = NEW.number;
END;

CREATE TRIGGER attempt_changed AFTER UPDATE ON attempts WHEN NEW.ended_at <> '' OR OLD.ended_at <> '' BEGIN
  DELETE FROM runs WHERE ended_at = OLD.ended_at AND job_id = OLD.job_id AND number = OLD.number;
  INSERT INTO runs SELECT * FROM run_source WHERE job_id = NEW.job_id AND number = NEW.number AND ended_at <> '';
END;

CREATE TRIGGER attempt_removed AFTER DELETE ON attempts BEGIN
  DELETE FROM runs WHERE ended_at = OLD.ended_at AND job_id = OLD.job_id AND number = OLD.number;
END;

CREATE TRIGGER job_made AFTER INSERT ON jobs WHEN NEW.result IS NOT NULL BEGIN
  INSERT INTO runs SELECT * FROM run_source WHERE job_id = NEW.id AND ended_at <> '';
END;

-- A job that ends without an attempt, as a hundred thousand may at once that are cancelled: the
-- second half of run_source.
CREATE TRIGGER job_ended AFTER UPDATE ON jobs WHEN NEW.result IS NOT NULL AND OLD.result IS NULL AND NEW.attempt = 0 AND OLD.attempt = 0 BEGIN
  INSERT INTO runs SELECT NEW.changed_at, NEW.id, 0, NEW.uid,
         NEW.id || char(31) || 0 || char(31) || NEW.uid || char(31) || NEW.gid || char(31) || NEW.state || char(31) ||
         iif(json_valid(NEW.request), json_extract(NEW.request, '$.mem_bytes', '$.gpu_mem_bytes', '$.cpus', '$.time_limit_seconds', '$.priority'), '[]') || char(31) ||
         0 || char(31) || 0 || char(31) || char(31) || char(31) || NEW.changed_at || char(31) || char(31) ||
         NEW.owner_groups || char(31) || iif(json_valid(NEW.label), coalesce(json_extract(NEW.label, '$.tags'), ''), '') || char(31) ||
         '[]' || char(31) || NEW.user || char(31) || NEW.name
  WHERE NEW.changed_at <> '' AND iif(json_valid(NEW.life), json_extract(NEW.life, '$.tasks') IS NULL, 1);
END;

-- Any other job that ends may have been changed since its earlier attempts ended.
CREATE TRIGGER job_changed AFTER UPDATE ON jobs
WHEN (NEW.result IS NOT NULL OR OLD.result IS NOT NULL) AND NOT (NEW.result IS NOT NULL AND OLD.result IS NULL AND NEW.attempt = 0 AND OLD.attempt = 0) BEGIN
  DELETE FROM runs WHERE ended_at = OLD.changed_at AND job_id = OLD.id AND number = 0;
  DELETE FROM runs WHERE (ended_at, job_id, number) IN (SELECT ended_at, job_id, number FROM attempts WHERE job_id = NEW.id);
  INSERT INTO runs SELECT * FROM run_source WHERE job_id = NEW.id AND ended_at <> '';
END;

CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN
  DELETE FROM runs WHERE ended_at = OLD.changed_at AND job_id = OLD.id AND number = 0;
END;

INSERT INTO jobs VALUES(1,'',1001,1001,'alice','sweep','spawned','2026-01-02T03:04:05.000000000Z','2026-01-02T03:04:05.000000000Z','','',0,'{"name":"sweep","tags":{"p":"x"}}','{"gpu_milli":2000,"mem_bytes":34359738368,"priority":"normal","array":{"ranges":[{"first":3,"last":5,"step":2}]}}',NULL,'["lab"]','{"queued_at":"2026-01-02T03:04:05Z","tasks":{"next":2,"live":0,"failed":1}}',NULL,NULL,'');
INSERT INTO jobs VALUES(2,'key-2',1002,1002,'bob','train','failed','2026-01-02T03:00:00.000000000Z','2026-01-02T04:00:01.000000000Z','','',1,'{"name":"train"}','{"gpu_milli":1000,"priority":"5","requeue":true,"grace_seconds":0.5,"derived":{"shape":"ab"}}','{"outcome":"failed","exit_code":3}','[]','{"queued_at":"2026-01-02T03:00:00Z"}',NULL,NULL,'');
INSERT INTO jobs VALUES(3,'',1002,1002,'bob','again','completed','2026-01-02T03:00:00.000000000Z','2026-01-02T03:20:00.000000000Z','','',1,'{"name":"again"}','{"gpu_milli":500,"priority":"low","dedup":"d4"}','{"outcome":"completed","exit_code":0}','[]','{"queued_at":"2026-01-02T03:00:00Z"}',NULL,NULL,'d4');
INSERT INTO jobs VALUES(4,'',1001,1001,'alice','sweep','cancelled','2026-01-02T03:04:05.000000000Z','2026-01-02T03:10:00.000000000Z','cancel','alice',0,'{"name":"sweep"}','{"gpu_milli":2000,"priority":"normal"}','{"outcome":"cancelled","exit_code":0,"by":"alice"}','["lab"]','{"queued_at":"2026-01-02T03:04:05Z","task":{"array":1,"index":5}}',1,5,'');
INSERT INTO payloads VALUES(1,X'707974686f6e00','inherit',X'413d3100',X'2f686f6d652f616c696365',18,'[{"name":"NOFILE","soft":1024,"hard":1048576}]','{}');
INSERT INTO payloads VALUES(2,X'707974686f6e00ff0000','clean',X'',X'2f746d70',63,'[]','{"modules":["cuda/12"],"venv":"/srv/v","command":"true"}');
INSERT INTO payloads VALUES(3,X'7472756500','login',X'',X'2f',18,'[]','{}');
INSERT INTO attempts VALUES(2,1,'[{"uuid":"GPU-bb","index":1,"minor":3}]','b1','i1','2026-01-02T03:00:01.000000000Z','2026-01-02T03:00:02.000000000Z','2026-01-02T04:00:00.500000000Z','{"outcome":"failed","exit_code":3}',1073741824,60000000000,'2026-01-02T03:00:00.000000000Z');
INSERT INTO attempts VALUES(3,1,'[{"uuid":"GPU-bb","index":1,"minor":3,"milli":500}]','b1','i2','2026-01-02T03:00:01.000000000Z','2026-01-02T03:00:02.000000000Z','2026-01-02T03:20:00.000000000Z','{"outcome":"completed","exit_code":0}',1073741824,60000000000,'');
INSERT INTO notifications VALUES(2,'end',0,'','{"job":2,"event":"end","which":0,"uid":1002,"way":"mail","at":"2026-01-02T04:00:01Z"}');
INSERT INTO notifications VALUES(3,'end',0,'2026-01-02T04:00:02.000000000Z','{"job":3,"event":"end","which":0,"uid":1002,"way":"mail","at":"2026-01-02T03:20:00Z","closed":"2026-01-02T04:00:02Z"}');
INSERT INTO gpu_controls VALUES('GPU-aa',1,'fan','root','2026-01-02T03:04:05.000000000Z',0,'','{}');
INSERT INTO usage VALUES('u1001',7,'2026-01-02T03:04:05.000000000Z','{"capped":[5,6],"sizes":3}');
INSERT INTO predictions VALUES('k',5,6,'2026-01-02T03:04:05.000000000Z',0.5,6.5,'[{"b":3,"p":1}]',0);
INSERT INTO predictions VALUES('1001 memory 0 ab',0,0,'2026-01-02T03:04:05.000000000Z',0,0,'{}',1073741824);
INSERT INTO reservations VALUES(2,'[{"uuid":"GPU-aa","index":0,"minor":0}]','2200-01-02T03:04:05.000000000Z','2200-01-02T03:04:06.000000000Z','[{"uid":1001,"user":"alice"}]','["lab"]','course','root','2026-01-02T03:04:05.000000000Z');
UPDATE meta SET value = 5 WHERE name = 'next_id';
UPDATE meta SET value = 4 WHERE name = 'next_reservation';
