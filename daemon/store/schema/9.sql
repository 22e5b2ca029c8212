-- From when the wait for an attempt counts; '' is unknown, as it is of those before.

ALTER TABLE attempts ADD COLUMN eligible_at TEXT NOT NULL DEFAULT '';
