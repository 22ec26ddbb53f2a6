//! Loops over the lines of a text that is known.

use brush_parser::ast;

use super::{eval::Shell, state::Channel, word::Data};
use crate::collect::Collector;

/// Texts of more lines are not gone through line by line.
const MOST_LINES: usize = 32;

impl Shell {
    /// The lines that `while read` takes, where they are known.
    pub(super) fn lines_of(&self, test: &ast::CompoundList) -> Option<Vec<Data>> {
        let [ast::CompoundListItem(item, _)] = test.0.as_slice() else { return None };
        let [ast::Command::Simple(simple)] = item.first.seq.as_slice() else { return None };
        let name = simple.word_or_name.as_ref().map(|name| name.value.as_str());
        if name != Some("read") || !item.additional.is_empty() {
            return None;
        }
        let Some(Channel::Input(data)) = self.state.channels.get(&0) else { return None };
        let text = data.text.as_deref().filter(|_| !data.endless)?;
        let lines: Vec<&str> = text.lines().collect();
        let few = (2..=MOST_LINES).contains(&lines.len());
        few.then(|| {
            let line = |line: &&str| Data { text: Some(format!("{line}\n")), ..data.clone() };
            lines.iter().map(line).collect()
        })
    }

    /// The body of a loop, once for each line.
    pub(super) fn each_line(
        &mut self,
        lines: Vec<Data>,
        clause: &ast::WhileOrUntilClauseCommand,
        out: &mut Collector,
    ) {
        let before = self.state.clone();
        out.branch();
        for line in lines {
            self.state.channels.insert(0, Channel::Input(line));
            self.list(&clause.0, out);
            self.list(&clause.1.list, out);
            self.state.ended = false;
        }
        out.join();
        let channels = before.channels.clone();
        self.state.join(&before);
        self.state.channels = channels;
    }
}
