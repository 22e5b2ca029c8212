-- What is known of run times besides the mean of their logarithms.

ALTER TABLE predictions ADD COLUMN spread REAL NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN weight REAL NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN lengths TEXT NOT NULL DEFAULT '{}';
