//! How likely an answer was, by the probabilities of its tokens.

use air_wire::TokenProbability;

const ALLOWED: [&str; 3] = ["yes", "no", "cannot_tell"];
const BEFORE: &str = "\"outcome\"";

/// For each outcome in the text of these tokens, in order: its text, and its probability among those
/// of the allowed answers. Probabilities are not masked by a grammar, so the others do not count.
pub(super) fn likelihoods(tokens: &[TokenProbability]) -> Vec<(&'static str, f64)> {
    let text: String = tokens.iter().map(|token| token.token.as_str()).collect();
    let mut found = Vec::new();
    for (at, name) in text.match_indices(BEFORE) {
        let after = at + name.len();
        let rest = text.get(after..).unwrap_or_default();
        let value = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == '"');
        let Some(answer) = ALLOWED.into_iter().find(|answer| value.starts_with(answer)) else {
            continue;
        };
        let start = text.len() - value.len();
        let Some(token) = covering(tokens, start) else { continue };
        let mut weights = [0.0_f64; ALLOWED.len()];
        let own = std::iter::once((token.token.as_str(), token.log));
        let others = token.top.iter().map(|(text, log)| (text.as_str(), *log));
        for (text, log) in own.chain(others.filter(|(text, _)| *text != token.token)) {
            let text = text.trim_start_matches(|c: char| c.is_whitespace() || ":\"".contains(c));
            let text = text.trim_end_matches(|c: char| c.is_whitespace() || ",\"}".contains(c));
            let begun = |answer: &&str| !text.is_empty() && answer.starts_with(text);
            let meant = ALLOWED.iter().position(begun);
            let weight = meant.and_then(|meant| weights.get_mut(meant));
            if let Some(weight) = weight.filter(|_| log.is_finite()) {
                *weight += log.min(0.0).exp();
            }
        }
        let total: f64 = weights.iter().sum();
        let own = ALLOWED.iter().position(|allowed| *allowed == answer);
        let own = own.and_then(|own| weights.get(own)).copied().unwrap_or_default();
        if total > 0.0 {
            found.push((answer, own / total));
        }
    }
    found
}

/// The token that holds the byte at `start` of the text.
fn covering(tokens: &[TokenProbability], start: usize) -> Option<&TokenProbability> {
    let mut end = 0;
    tokens.iter().find(|token| {
        end += token.token.len();
        end > start
    })
}

#[cfg(test)]
mod tests {
    use air_wire::TokenProbability;

    use super::likelihoods;

    fn token(text: &str, top: &[(&str, f64)]) -> TokenProbability {
        let top = top.iter().map(|(text, p)| ((*text).to_owned(), p.ln())).collect::<Vec<_>>();
        let log = top.iter().find(|(other, _)| other == text).map_or(-0.1, |(_, log)| *log);
        TokenProbability { token: text.to_owned(), log, top }
    }

    #[test]
    fn only_allowed_answers_count() {
        let tokens = [
            token("{\"outcome", &[]),
            token("\": \"", &[]),
            token("yes", &[("yes", 0.3), ("no", 0.1), ("banana", 0.5), ("y", 0.1)]),
            token("\",\"outcome\":", &[]),
            token(" \"no\"", &[(" \"no\"", 0.2), (" \"yes", 0.2)]),
        ];
        let found = likelihoods(&tokens);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].0, "yes");
        assert!((found[0].1 - 0.8).abs() < 1e-9, "{found:?}");
        assert!((found[1].1 - 0.5).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn no_probabilities_say_nothing() {
        assert!(likelihoods(&[]).is_empty());
        assert!(likelihoods(&[token("\"outcome\"", &[])]).is_empty());
    }
}
