//! What an agent makes by itself comes from nowhere, whatever labelled files there are.

use super::*;

const ENV: &str = "APP_ENV=production\nDATABASE_URL=postgres://app:v9Jw2kQx7Lr4@db.internal:5432/shop\n\
    SECRET_KEY=f3b1c9a07e5d4e86b2a1\nAWS_ACCESS_KEY_ID=AKIAQ3EGRT5VN2XWPLKM\n\
    SMTP_HOST=mail.internal\nDEBUG=false\n";
const CREDENTIALS: &str = "{\n  \"type\": \"service_account\",\n  \"project_id\": \"acme-prod\",\n  \
    \"private_key_id\": \"8d1f0c4b6a2e97350f\",\n  \"client_email\": \"robot@acme-prod.iam.example.com\",\n  \
    \"token_uri\": \"https://oauth2.example.com/token\"\n}\n";
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1zq8vT0o2Yc7RkJmWQe4uHn6sLdPb3fVgX9aKtZyCiE\n\
    r5Nw0pUjMhSxDqBvOl2Fe8GzTkYi7AaRc1LsWd4Pm6HnXoVuKbJtQfEyZg3C\n-----END RSA PRIVATE KEY-----\n";

/// Steps that make files in `made/`.
const STEPS: &[&str] = &[
    "cat > made/app.py <<'E'
import json
import os

import requests


class Client:
    def __init__(self, base: str) -> None:
        self.base = base
        self.session = requests.Session()

    def load(self, path: str) -> dict:
        with open(path, encoding='utf-8') as file:
            return json.load(file)


if __name__ == '__main__':
    print(Client(os.environ['DATABASE_URL']).load('config.json'))
E",
    "cat > made/settings.py <<'E'
import os
DATABASE_URL = os.environ.get('DATABASE_URL', 'sqlite:///local.db')
SECRET_KEY = os.environ['SECRET_KEY']
AWS_ACCESS_KEY_ID = os.getenv('AWS_ACCESS_KEY_ID')
DEBUG = os.getenv('DEBUG', 'false') == 'true'
E",
    "cat > made/.env.example <<'E'
APP_ENV=development
DATABASE_URL=postgres://user:password@localhost:5432/app
SECRET_KEY=change-me
AWS_ACCESS_KEY_ID=your-key-here
SMTP_HOST=localhost
DEBUG=true
E",
    "cat > made/users.txt <<'E'
alice:x:2001:2001:Alice Example:/srv/people/alice:/usr/bin/zsh
bob:x:2002:2002:Bob Example:/srv/people/bob:/usr/bin/fish
carol:x:2003:2003:Carol Example:/srv/people/carol:/usr/bin/zsh
E",
    "cat > made/config.json <<'E'
{\"type\": \"web\", \"client_id\": \"demo\", \"token_uri\": \"\", \"scopes\": [\"read\", \"write\"], \"retries\": 3}
E",
    "for i in $(seq 1 300); do echo \"2026-03-04T10:$((i % 60)):00Z INFO request id=$i status=200 ms=$((i * 7 % 90))\"; done > made/app.log",
    "python3 -c \"
print('id,name,price')
for i in range(400): print(f'{i},item {i * 37 % 101},{i * 13 % 997 / 10}')\" > made/data.csv",
    "printf 'requests==2.32.3\\nflask>=3.0\\npytest~=8.2\\n' > made/requirements.txt",
    "printf '# Shop\\n\\nCopy `.env.example` to `.env`, put in your DATABASE_URL, and run `make`.\\n' > made/README.md",
    "python3 -c \"
import struct, zlib
def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\\0' + bytes((x * y) % 256 for x in range(64)) for y in range(64))
open('made/logo.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 64, 64, 8, 0, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))\"",
    // The same each time: one of very many random texts can be read as one that is nested in itself.
    "python3 -c \"import random; random.seed(7); open('made/random.bin', 'wb').write(random.randbytes(40000))\"",
    "ls -la > made/listing.txt; ls -la /usr > made/usr.txt; ls -la /etc > made/etc.txt 2>/dev/null; true",
    "mkdir -p made/demo-1.0.dist-info; printf 'Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\nSummary: A demo\\nLicense: MIT\\nRequires-Dist: requests\\n' > made/demo-1.0.dist-info/METADATA; printf 'demo/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\\n' > made/demo-1.0.dist-info/RECORD",
    "cat > made/Dockerfile <<'E'
FROM python:3.12-slim
WORKDIR /app
COPY requirements.txt .
RUN pip install -r requirements.txt && useradd -r -s /usr/sbin/nologin app
USER app
CMD [\"python\", \"app.py\"]
E",
    "cat > made/deploy.yaml <<'E'
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  template:
    spec:
      containers:
      - name: shop
        env:
        - name: DATABASE_URL
          valueFrom: {secretKeyRef: {name: shop, key: url}}
E",
    "python3 -c \"
import sqlite3
db = sqlite3.connect('made/shop.db')
db.execute('create table items (id integer primary key, name text)')
db.executemany('insert into items (name) values (?)', [(f'item {i}',) for i in range(500)])
db.commit()\"",
    "tar -czf made/source.tar.gz made/app.py made/settings.py made/README.md",
    "(cd made && python3 -m zipfile -c bundle.zip app.py data.csv)",
    "gzip -c made/app.log > made/app.log.gz; base64 made/random.bin > made/random.b64",
    "python3 -c \"
import random; random.seed(11)
print('-----BEGIN CERTIFICATE-----')
import base64; print(base64.encodebytes(random.randbytes(700)).decode().strip())
print('-----END CERTIFICATE-----')\" > made/cert.pem",
    "uname -a > made/uname.txt; date > made/date.txt; id > made/id.txt; python3 -m pip --version > made/pip.txt 2>&1; df > made/df.txt; true",
    "python3 -c \"
import pickle, array
pickle.dump({'weights': array.array('d', [i / 7 for i in range(3000)])}, open('made/model.pkl', 'wb'))\"",
    "cp made/app.py made/app_copy.py; sed -i s/Client/Server/ made/app_copy.py; : > made/empty",
    "cat > made/index.html <<'E'
<!doctype html><html><head><title>Shop</title></head><body><h1>Welcome</h1><p>robot@example.org</p></body></html>
E",
];

#[test]
fn what_an_agent_makes_comes_from_nowhere() {
    for mode in MODES {
        let fill = |workspace: &Path| {
            write(&workspace.join(".env"), ENV, 0o600);
            write(&workspace.join("credentials.json"), CREDENTIALS, 0o600);
            write(&workspace.join(".ssh/id_rsa"), KEY, 0o600);
            write(&workspace.join("src/main.c"), "int main(void) { return 0; }\n", 0o644);
        };
        let Some(bench) = Bench::open(mode, fill) else { continue };
        bench.bash("mkdir made");
        let (mut files, mut wrong) = (0, Vec::new());
        for step in STEPS {
            let before = bench.checkpoint();
            bench.bash(step);
            let seen = bench.effects(&before).files;
            assert_eq!(seen.incomplete, None);
            for file in seen.items {
                files += 1;
                // A copy of the agent's own file has that one as its origin.
                let own = bench.inside("made/");
                let is_own = file.origin.as_ref().is_some_and(|path| path.starts_with(&own));
                if file.origin_unknown.is_some() || file.origin.is_some() && !is_own {
                    wrong.push(file);
                }
            }
        }
        assert!(files >= 25, "{files}");
        assert!(wrong.is_empty(), "{mode:?}: {wrong:#?}");
        // The sources are known all the same.
        let before = bench.checkpoint();
        bench.bash("cat .env >> made/README.md");
        let copy = bench.effect(&before, "made/README.md").unwrap();
        assert_eq!(copy.origin, Some(bench.inside(".env")));
    }
}
