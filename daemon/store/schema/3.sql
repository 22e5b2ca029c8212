-- The request is the document that the wire has, too: spans in seconds, the
-- priority as people type it, and what the daemon derived in an object of its own.

UPDATE jobs SET request = json_patch(
  json_remove(request, '$.time_limit', '$.grace', '$.warn_before', '$.backoff', '$.priority',
                       '$.defaulted_mem', '$.implied_stop', '$.shape', '$.script'),
  json_object(
    'time_limit_seconds',  CASE WHEN request->>'$.time_limit'  % 1000000000 = 0 THEN request->>'$.time_limit'  / 1000000000 ELSE request->>'$.time_limit'  / 1e9 END,
    'grace_seconds',       CASE WHEN request->>'$.grace'       % 1000000000 = 0 THEN request->>'$.grace'       / 1000000000 ELSE request->>'$.grace'       / 1e9 END,
    'warn_before_seconds', CASE WHEN request->>'$.warn_before' % 1000000000 = 0 THEN request->>'$.warn_before' / 1000000000 ELSE request->>'$.warn_before' / 1e9 END,
    'backoff_seconds',     CASE WHEN request->>'$.backoff'     % 1000000000 = 0 THEN request->>'$.backoff'     / 1000000000 ELSE request->>'$.backoff'     / 1e9 END,
    'priority', CASE coalesce(request->>'$.priority.class', 0)
      WHEN -2 THEN 'scavenger' WHEN -1 THEN 'low' WHEN 1 THEN 'high' WHEN 2 THEN 'interactive'
      ELSE CASE coalesce(request->>'$.priority.number', 0) WHEN 0 THEN 'normal' ELSE request->>'$.priority.number' || '' END
    END,
    'derived', CASE WHEN coalesce(request->'$.defaulted_mem', request->'$.implied_stop', request->'$.shape', request->'$.script') IS NOT NULL THEN json_object(
      'defaulted_mem', json(request->'$.defaulted_mem'),
      'implied_stop',  json(request->'$.implied_stop'),
      'shape',         request->>'$.shape',
      'script',        request->>'$.script') END))
WHERE json_valid(request);

-- Whether a command of a job that has not ended has run, in any attempt, or one of
-- a task of an array: until now that was read off the attempt, and off the tasks.

UPDATE jobs SET life = json_set(life, '$.began', json('true'))
WHERE result IS NULL AND json_valid(life) AND (
  EXISTS (SELECT 1 FROM attempts a WHERE a.job_id = jobs.id AND a.started_at <> '') OR
  EXISTS (SELECT 1 FROM jobs t JOIN attempts a ON a.job_id = t.id WHERE t.array_id = jobs.id AND a.started_at <> ''));
