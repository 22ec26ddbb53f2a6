//! What a name says that it holds.

/// The words of a name, in lower case: `userName`, `user_name`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && lower) {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
        lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether one of the words of a name is among `known`; digits behind it do not count.
pub(super) fn has(name: &str, known: &[&str]) -> bool {
    words(name).iter().any(|word| {
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        known.contains(&word.as_str()) || known.contains(&bare)
    })
}

/// What only its owner knows.
pub(super) fn is_secret(name: &str) -> bool {
    has(name, &SECRETS)
        || words(name).windows(2).any(|pair| match pair {
            [one, other] => {
                let second = matches!(other.as_str(), "key" | "code" | "word" | "phrase");
                second && SECRET_FIRST.contains(&one.as_str())
            }
            _ => false,
        })
}

/// Words that a program says where it handles what only its owner knows.
pub(super) const SAID: [&str; 22] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pin",
    "code",
    "token",
    "key",
    "license",
    "licence",
    "signature",
    "credential",
    "credentials",
    "secret",
    "login",
    "username",
    "user",
    "card",
    "otp",
    "verification",
    "access",
];

const SECRETS: [&str; 29] = [
    "password",
    "passwd",
    "passwrd",
    "passw",
    "pwd",
    "pass",
    "passphrase",
    "passcode",
    "pin",
    "secret",
    "token",
    "otp",
    "credential",
    "credentials",
    "signature",
    "hmac",
    "apikey",
    "cvv",
    "license",
    "licence",
    "mac",
    "pwds",
    "passwords",
    "secrets",
    "tokens",
    "passkey",
    "nonce",
    "pincode",
    "pw",
];
const SECRET_FIRST: [&str; 14] = [
    "api",
    "secret",
    "private",
    "access",
    "license",
    "activation",
    "security",
    "encryption",
    "auth",
    "unlock",
    "verification",
    "pass",
    "session",
    "master",
];

#[cfg(test)]
mod tests {
    use super::{has, is_secret, words};

    #[test]
    fn names_are_split() {
        assert_eq!(words("storedSecret"), ["stored", "secret"]);
        assert_eq!(words("USER_NAME2"), ["user", "name2"]);
        assert!(has("is_admin", &["admin"]));
        assert!(is_secret("api_key") && !is_secret("key"));
    }
}
