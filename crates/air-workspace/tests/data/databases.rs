//! Databases that are written to while checkpoints are taken come back whole.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use super::*;

/// Writes to a database until it is ended; says when it begins. Every transaction adds a row and
/// changes others, and the sum of all balances stays 0.
const WRITER: &str = "import sqlite3, sys
path, mode = sys.argv[1:3]
db = sqlite3.connect(path, isolation_level=None, timeout=30)
db.execute(f'pragma journal_mode={mode}')
db.execute('pragma synchronous=off')
db.execute('pragma wal_autocheckpoint=20')
db.execute('create table if not exists log (n integer primary key, filler blob)')
db.execute('create table if not exists accounts (id integer primary key, balance integer)')
db.execute('create table if not exists head (n integer)')
db.execute('begin')
db.executemany('insert or ignore into accounts values (?, 0)', [(i,) for i in range(400)])
db.execute('insert into head select 0 where not exists (select 1 from head)')
db.execute('commit')
n = db.execute('select n from head').fetchone()[0]
print('ready', flush=True)
while True:
    n += 1
    db.execute('begin immediate')
    db.execute('update accounts set balance = balance - 1 where id = ?', (n * 7 % 400,))
    db.execute('insert into log values (?, randomblob(900))', (n,))
    db.execute('update accounts set balance = balance + 1 where id = ?', (n * 13 % 400,))
    db.execute('update head set n = ?', (n,))
    if n > 400:
        db.execute('delete from log where n = ?', (n - 400,))
    db.execute('commit')
";

/// Opens a copy of a database and says what is wrong with it; a number if nothing is.
const VERIFY: &str = "import os, shutil, sqlite3, sys, tempfile
for line in sys.stdin:
    path = line.rstrip('\\n')
    with tempfile.TemporaryDirectory() as folder:
        for side in ('', '-wal', '-journal'):
            if os.path.exists(path + side):
                shutil.copy(path + side, folder + '/db' + side)
        try:
            db = sqlite3.connect(folder + '/db')
            says = db.execute('pragma integrity_check').fetchall()
            n = db.execute('select n from head').fetchone()[0]
            rows = db.execute('select count(*), max(n) from log').fetchone()
            total = db.execute('select sum(balance) from accounts').fetchone()[0]
            good = says == [('ok',)] and total == 0 and (n == 0 or rows == (min(n, 400), n))
            print(n if good else f'corrupt: {says} {n} {rows} {total}', flush=True)
        except Exception as error:
            print(f'corrupt: {error!r}', flush=True)
";

struct Verifier {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Verifier {
    fn start() -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", VERIFY]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    /// The number of the last transaction.
    fn verify(&mut self, database: &Path) -> Result<u64, String> {
        use std::io::Write;
        writeln!(self.child.stdin.as_mut().unwrap(), "{}", database.display()).unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim().parse().map_err(|_| answer)
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Checkpoints while a writer inside goes on, and then the way back to each. The numbers of
/// transactions that were found.
fn go_back(mode: Mode, journal: &str, checkpoints: usize) -> Option<Vec<u64>> {
    let bench = Bench::open(mode, |workspace| write(&workspace.join("writer.py"), WRITER, 0o644))?;
    let start = format!(
        "import subprocess, sys\nwriter = subprocess.Popen([sys.executable, 'writer.py', 'live.db', \
         '{journal}'], stdout=subprocess.PIPE, text=True)\nprint(writer.stdout.readline())"
    );
    assert!(bench.python(&start).content.contains("ready"));
    let mut chance = Chance(9);
    let taken: Vec<CheckpointId> = (0..checkpoints)
        .map(|_| {
            std::thread::sleep(Duration::from_micros(chance.next() % 9000));
            bench.checkpoint()
        })
        .collect();
    let running = bench.effects(&taken[0]).processes.items;
    assert_eq!(running.len(), 1, "the writer goes on: {running:?}");
    let mut verifier = Verifier::start();
    let mut found = Vec::new();
    for to in taken.iter().rev() {
        bench.rollback(to);
        // The index of the log is made anew.
        let differs = bench.effects(to).files.items;
        assert!(differs.iter().all(|file| file.path.ends_with("live.db-shm")), "{differs:?}");
        match verifier.verify(&bench.changed("live.db")) {
            Ok(transactions) => found.push(transactions),
            Err(why) => panic!("{mode:?} {journal}: {why}"),
        }
    }
    found.reverse();
    assert!(found.is_sorted(), "{found:?}");
    assert!(found.last() > found.first(), "nothing was written: {found:?}");
    // The agent's next step can use it.
    let seen = bench.python(
        "import sqlite3\ndb = sqlite3.connect('live.db')\nprint(db.execute('pragma \
         integrity_check').fetchone()[0])",
    );
    assert_eq!(seen.content.lines().last(), Some("ok"));
    Some(found)
}

#[test]
fn a_database_with_a_log_comes_back_whole_in_a_layer() {
    go_back(Mode::Layered, "wal", 20);
}

#[test]
fn a_database_with_a_log_comes_back_whole() {
    go_back(Mode::Direct, "wal", 20);
    go_back(Mode::Landlock, "wal", 15);
}

#[test]
fn a_database_with_a_journal_comes_back_whole_in_a_layer() {
    go_back(Mode::Layered, "delete", 20);
}

#[test]
fn a_database_with_a_journal_comes_back_whole() {
    go_back(Mode::Direct, "delete", 15);
    go_back(Mode::Landlock, "truncate", 15);
}

/// A program of the user, whom nobody may stop, writes while checkpoints are taken.
fn beside_the_user(journal: &str, pause: &str, checkpoints: usize) -> Option<(usize, usize)> {
    let bench = Bench::open(Mode::Direct, |_| {})?;
    let writer = WRITER.replace("    n += 1\n", &format!("    n += 1\n    {pause}\n"));
    let mut child = Command::new("python3")
        .args(["-c", &format!("import time\n{writer}")])
        .arg(bench.path("live.db"))
        .arg(journal)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let mut chance = Chance(3);
    let taken: Vec<CheckpointId> = (0..checkpoints)
        .map(|_| {
            std::thread::sleep(Duration::from_micros(chance.next() % 20_000));
            bench.checkpoint()
        })
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    // The user's program ended; the agent's tool is what is to be taken back.
    bench.bash("rm -f live.db live.db-wal live.db-journal live.db-shm");
    let last = bench.checkpoint();
    let mut verifier = Verifier::start();
    let (mut whole, mut unread) = (0, 0);
    for to in &taken {
        match bench.try_rollback(to) {
            Ok(_) => {
                let verified = verifier.verify(&bench.path("live.db"));
                assert!(verified.is_ok(), "{journal} {pause}: {verified:?}");
                whole += 1;
            }
            Err(error) => {
                let why = error.to_string();
                assert!(why.contains("live.db: it could not be read at the checkpoint"), "{why}");
                unread += 1;
            }
        }
        // From nothing again, so that nothing is left over from another checkpoint.
        bench.rollback(&last);
        assert!(!bench.path("live.db").exists());
    }
    Some((whole, unread))
}

#[test]
fn a_database_of_the_user_is_kept_whole_or_not_at_all() {
    for journal in ["wal", "delete"] {
        let Some((_, _)) = beside_the_user(journal, "pass", 12) else { return };
        let (whole, _) = beside_the_user(journal, "time.sleep(0.06)", 12).unwrap();
        assert!(whole > 0, "{journal}: one that pauses now and then can be kept");
    }
}
