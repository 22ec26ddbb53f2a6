//! Formats that programs check texts for, and texts that tell whether they do.

use super::names;

/// A format.
pub(super) struct Format {
    /// What it is called.
    pub(super) name: &'static str,
    /// Words of names that say it.
    words: &'static [&'static str],
    /// Texts of that format; a pattern for it accepts one of them.
    pub(super) good: &'static [&'static str],
    /// Texts that are not of that format.
    pub(super) bad: &'static [&'static str],
    /// A pattern for it must accept all of the good ones.
    pub(super) whole: bool,
}

/// The formats that are known.
pub(super) const FORMATS: [Format; 11] = [
    Format {
        name: "an IPv4 address",
        words: &["ip", "ipv", "ipaddress", "ipaddr", "octet", "inet", "ips"],
        good: &[
            "192.168.1.1",
            "10.0.0.1",
            "127.0.0.1",
            "255.255.255.255",
            "0.0.0.0",
            "8.8.8.8",
            "172.16.254.100",
        ],
        bad: &[
            "256.1.1.1",
            "1.1.1.256",
            "999.999.999.999",
            "192.168.1",
            "192.168.1.1.1",
            "192.168.1.1.",
            "1.2.3.1000",
            "1.1.1.01",
            "192.168.010.1",
            "1..2.3",
            "1.2.3.4abc",
            "192.168.1.1/24",
            "abc",
            "1.2.3.4.",
            "1000.1.1.1",
            "...",
            "1.2.3.",
            "1,2,3,4",
            "a1.2.3.4",
            "1a2b3c4",
            "1.2.3.-4",
            "00.00.00.00",
        ],
        whole: true,
    },
    Format {
        name: "an IPv6 address",
        words: &["ipv6"],
        good: &["2001:db8:85a3:0:0:8a2e:370:7334"],
        bad: &["12345::", "gggg::1", ":::", "1:2:3:4:5:6:7:8:9", "1::2::3", "1:2:3", "::::::::"],
        whole: false,
    },
    Format {
        name: "an e-mail address",
        words: &["email", "mail", "emails"],
        good: &["user@example.com", "first.last@sub.example.org"],
        bad: &[
            "plain",
            "@example.com",
            "user@",
            "user@@example.com",
            "a@b@example.com",
            "user name@example.com",
            "user@example..com",
            "user@example.com extra",
        ],
        whole: false,
    },
    Format {
        name: "a date",
        words: &["date", "dob", "birthday", "birthdate"],
        good: &["2024-02-28", "28/02/2024", "02/28/2024", "28.02.2024", "28-02-2024", "20240228"],
        bad: &[
            "2024-13-45",
            "99/99/9999",
            "99.99.9999",
            "99-99-9999",
            "0000-00-00",
            "2024-02-28x",
            "20249999",
        ],
        whole: false,
    },
    Format {
        name: "a time of day",
        words: &["time", "clock"],
        good: &["12:30", "12:30:59"],
        bad: &["25:61", "99:99", "99:99:99", "12:60"],
        whole: false,
    },
    Format {
        name: "a port",
        words: &["port"],
        good: &["80", "8080"],
        bad: &["65536", "99999", "80abc", "-1", ""],
        whole: false,
    },
    Format {
        name: "a URL",
        words: &["url", "uri", "website", "link"],
        good: &["http://example.com", "https://www.example.com/a?b=c"],
        bad: &[
            "http://",
            "http:///",
            "http://exa mple.com",
            "plain",
            "http://example.com\" onclick=",
            "x http://example.com",
        ],
        whole: false,
    },
    Format {
        name: "a MAC address",
        words: &["mac", "macaddress"],
        good: &["00:1A:2B:3C:4D:5E", "00-1A-2B-3C-4D-5E"],
        bad: &["00:1A:2B:3C:4D:5E:6F", "00:1G:2B:3C:4D:5E", "00:1A:2B:3C:4D", "001A2B3C4D5Ex"],
        whole: false,
    },
    Format {
        name: "a UUID",
        words: &["uuid", "guid"],
        good: &["123e4567-e89b-12d3-a456-426614174000"],
        bad: &[
            "123e4567-e89b-12d3-a456-426614174000x",
            "123e4567e89b-12d3-a456-42661417400",
            "zzze4567-e89b-12d3-a456-426614174000",
        ],
        whole: false,
    },
    Format {
        name: "a telephone number",
        words: &["phone", "telephone", "mobile"],
        good: &["123-456-7890", "1234567890", "+11234567890", "(123) 456-7890"],
        bad: &["123-456-7890abc", "abc", "12", "123-456-78901234567890"],
        whole: false,
    },
    Format {
        name: "a domain name",
        words: &["domain", "hostname"],
        good: &["example.com", "sub.example.org"],
        bad: &["exa mple.com", "example..com", "-example.com", "example.com/path", ".com"],
        whole: false,
    },
];

impl Format {
    /// Whether names say it.
    pub(super) fn meant(&self, name: &str) -> bool {
        let words = names::words(name);
        let six = words.windows(2).any(|pair| pair == ["ipv", "6"] || pair == ["v", "6"])
            || words.concat().contains("ipv6");
        if self.name == "an IPv6 address" {
            return six;
        }
        !six && words.iter().any(|word| self.words.contains(&word.as_str()))
    }

    /// Whether `text` is of that format, for the formats that have a strict parser here.
    pub(super) fn holds(&self, text: &str) -> Option<bool> {
        match self.name {
            "an IPv4 address" => Some(is_address(text)),
            "a port" => Some(text.parse::<u16>().is_ok() && !text.starts_with('+')),
            _ => None,
        }
    }
}

/// Four numbers up to 255 without leading zeros.
fn is_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 4
        && parts.iter().all(|part| {
            let digits = part.chars().all(|c| c.is_ascii_digit());
            digits && (part.len() == 1 || !part.starts_with('0')) && part.parse::<u8>().is_ok()
        })
}
