-- What a job does before its command.

ALTER TABLE payloads ADD COLUMN setup TEXT NOT NULL DEFAULT '{}';
