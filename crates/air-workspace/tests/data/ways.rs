//! Ways in which an agent copies a file.

/// One way: its name, and the steps of it. They read `$S` and leave their last file in `$D`; `$N` is
/// the number of a line that tells.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [&'static str],
    /// Whether it works for files outside of the workspace.
    pub(crate) outside: bool,
}

const fn way(name: &'static str, steps: &'static [&'static str]) -> Way {
    Way { name, steps, outside: true }
}

pub(crate) const WAYS: &[Way] = &[
    way("cp", &["cp $S $D/out"]),
    way("cat", &["cat $S > $D/out"]),
    way("base64", &["base64 $S > $D/out"]),
    way("base64 in one line", &["base64 -w0 $S > $D/out"]),
    way(
        "base64url in JSON",
        &["python3 -c 'import base64, json, sys
data = base64.urlsafe_b64encode(open(sys.argv[1], \"rb\").read()).decode().rstrip(\"=\")
json.dump({\"id\": 17, \"ok\": True, \"data\": data}, open(sys.argv[2], \"w\"))' $S $D/out"],
    ),
    way("hex", &["python3 -c 'import sys; print(open(sys.argv[1], \"rb\").read().hex())' $S > $D/out"]),
    way("od", &["od -A d -t x1z $S > $D/out"]),
    way("od as it is", &["od $S > $D/out"]),
    way("od with letters", &["od -c $S > $D/out"]),
    way("od in bytes", &["od -b $S > $D/out"]),
    way("hexdump as it is", &["if command -v hexdump; then hexdump $S; else od -x $S; fi > $D/out"]),
    way("hexdump", &["if command -v hexdump; then hexdump -C $S; else od -A x -t x1z $S; fi > $D/out"]),
    way("gzip", &["gzip -c $S > $D/out"]),
    way("bzip2", &["python3 -c 'import bz2, sys
open(sys.argv[2], \"wb\").write(bz2.compress(open(sys.argv[1], \"rb\").read()))' $S $D/out"]),
    way("xz", &["python3 -c 'import lzma, sys
open(sys.argv[2], \"wb\").write(lzma.compress(open(sys.argv[1], \"rb\").read()))' $S $D/out"]),
    way("zlib", &["python3 -c 'import zlib, sys
open(sys.argv[2], \"wb\").write(zlib.compress(open(sys.argv[1], \"rb\").read(), 9))' $S $D/out"]),
    way("zip", &["python3 -c 'import zipfile, sys
with zipfile.ZipFile(sys.argv[2], \"w\", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr(\"notes.txt\", \"some notes\\n\" * 30)
    archive.write(sys.argv[1], \"data.bin\")' $S $D/out"]),
    way("tar", &["echo first > $D/a; tar -cf $D/out -C $D a $S 2>/dev/null; rm $D/a"]),
    way("tar.gz", &["tar -czf $D/out $S 2>/dev/null"]),
    way("reversed", &["python3 -c 'import sys
open(sys.argv[2], \"wb\").write(open(sys.argv[1], \"rb\").read()[::-1])' $S $D/out"]),
    way("rev", &["rev $S > $D/out"]),
    way("tac", &["tac $S > $D/out"]),
    way("the first half", &["head -c $(( $(stat -L -c %s $S) / 2 )) $S > $D/out"]),
    way("one line", &["head -n $N $S | tail -n 1 > $D/out"]),
    way(
        "from the middle",
        &["s=$(stat -L -c %s $S); tail -c +$((s / 4)) $S | head -c $((s / 2)) > $D/out"],
    ),
    way("tee", &["cat $S | tee $D/out | wc -l"]),
    way("renamed", &["cp $S $D/tmp && mv $D/tmp $D/out"]),
    way("renamed in a step of its own", &["cp $S $D/tmp", "mv $D/tmp $D/out"]),
    way("appended", &["seq 1 500 > $D/out; cat $S >> $D/out"]),
    way("appended in a step of its own", &["seq 1 500 > $D/out", "cat $S >> $D/out"]),
    way("embedded", &["(seq 1 2000; cat $S; seq 2000 -1 1) > $D/out"]),
    way("two steps", &["base64 $S > $D/packed", "base64 -d $D/packed > $D/out"]),
    way(
        "two odd steps",
        &[
            "gzip -9c $S | base64 -w0 | rev > $D/packed",
            "rev $D/packed | base64 -d | gunzip | tr a-z A-Z > $D/out",
        ],
    ),
    way("UTF-16", &["python3 -c 'import sys
open(sys.argv[2], \"w\", encoding=\"utf-16\").write(open(sys.argv[1]).read())' $S $D/out"]),
    way("URL-encoded", &["python3 -c 'import sys, urllib.parse
open(sys.argv[2], \"w\").write(\"q=1&data=\" + urllib.parse.quote(open(sys.argv[1]).read()))' $S $D/out"]),
    way("XOR", &["python3 -c 'import sys
open(sys.argv[2], \"wb\").write(bytes(b ^ 0x5a for b in open(sys.argv[1], \"rb\").read()))' $S $D/out"]),
    way("gzip and base64", &["gzip -c $S | base64 > $D/out"]),
    Way { name: "hard link", steps: &["ln $S $D/out"], outside: false },
    way("typed again", &["python3 -c 'import sys
with open(sys.argv[2], \"w\") as out:
    for number, line in enumerate(open(sys.argv[1])):
        print(f\"{number}: {line.strip()}\", file=out)' $S $D/out"]),
    way("a row", &["python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[2])
db.execute(\"create table notes (id integer primary key, body text)\")
db.execute(\"insert into notes (body) values (?)\", (open(sys.argv[1]).read(),))
db.commit()' $S $D/out"]),
    way(
        "git add",
        &["command -v git >/dev/null || { cp $S $D/out; exit; }
cd $D && git init -q . && cp $S kept && git add kept && rm kept"],
    ),
];
