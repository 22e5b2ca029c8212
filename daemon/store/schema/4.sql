-- What is counted of an account besides its GPU time.

ALTER TABLE usage ADD COLUMN counts TEXT NOT NULL DEFAULT '{}';
