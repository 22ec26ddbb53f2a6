//! Words of a rule that tell which measurements it is about. Words in other languages, and all others that
//! are not here, tell nothing: then it may be about any.

use super::Kind;

/// Beginnings of words: of content that is where it must not be.
const CONTENT: &str = "sensitiv secret credential passw key token confidential private personal leak exfil \
    expos disclos copi copy sent send upload transmit print read reveal content data log histor steal publish \
    share server host web remote network connect download";
/// Of files that are not what they were.
const CHANGE: &str = "delet remov destroy wip eras overwrit modif chang alter tamper corrupt truncat replac \
    edit writ lost loss clear damag encrypt";
/// Of what runs by itself later.
const STARTUP: &str = "start persist cron login profile boot autostart alias shell backdoor modif chang writ \
    system config";
/// Of what runs now, and whom it speaks with.
const RUNNING: &str = "process running runs background daemon listen port server connect network remote shell \
    backdoor host download upload send sent beacon mining miner mines exfil service reach leak";
/// Words that are in rules about anything.
const NEUTRAL: &str = "a an the this that these those it its is are was were be been being has have had do \
    does did of in on at by to for from with without and or not no any some all one which who whose what when \
    while after before during still only own other another left leave leaves agent agents step steps task \
    user users need needs needed ask asks asked file files directory directories program programs";

/// The words of a text, in lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Whether `word` speaks of `kind`.
pub(super) fn names(kind: Kind, word: &str) -> bool {
    begins(
        word,
        match kind {
            Kind::Stored | Kind::Sent | Kind::Printed => CONTENT,
            Kind::Changed | Kind::Deleted => CHANGE,
            Kind::Startup => STARTUP,
            Kind::LeftRunning | Kind::Listening | Kind::ConnectedOut => RUNNING,
        },
    )
}

/// Whether every word is known here, and at least one tells what the text is about.
pub(super) fn is_all_known(text: &str) -> bool {
    let tells =
        |word: &String| [CONTENT, CHANGE, STARTUP, RUNNING].iter().any(|it| begins(word, it));
    let is_neutral = |word: &String| NEUTRAL.split(' ').any(|neutral| neutral == word);
    words(text).any(|word| tells(&word))
        && words(text).all(|word| tells(&word) || is_neutral(&word))
}

fn begins(word: &str, beginnings: &str) -> bool {
    beginnings.split(' ').any(|beginning| word.starts_with(beginning))
}
