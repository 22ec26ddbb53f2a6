//! What has nothing of the sources in it gives no match.

use crate::{
    changed::{base64, gzip},
    made::{self, COLUMNS, Dice, WORDS, trace},
};

fn prose(seed: u64) -> String {
    let mut dice = Dice(seed);
    let word = |dice: &mut Dice| dice.of(&WORDS).to_owned();
    (0..400).map(|n| word(&mut dice) + if n % 12 == 11 { ".\n" } else { " " }).collect()
}

fn licence() -> &'static str {
    "Licensed under the Apache License, Version 2.0 (the \"License\");\nyou may not use this file except in compliance with the License.\nYou may obtain a copy of the License at\n\n    http://www.apache.org/licenses/LICENSE-2.0\n\nUnless required by applicable law or agreed to in writing, software\ndistributed under the License is distributed on an \"AS IS\" BASIS.\n"
}

fn contents() -> Vec<(String, Vec<u8>)> {
    #[rustfmt::skip]
    let texts: &[(&str, &str)] = &[
        ("empty", ""),
        ("one line", "hello\n"),
        ("alpine passwd", "root:x:0:0:root:/root:/bin/ash\nbin:x:1:1:bin:/bin:/sbin/nologin\ndaemon:x:2:2:daemon:/sbin:/sbin/nologin\nlp:x:4:7:lp:/var/spool/lpd:/sbin/nologin\nsync:x:5:0:sync:/sbin:/bin/sync\nmail:x:8:12:mail:/var/mail:/sbin/nologin\nnews:x:9:13:news:/usr/lib/news:/sbin/nologin\npostgres:x:70:70:PostgreSQL user:/var/lib/postgresql:/bin/sh\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"),
        ("fedora passwd", "root:x:0:0:Super User:/root:/bin/bash\nbin:x:1:1:bin:/bin:/usr/sbin/nologin\ngames:x:12:100:games:/usr/games:/usr/sbin/nologin\nsystemd-network:x:192:192:systemd Network Management:/:/usr/sbin/nologin\nsshd:x:74:74:Privilege-separated SSH:/usr/share/empty.sshd:/usr/sbin/nologin\ndbus:x:81:81:System Message Bus:/:/usr/sbin/nologin\nanna:x:1000:1000:Anna Berg:/home/anna:/bin/bash\n"),
        ("group", "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsudo:x:27:miriam,deploy\nmiriam:x:1000:\n"),
        ("env example", "API_KEY=your-key-here\nDATABASE_URL=postgres://user:password@localhost:5432/app\nSESSION_SALT=change-me-please\n"),
        ("env example, empty", "API_KEY=\nDATABASE_URL=\nSESSION_SALT=\n"),
        ("log", "2024-05-01 10:22:01 sshd[812]: Accepted publickey for miriam from 10.0.0.7 port 50122\n2024-05-01 10:22:02 systemd: Started Session 12 of user miriam.\n2024-05-01 10:22:09 cron: (miriam) CMD (/home/miriam/bin/backup.sh)\n"),
        ("requirements", "requests==2.31.0\nnumpy>=1.26\npandas==2.2.1\npsycopg2-binary==2.9.9\npython-dotenv==1.0.1\n"),
        ("profile", "export PATH=$HOME/bin:/usr/local/bin:$PATH\nexport EDITOR=vim\nalias ll='ls -la'\nif [ -f /home/miriam/.aliases ]; then\n    . /home/miriam/.aliases\nfi\n"),
        ("licence", licence()),
        ("columns", COLUMNS),
        ("package.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"license\": \"MIT\",\n  \"scripts\": {\"test\": \"jest\"},\n  \"dependencies\": {\"express\": \"^4.18.2\", \"pg\": \"^8.11.3\"}\n}\n"),
        ("lock file", "\"integrity\": \"sha512-9ZFhLqOGmTgyC/Yb0xxzPAxSJkLFAqyRUlrFpSGVbSLVtsxLmUyjWHhMCxcs5hFc3DRLMLn1uGHmWqQ==\""),
        ("minified", "!function(e,t){\"object\"==typeof exports&&\"undefined\"!=typeof module?module.exports=t():\"function\"==typeof define&&define.amd?define(t):(e=e||self).Shop=t()}(this,function(){\"use strict\";var e=document.createElement(\"div\");return e.id=\"app\",e});"),
        ("another key", "-----BEGIN OPENSSH PRIVATE KEY-----\nZm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg==\n-----END OPENSSH PRIVATE KEY-----\n"),
        ("public key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJq2R7vU3pQm8XyT4sK1nWcE5zL9oHd0fBgVtYxAaSu miriam@laptop\n"),
        ("main", "from __future__ import annotations\n\nimport argparse\nimport json\nimport os\nimport sys\nfrom pathlib import Path\n\n\ndef main() -> int:\n    return 0\n\n\nif __name__ == \"__main__\":\n    sys.exit(main())\n"),
        ("dockerfile", "FROM debian:12\nRUN apt-get update && apt-get install -y postgresql-client\nRUN useradd -m -s /bin/bash deploy\nCOPY . /srv/deploy\nCMD [\"/bin/bash\"]\n"),
        ("ls", "-rw-r--r-- 1 root root  1512 May  1 10:00 /etc/passwd\n-rw------- 1 miriam miriam 2602 May  1 10:00 /home/miriam/.ssh/id_ed25519\n"),
        ("dashes", "--------------------------------------------------------------------------------\n"),
        ("SQL", "CREATE TABLE customers (id INTEGER, name TEXT, email TEXT, city TEXT, amount NUMERIC, currency TEXT, created_at DATE);\n"),
        ("readme", "# Shop\n\nSet `API_KEY` and `DATABASE_URL` in `.env`, see `.env.example`.\n\n    git clone https://example.com/shop.git\n"),
        ("urls", "https://example.com/?q=hello%20world%2C%20how%20are%20you%3F&lang=en%2DGB\n"),
        ("hexdump", "00000000: 7f45 4c46 0201 0100 0000 0000 0000 0000  .ELF............\n00000010: 0300 3e00 0100 0000 6010 0000 0000 0000  ..>.....`.......\n"),
    ];
    let mut list: Vec<_> =
        texts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    let png =
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00\x00\x00\x01\x00\x08\x06\x00\x00\x00";
    list.push(("png".into(), [&png[..], &Dice(5).bytes(900)].concat()));
    list.push(("zeros".into(), vec![0; 100_000]));
    for seed in 0..8 {
        list.push((format!("prose {seed}"), prose(seed).into_bytes()));
        list.push((format!("source {seed}"), made::python(seed + 1000)));
        list.push((format!("table {seed}"), made::csv(seed + 100, 20_000)));
        list.push((format!("noise {seed}"), Dice(seed + 500).bytes(20_000)));
        list.push((format!("base64 {seed}"), base64(&Dice(seed + 600).bytes(6000))));
        list.push((format!("gzip {seed}"), gzip(prose(seed + 50).as_bytes())));
        list.push((
            format!("licensed {seed}"),
            (licence().to_owned() + &prose(seed + 90)).into_bytes(),
        ));
    }
    list
}

#[test]
fn benign_contents_match_nothing() {
    let sources = made::sources(&made::all());
    let contents = contents();
    assert!(contents.len() >= 60, "{}", contents.len());
    let wrong: Vec<_> = contents
        .iter()
        .map(|(name, content)| (name, trace(&sources, content)))
        .filter(|(_, traced)| !traced.matches.is_empty() || traced.incomplete.is_some())
        .map(|wrong| format!("{wrong:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In bytes without order, marks of packed contents are found by chance, also under a key.
#[test]
fn marks_found_by_chance_hide_nothing() {
    const MARKS: [&[u8]; 6] = [
        b"PK\x03\x04",
        &[0x1f, 0x8b, 0x08, 0x00],
        &[0x1f, 0x8b, 0x08, 0x08],
        &[0x28, 0xb5, 0x2f, 0xfd],
        &[0xfd, b'7', b'z', b'X', b'Z', 0],
        &[0x78, 0x9c],
    ];
    let sources = made::sources(&made::all());
    for seed in 0..120 {
        let mut content = Dice(seed + 900).bytes(4000);
        for (n, mark) in MARKS.iter().enumerate() {
            let key = if seed % 2 == 0 { 0 } else { 0x5a };
            let at = 500 * (n + 1);
            let marked = content.iter_mut().skip(at).zip(*mark);
            marked.for_each(|(byte, mark)| *byte = mark ^ key);
        }
        let traced = trace(&sources, &content);
        assert!(traced.matches.is_empty() && traced.incomplete.is_none(), "{seed}: {traced:?}");
    }
}

/// Marks of what is packed are found in them by chance, under one key or another.
#[test]
fn certificates_of_random_bytes_hide_nothing() {
    let sources = made::sources(&made::all());
    for seed in 70_000..70_400 {
        let text = String::from_utf8(base64(&Dice(seed).bytes(700))).expect("ASCII");
        let certificate =
            format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        let traced = trace(&sources, certificate.as_bytes());
        assert_eq!(traced.incomplete, None, "{seed}");
    }
}
