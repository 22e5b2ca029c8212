-- A hundred thousand jobs that are cancelled at once cost two thirds in the triggers of runs: of what
-- ends without an attempt, nothing of it can be there before.

DROP TRIGGER job_changed;

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
