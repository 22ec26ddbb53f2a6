//! Opens connections: directory, key, schema, and everything that can be wrong with them.
//!
//! The database file is only ever opened by SQLite: closing any other descriptor of it would drop
//! the locks that this process holds on it.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};

use crate::{
    error::OpenError,
    key::{self, Key},
};

/// The last schema version that this version of AIR knows.
pub const SCHEMA_VERSION: u32 = 1;

/// One step per schema version. Released steps never change.
const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [include_str!("schema_1.sql")];

/// `AIRj`: tells a journal from the databases of other applications.
const APPLICATION_ID: i32 = 0x4149_526a;

/// How long to wait for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the journal for writing and makes it if there is none.
pub(crate) fn writer(path: &Path) -> Result<(Connection, Key), OpenError> {
    create_directory(path)?;
    let found = look(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = connect(path, flags)?;
    if found == 0 {
        // Before anything is in it. What SQLite puts beside it gets the same mode.
        fs::set_permissions(path, Permissions::from_mode(0o600))
            .map_err(|_| OpenError::ReadOnly { path: path.to_path_buf() })?;
    }
    let deadline = Instant::now() + BUSY_TIMEOUT;
    // SQLite does not wait for another process that is making the same journal at this moment.
    let key = loop {
        match prepare(&mut conn, path) {
            Err(OpenError::Locked { .. }) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(10));
            }
            other => break other?,
        }
    };
    closing_checkpoint(&conn, true).map_err(|error| OpenError::from_sqlite(path, error))?;
    Ok((conn, key))
}

/// Opens another connection that only reads. The journal's writer may be at work.
pub(crate) fn reader(path: &Path) -> Result<Connection, OpenError> {
    if look(path)? == 0 {
        return Err(OpenError::Missing { path: path.to_path_buf() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = connect(path, flags)?;
    match version(&conn, path) {
        Ok(Some(_)) => Ok(conn),
        Ok(None) => Err(OpenError::Missing { path: path.to_path_buf() }),
        Err(error @ (OpenError::Storage { .. } | OpenError::ReadOnly { .. })) if idle(path) => {
            // A reader needs files beside the database, which it cannot make here. Nobody writes.
            let uri = format!("file:{}?immutable=1", escape(path));
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            let conn = Connection::open_with_flags(uri, flags).map_err(|_| error)?;
            version(&conn, path)?;
            Ok(conn)
        }
        Err(error) => Err(error),
    }
}

fn create_directory(path: &Path) -> Result<(), OpenError> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(|source| OpenError::Directory { path: parent.to_path_buf(), source }),
        _ => Ok(()),
    }
}

/// The length of the database file, 0 if there is none, without opening it.
fn look(path: &Path) -> Result<u64, OpenError> {
    let length = match fs::metadata(path) {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => return Err(OpenError::NotAFile { path: path.to_path_buf() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(source) => return Err(OpenError::Directory { path: path.to_path_buf(), source }),
    };
    // SQLite would throw the log away: it takes the database for a new one.
    if length == 0 && !idle(path) {
        return Err(OpenError::Damaged {
            path: path.to_path_buf(),
            detail: "the file is empty, but the write-ahead log beside it is not".to_owned(),
        });
    }
    Ok(length)
}

/// Whether no write-ahead log holds anything.
fn idle(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).map_or(true, |log| log.len() == 0)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, OpenError> {
    let open = || {
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(BUSY_TIMEOUT)?;
        // Until the journal is known to be sound, closing it must not move the log into it.
        closing_checkpoint(&conn, false)?;
        conn.set_prepared_statement_cache_capacity(32);
        Ok(conn)
    };
    open().map_err(|error: rusqlite::Error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::CannotOpen) => OpenError::ReadOnly { path: path.to_path_buf() },
        _ => OpenError::from_sqlite(path, error),
    })
}

fn closing_checkpoint(conn: &Connection, on: bool) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !on).map(drop)
}

/// The schema version; `None` of a database that holds nothing yet.
fn version(conn: &Connection, path: &Path) -> Result<Option<u32>, OpenError> {
    // One transaction: another process may be making the journal between two looks at it.
    let tx = conn.unchecked_transaction().map_err(|error| OpenError::from_sqlite(path, error))?;
    version_within(&tx, path)
}

/// The same, of a connection that has a transaction open.
fn version_within(conn: &Connection, path: &Path) -> Result<Option<u32>, OpenError> {
    let read = || {
        let id: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version: u32 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let tables: u32 =
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((id, version, tables))
    };
    match read().map_err(|error: rusqlite::Error| OpenError::from_sqlite(path, error))? {
        (0, 0, 0) => Ok(None),
        (APPLICATION_ID, version, _) if version <= SCHEMA_VERSION => Ok(Some(version)),
        (APPLICATION_ID, found, _) => Err(OpenError::Newer { found, supported: SCHEMA_VERSION }),
        _ => Err(OpenError::Foreign { path: path.to_path_buf() }),
    }
}

/// Brings a connection and the schema into the state that the writer needs.
fn prepare(conn: &mut Connection, path: &Path) -> Result<Key, OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, error);
    let found = version(conn, path)?;
    if conn.is_readonly("main").map_err(sqlite)? {
        return Err(OpenError::ReadOnly { path: path.to_path_buf() });
    }
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(sqlite)?;
    // Erased payloads are to be gone from the file as well.
    conn.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA synchronous = FULL;",
    )
    .map_err(sqlite)?;
    if found != Some(SCHEMA_VERSION) {
        migrate(conn, path)?;
    }
    let key = key::read(path)?;
    let check: Vec<u8> = conn
        .query_row("SELECT value FROM meta WHERE name = 'key_check'", [], |row| row.get(0))
        .map_err(sqlite)?;
    if check != key.check() {
        return Err(OpenError::KeyWrong {
            path: key::path(path),
            why: "it belongs to another journal",
        });
    }
    Ok(key)
}

fn migrate(conn: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, error);
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
    // Again, under the lock: another process may have done it meanwhile.
    let found = version_within(&tx, path)?.unwrap_or(0);
    for step in MIGRATIONS.iter().skip(found as usize) {
        tx.execute_batch(step).map_err(sqlite)?;
    }
    if found == 0 {
        let key = key::read_or_create(path)?;
        tx.execute("INSERT INTO meta (name, value) VALUES ('key_check', ?1)", [key.check()])
            .map_err(sqlite)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
    }
    tx.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(sqlite)?;
    tx.commit().map_err(sqlite)?;
    key::sync_directory_of(path)
        .map_err(|source| OpenError::Directory { path: path.to_path_buf(), source })
}

fn escape(path: &Path) -> String {
    use std::{fmt::Write, os::unix::ffi::OsStrExt};
    let mut uri = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            // Writing to a string cannot fail.
            other => drop(write!(uri, "%{other:02x}")),
        }
    }
    uri
}
