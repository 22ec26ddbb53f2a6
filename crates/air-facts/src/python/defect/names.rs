//! What names say: the words of an identifier.

/// Longer names are not read to their end.
const LONGEST: usize = 200;

/// The words of `name`, in lower case: `userPass_2` is `user`, `pass`, `2`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    let letters: Vec<char> = name.chars().take(LONGEST).collect();
    for (at, c) in letters.iter().copied().enumerate() {
        let next_lower = letters.get(at + 1).is_some_and(|c| c.is_lowercase());
        let starts = !before.is_alphanumeric()
            || (c.is_uppercase() && (before.is_lowercase() || next_lower))
            || c.is_ascii_digit() != before.is_ascii_digit();
        if c.is_alphanumeric() {
            match words.last_mut() {
                Some(word) if !starts => word.extend(c.to_lowercase()),
                _ => words.push(c.to_lowercase().collect()),
            }
        }
        before = c;
    }
    words
}

/// Whether one of the words of `name` is among `known`, also in the plural.
pub(super) fn says(name: &str, known: &[&str]) -> bool {
    words(name).iter().any(|word| {
        known.contains(&word.as_str())
            || word.strip_suffix('s').is_some_and(|word| known.contains(&word))
    })
}

/// Whether `name`, without what is between its words, holds one of `parts`.
pub(super) fn holds(name: &str, parts: &[&str]) -> bool {
    let plain: String = words(name).concat();
    parts.iter().any(|part| plain.contains(part))
}

/// Words of what must not be guessed.
pub(super) const SECRET: [&str; 17] = [
    "password",
    "passwd",
    "passw",
    "pwd",
    "passphrase",
    "passcode",
    "pass",
    "secret",
    "pin",
    "otp",
    "credential",
    "apikey",
    "hmac",
    "psk",
    "mpin",
    "pw",
    "cvv",
];

/// Whether it is named like a secret of a person or a program.
pub(super) fn is_secret(name: &str) -> bool {
    let plain = words(name).concat();
    says(name, &SECRET)
        || [
            "password",
            "passwd",
            "secretkey",
            "apikey",
            "accesskey",
            "licensekey",
            "privatekey",
            "authtoken",
            "accesstoken",
            "sessiontoken",
            "csrftoken",
            "resettoken",
            "securitycode",
            "accesscode",
            "verificationcode",
            "otpcode",
            "pincode",
            "userpass",
            "passwort",
        ]
        .iter()
        .any(|part| plain.contains(part))
}
