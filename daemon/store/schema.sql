-- Times are RFC 3339 in UTC with nine decimals, so that text order is time
-- order; '' is no time. Documents (request, result, label, life, gpus, limits,
-- setup and the like) are JSON. Memory is in bytes, CPU time in nanoseconds.

CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('next_id', 1), ('next_reservation', 1);

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
  result       TEXT,                         -- NULL until the job has ended
  owner_groups TEXT    NOT NULL DEFAULT '[]', -- the owner's groups that have a quota
  life         TEXT    NOT NULL DEFAULT '{}', -- what the scheduler keeps between attempts

  -- Copies of values in life and request, for look-ups and reports. GPUs are in thousandths; 0: not requested.
  array_id      INTEGER REFERENCES jobs (id), -- of a task
  task_index    INTEGER,
  dedup         TEXT    NOT NULL,
  class         TEXT    NOT NULL,            -- of its priority
  gpu_milli     INTEGER NOT NULL,
  gpu_mem_bytes INTEGER NOT NULL,            -- of each GPU
  mem_bytes     INTEGER NOT NULL,            -- of the host
  cpus          INTEGER NOT NULL,
  time_limit_ns INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX jobs_key ON jobs (uid, key) WHERE key <> '';
CREATE INDEX jobs_live ON jobs (id) WHERE result IS NULL;
CREATE INDEX jobs_ended ON jobs (changed_at, id) WHERE result IS NOT NULL;
CREATE INDEX jobs_ended_of ON jobs (uid, changed_at, id) WHERE result IS NOT NULL;
CREATE UNIQUE INDEX jobs_task ON jobs (array_id, task_index) WHERE array_id IS NOT NULL;
CREATE INDEX jobs_done ON jobs (id, uid, dedup) WHERE dedup <> '' AND state = 'completed' AND array_id IS NULL;

-- The private part of a job. Arguments and variables end in a NUL byte each.
CREATE TABLE payloads (
  job_id   INTEGER NOT NULL PRIMARY KEY REFERENCES jobs (id),
  argv     BLOB    NOT NULL,
  env_mode TEXT    NOT NULL,
  env      BLOB    NOT NULL,
  dir      BLOB    NOT NULL,
  umask    INTEGER NOT NULL,
  limits   TEXT    NOT NULL,
  setup    TEXT    NOT NULL DEFAULT '{}'     -- what the job does before its command
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
  eligible_at    TEXT    NOT NULL DEFAULT '', -- the beginning of the wait for it, '' if unknown
  PRIMARY KEY (job_id, number)
) STRICT, WITHOUT ROWID;

-- What reports read: attempts in the order of their ends.
CREATE INDEX attempts_ended ON attempts (ended_at);

-- Messages about jobs. Those that were sent or given up are kept as long as the
-- job is on record, for people to read.
CREATE TABLE notifications (
  job_id INTEGER NOT NULL, -- the job may have been forgotten since
  event  TEXT    NOT NULL,
  which  INTEGER NOT NULL,
  closed TEXT    NOT NULL, -- '' while it is to be sent
  data   TEXT    NOT NULL,
  PRIMARY KEY (job_id, event, which)
) STRICT, WITHOUT ROWID;

CREATE INDEX owed ON notifications (job_id) WHERE closed = '';

-- Directories of jobs to be removed.
CREATE TABLE directories (
  job_id  INTEGER NOT NULL,                  -- the job may have been forgotten since
  attempt INTEGER NOT NULL,                  -- 0: it is of the whole job
  uid     INTEGER NOT NULL,
  due     TEXT    NOT NULL,                  -- '': when the job is forgotten
  data    TEXT    NOT NULL,
  PRIMARY KEY (job_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX directories_of ON directories (uid, data ->> '$.path');

CREATE TABLE gpu_controls (
  uuid   TEXT    NOT NULL PRIMARY KEY,
  paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
  reason TEXT    NOT NULL,
  actor  TEXT    NOT NULL,
  at     TEXT    NOT NULL,
  drain  INTEGER NOT NULL DEFAULT 0 CHECK (drain IN (0, 1)),
  until  TEXT    NOT NULL DEFAULT '',
  fault  TEXT    NOT NULL DEFAULT '{}'       -- what its errors say about it
) STRICT, WITHOUT ROWID;

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

CREATE TABLE usage (
  account TEXT    NOT NULL PRIMARY KEY,      -- 'u1001' for a user by number, 'gNAME' for a group
  micro   INTEGER NOT NULL,                  -- micro-GPU-seconds, decayed to the time at
  at      TEXT    NOT NULL,
  counts  TEXT    NOT NULL DEFAULT '{}'      -- what else is counted for it
) STRICT, WITHOUT ROWID;

CREATE TABLE predictions (
  key        TEXT    NOT NULL PRIMARY KEY,
  typical_ns INTEGER NOT NULL,               -- the geometric mean of run times
  runs       INTEGER NOT NULL,
  at         TEXT    NOT NULL,
  spread     REAL    NOT NULL DEFAULT 0,
  weight     REAL    NOT NULL DEFAULT 0,
  lengths    TEXT    NOT NULL DEFAULT '{}',
  peak_bytes INTEGER NOT NULL DEFAULT 0      -- GPU memory that jobs of the kind use
) STRICT, WITHOUT ROWID;

CREATE INDEX predictions_age ON predictions (at, key);

-- For people with an SQL shell. A task of an array has its name in task; an
-- array has the numbers of its tasks, of those that became jobs, that have not
-- ended and that did not complete.
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
