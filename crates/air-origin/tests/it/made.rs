//! Contents to look for.

use air_origin::{Limits, Sources, Traced};

/// Numbers that look like chance and are always the same.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.roll() % most as u64).unwrap()
    }

    pub(crate) fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.roll().to_le_bytes()[3]).collect()
    }
}

pub(crate) const WORDS: [&str; 32] = [
    "order", "invoice", "customer", "session", "window", "river", "orange", "matrix", "signal",
    "handler", "buffer", "planet", "ticket", "budget", "garden", "market", "record", "socket",
    "branch", "weather", "person", "number", "letter", "silver", "engine", "bridge", "candle",
    "forest", "island", "jacket", "kitten", "lantern",
];

pub(crate) fn passwd() -> Vec<u8> {
    let system = "root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
bin:x:2:2:bin:/bin:/usr/sbin/nologin
sys:x:3:3:sys:/dev:/usr/sbin/nologin
sync:x:4:65534:sync:/bin:/bin/sync
games:x:5:60:games:/usr/games:/usr/sbin/nologin
man:x:6:12:man:/var/cache/man:/usr/sbin/nologin
lp:x:7:7:lp:/var/spool/lpd:/usr/sbin/nologin
mail:x:8:8:mail:/var/mail:/usr/sbin/nologin
news:x:9:9:news:/var/spool/news:/usr/sbin/nologin
uucp:x:10:10:uucp:/var/spool/uucp:/usr/sbin/nologin
proxy:x:13:13:proxy:/bin:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
backup:x:34:34:backup:/var/backups:/usr/sbin/nologin
list:x:38:38:Mailing List Manager:/var/list:/usr/sbin/nologin
irc:x:39:39:ircd:/run/ircd:/usr/sbin/nologin
_apt:x:42:65534::/nonexistent:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
systemd-network:x:998:998:systemd Network Management:/:/usr/sbin/nologin
messagebus:x:100:102::/nonexistent:/usr/sbin/nologin
sshd:x:101:65534::/run/sshd:/usr/sbin/nologin
postgres:x:112:118:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash
miriam:x:1000:1000:Miriam Okafor,Room 12,,:/home/miriam:/bin/bash
deploy:x:1001:1001:Deployment,,,:/srv/deploy:/bin/zsh
tobias:x:1002:1002:Tobias Lindqvist,,,:/home/tobias:/usr/bin/fish
";
    system.as_bytes().to_vec()
}

pub(crate) fn key() -> Vec<u8> {
    let body = data_encoding::BASE64.encode(&Dice(11).bytes(1860));
    let lines: Vec<_> =
        body.as_bytes().chunks(70).map(|line| String::from_utf8_lossy(line)).collect();
    let (begin, end) = ("-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----");
    format!("{begin}\n{}\n{end}\n", lines.join("\n")).into_bytes()
}

pub(crate) fn env() -> Vec<u8> {
    b"API_KEY=sk-live-51HqTz9vWxR3mPq8LkN2\nDATABASE_URL=postgres://shop:Rk7vQm2x@db.internal:5432/shop\nSESSION_SALT=violet-anchor-9\n".to_vec()
}

pub(crate) fn token() -> Vec<u8> {
    b"ghq7Zp2LrX9vBn4TcW81\n".to_vec()
}

pub(crate) fn binary() -> Vec<u8> {
    Dice(23).bytes(3 << 19)
}

pub(crate) const COLUMNS: &str = "id,name,email,city,amount,currency,created_at\n";

pub(crate) fn csv(seed: u64, length: usize) -> Vec<u8> {
    let mut dice = Dice(seed);
    let mut text = COLUMNS.to_owned();
    for id in 1.. {
        let (name, domain, city) = (dice.of(&WORDS), dice.of(&WORDS), dice.of(&WORDS));
        let (mail, amount, day) = (dice.below(99_999), dice.below(1_000_000), dice.below(28) + 1);
        text += &format!(
            "{},{name} {},{name}{mail}@{domain}.example,{city},{}.{:02},EUR,2024-0{}-{day:02}\n",
            id + seed % 7919,
            dice.of(&WORDS),
            amount / 100,
            amount % 100,
            dice.below(9) + 1,
        );
        if text.len() >= length {
            break;
        }
    }
    text.into_bytes()
}

pub(crate) fn python(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let mut text = "#!/usr/bin/env python3\n# Copyright (c) 2024 The Authors.\n# Licensed under the Apache License, Version 2.0 (the \"License\");\n# you may not use this file except in compliance with the License.\n# You may obtain a copy of the License at\n#\n#     http://www.apache.org/licenses/LICENSE-2.0\n#\n# Unless required by applicable law or agreed to in writing, software\n# distributed under the License is distributed on an \"AS IS\" BASIS.\n\nfrom __future__ import annotations\n\nimport argparse\nimport json\nimport os\nimport sys\nfrom pathlib import Path\n".to_owned();
    while text.len() < 8000 {
        let [verb, noun, first, second, third] = std::array::from_fn(|_| dice.of(&WORDS));
        let (limit, step) = (dice.below(5000), dice.below(90) + 2);
        text += &format!(
            "\n\ndef {verb}_{noun}({first}: str, {second}: int = {limit}) -> dict:\n    \"\"\"Join the {first} of each {noun} with its {second}.\"\"\"\n    {third} = {{}}\n    for index in range({second}, {second} + {step}):\n        {third}[index] = {first}.strip() + str(index * {limit})\n    if not {third}:\n        raise ValueError(\"no {noun} in {first}\")\n    return {third}\n"
        );
    }
    text += "\n\nif __name__ == \"__main__\":\n    sys.exit(main())\n";
    text.into_bytes()
}

/// A source by the name it is added under.
pub(crate) type Named = (&'static str, Vec<u8>);

/// Those that are text.
pub(crate) fn texts() -> Vec<Named> {
    vec![
        ("/etc/passwd", passwd()),
        (".ssh/id_ed25519", key()),
        (".env", env()),
        ("token", token()),
        ("customers.csv", csv(5, 200_000)),
        ("report.py", python(77)),
    ]
}

pub(crate) fn all() -> Vec<Named> {
    let mut all = texts();
    all.push(("model.bin", binary()));
    all
}

pub(crate) fn sources(list: &[Named]) -> Sources {
    let mut sources = Sources::default();
    for (name, content) in list {
        sources.add(name, &mut content.as_slice()).unwrap();
    }
    sources
}

pub(crate) fn trace(sources: &Sources, content: &[u8]) -> Traced {
    sources.trace(&mut &*content, &Limits::default())
}
