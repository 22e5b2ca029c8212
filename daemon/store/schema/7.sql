-- What is known of the GPU memory that jobs of a kind take.

ALTER TABLE predictions ADD COLUMN peak_bytes INTEGER NOT NULL DEFAULT 0;
