-- Messages about jobs. Of those that have been sent, or given up, people read how
-- that went as long as the job is on record.

CREATE TABLE notifications (
  job_id INTEGER NOT NULL, -- of a job that may have been forgotten since
  event TEXT NOT NULL,
  which INTEGER NOT NULL,
  closed TEXT NOT NULL, -- '' while it is owed
  data TEXT NOT NULL,
  PRIMARY KEY (job_id, event, which)
) STRICT, WITHOUT ROWID;

CREATE INDEX owed ON notifications (job_id) WHERE closed = '';
