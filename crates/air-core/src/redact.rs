//! Keeps secrets out of records, messages and logs.

/// `text` with what looks like a secret replaced by `[redacted]`.
///
/// Errs on the side of redacting: well-known token prefixes, values of assignments whose name says
/// that they are secret, PEM bodies, and long runs of mixed letters and digits.
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_pem = false;
    for line in text.split_inclusive('\n') {
        if line.contains("-----BEGIN") {
            in_pem = true;
            out.push_str("[redacted]\n");
        }
        if !in_pem {
            redact_line(&without_userinfo(line), &mut out);
        }
        in_pem &= !line.contains("-----END");
    }
    out
}

/// Whether [`redact`] would change `text`.
pub fn holds_secret(text: &str) -> bool {
    redact(text) != text
}

/// `line` without the passwords in its URLs: `https://user:password@host/`.
fn without_userinfo(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?' | '#');
        let authority = after.split(ends).next().unwrap_or_default();
        let password = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        rest = match password {
            Some((user, password)) if password != "[redacted]" && !password.is_empty() => {
                out.push_str(user);
                out.push_str(":[redacted]");
                after.get(user.len() + 1 + password.len()..).unwrap_or_default()
            }
            _ => after,
        };
    }
    out.push_str(rest);
    out
}

fn redact_line(line: &str, out: &mut String) {
    // `password = "x"`: first a telling name, then an assignment, then the value. Blanks and quotes
    // between them change nothing.
    let mut named = false;
    let mut assigned = false;
    for word in line.split_inclusive(is_boundary) {
        let (body, boundary) = match word.char_indices().next_back() {
            Some((at, last)) if is_boundary(last) => word.split_at(at),
            _ => (word, ""),
        };
        if body.is_empty() {
            // Only what separates: the state stays, but for an assignment.
        } else if assigned && !is_scheme(body) || is_token(body) {
            out.push_str("[redacted]");
            (named, assigned) = (false, false);
        } else {
            out.push_str(body);
            named = names_secret(body);
            // `--password x`, and `Bearer x` in a header.
            let takes_next = named && body.starts_with("--") || is_scheme(body);
            assigned |= takes_next && matches!(boundary, " " | "\t");
        }
        out.push_str(boundary);
        match boundary {
            "=" | ":" => assigned |= named,
            " " | "\t" | "\"" | "'" | "" => {}
            _ => (named, assigned) = (false, false),
        }
    }
}

/// How a header says what follows: `Bearer x`.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | '\'' | '=' | ':' | ',' | ';' | '(' | ')' | '{' | '}' | '&' | '`' | '?')
}

fn names_secret(name: &str) -> bool {
    const ENDS: [&str; 15] = [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "secret",
        "token",
        "api_key",
        "apikey",
        "api-key",
        "access_key",
        "private_key",
        "authorization",
        "signature",
        "credential",
        "bearer",
    ];
    const WHOLE: [&str; 5] = ["auth", "cookie", "pwd", "session", "sig"];
    let name = name.to_ascii_lowercase();
    let ends = ENDS.iter().any(|part| name.ends_with(part));
    (ends || WHOLE.contains(&name.trim_start_matches('-'))) && !name.contains('/')
}

fn is_token(word: &str) -> bool {
    const PREFIXES: [&str; 22] = [
        "ghu_",
        "ghr_",
        "glpat-",
        "gsk_",
        "hf_",
        "npm_",
        "pypi-",
        "rk_live_",
        "sk_live_",
        "shpat_",
        "xapp-",
        "sk-",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "AKIA",
        "ASIA",
        "xoxb-",
        "xoxp-",
        "AIza",
        "eyJ",
    ];
    let long = word.len() >= 16;
    if long && PREFIXES.iter().any(|prefix| word.starts_with(prefix)) {
        return true;
    }
    let plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'_' | b'-'));
    let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(test);
    word.len() >= 32
        && plain
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use super::{holds_secret, redact};

    #[test]
    fn secrets_go_and_the_rest_stays() {
        #[rustfmt::skip]
        let table = [
            ("cp .env public/env", "cp .env public/env"),
            ("PASSWORD=hunter2 ./run", "PASSWORD=[redacted] ./run"),
            ("password = \"hunter2\"", "password = \"[redacted]\""),
            ("{'api_key': 'abc'}", "{'api_key': '[redacted]'}"),
            ("curl -H 'x: ghp_0123456789abcdef'", "curl -H 'x: [redacted]'"),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
            ("the password is long", "the password is long"),
            ("login --password hunter2 --user me", "login --password [redacted] --user me"),
            ("Authorization: Bearer abcdef", "Authorization: Bearer [redacted]"),
            ("-H 'x: y' Bearer abcdef", "-H 'x: y' Bearer [redacted]"),
            ("curl https://me:hunter2@h.example/a", "curl https://me:[redacted]@h.example/a"),
            ("GET https://h.example/?sig=abcdef&n=1", "GET https://h.example/?sig=[redacted]&n=1"),
            ("passphrase=correct", "passphrase=[redacted]"),
            ("git clone git@h.example:a/b.git", "git clone git@h.example:a/b.git"),
            ("/etc/passwd: 12", "/etc/passwd: 12"),
            ("a\n-----BEGIN KEY-----\nabc\n-----END KEY-----\nb", "a\n[redacted]\nb"),
        ];
        for (text, expected) in table {
            assert_eq!(redact(text), expected, "{text:?}");
            assert_eq!(holds_secret(text), text != expected, "{text:?}");
        }
    }
}
