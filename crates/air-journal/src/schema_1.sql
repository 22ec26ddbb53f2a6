CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
  seq      INTEGER PRIMARY KEY,
  stream   TEXT    NOT NULL,
  position INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  body     TEXT    NOT NULL,
  prev     BLOB    NOT NULL,
  hash     BLOB    NOT NULL,
  UNIQUE (stream, position)
) STRICT;
-- Lists the streams in the order of their first records without a walk over all records.
CREATE INDEX records_first ON records (position) WHERE position = 0;
CREATE TRIGGER records_no_update BEFORE UPDATE ON records
  BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;
CREATE TRIGGER records_no_delete BEFORE DELETE ON records
  BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;
-- `INSERT OR REPLACE` deletes without firing the trigger above.
CREATE TRIGGER records_no_replace BEFORE INSERT ON records
  WHEN NEW.seq <= (SELECT max(seq) FROM records)
    OR EXISTS (SELECT 1 FROM records WHERE stream = NEW.stream AND position = NEW.position)
  BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;

CREATE TABLE payloads (
  id      TEXT PRIMARY KEY,
  content BLOB NOT NULL
) STRICT;
CREATE TRIGGER payloads_no_update BEFORE UPDATE ON payloads
  BEGIN SELECT RAISE(ABORT, 'payloads are erased, never changed'); END;

CREATE TABLE guardrails (
  seq     INTEGER PRIMARY KEY,
  id      TEXT    NOT NULL,
  version INTEGER NOT NULL,
  format  INTEGER NOT NULL,
  body    TEXT    NOT NULL,
  UNIQUE (id, version)
) STRICT;
CREATE TRIGGER guardrails_no_update BEFORE UPDATE ON guardrails
  BEGIN SELECT RAISE(ABORT, 'guardrails are append-only'); END;
CREATE TRIGGER guardrails_no_delete BEFORE DELETE ON guardrails
  BEGIN SELECT RAISE(ABORT, 'guardrails are append-only'); END;
CREATE TRIGGER guardrails_no_replace BEFORE INSERT ON guardrails
  WHEN EXISTS (SELECT 1 FROM guardrails WHERE seq = NEW.seq)
    OR EXISTS (SELECT 1 FROM guardrails WHERE id = NEW.id AND version = NEW.version)
  BEGIN SELECT RAISE(ABORT, 'guardrails are append-only'); END;
