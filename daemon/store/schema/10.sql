-- What reports count, in the order of time: each attempt that has ended, and each job that
-- ended without one, with what of the job a report asks about. It is a copy, made and kept by
-- triggers, so that a report reads a month in one go and decodes nothing else.
--
-- text has the fields of run_source, each but the last ended by the character 31, which no
-- document has in it: JSON writes it as an escape.

CREATE TABLE runs (
  ended_at TEXT    NOT NULL,
  job_id   INTEGER NOT NULL,
  number   INTEGER NOT NULL,               -- of the attempt; 0: it ended without one
  uid      INTEGER NOT NULL,
  text     TEXT    NOT NULL,
  PRIMARY KEY (ended_at, job_id, number)
) STRICT, WITHOUT ROWID;

-- What belongs into runs, and what has not ended, with '' for the end.
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

-- A job that ends may have been changed since its earlier attempts ended.
CREATE TRIGGER job_changed AFTER UPDATE ON jobs WHEN NEW.result IS NOT NULL OR OLD.result IS NOT NULL BEGIN
  DELETE FROM runs WHERE ended_at = OLD.changed_at AND job_id = OLD.id AND number = 0;
  DELETE FROM runs WHERE (ended_at, job_id, number) IN (SELECT ended_at, job_id, number FROM attempts WHERE job_id = NEW.id);
  INSERT INTO runs SELECT * FROM run_source WHERE job_id = NEW.id AND ended_at <> '';
END;

CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN
  DELETE FROM runs WHERE ended_at = OLD.changed_at AND job_id = OLD.id AND number = 0;
END;
