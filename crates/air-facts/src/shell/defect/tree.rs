//! A program as the analyses see it: `[ ]`, `[[ ]]` and `test` are one, and words are in pieces.

/// A statement.
#[derive(Debug)]
pub(super) enum Node {
    Command(Command),
    Test(Test, u32),
    /// `((…))`.
    Math(Text, u32),
    Pipe(Vec<Self>),
    /// `a && b || c`: the first, and the others with whether they come after success.
    Chain(Box<Self>, Vec<(bool, Self)>),
    Not(Box<Self>),
    If {
        arms: Vec<(Vec<Self>, Vec<Self>)>,
        otherwise: Option<Vec<Self>>,
        line: u32,
    },
    Case {
        word: Text,
        arms: Vec<Arm>,
        line: u32,
    },
    Loop(Loop),
    Group(Vec<Self>, Vec<Redirect>),
    Function {
        name: String,
        body: Vec<Self>,
    },
}

#[derive(Debug)]
pub(super) struct Arm {
    pub(super) patterns: Vec<Text>,
    pub(super) body: Vec<Node>,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) kind: Turns,
    pub(super) body: Vec<Node>,
    pub(super) redirects: Vec<Redirect>,
    pub(super) line: u32,
}

/// How often a loop runs.
#[derive(Debug)]
pub(super) enum Turns {
    Each(String, Vec<Text>),
    /// `for ((a; b; c))`.
    Count(String, String, String),
    While(Vec<Node>),
}

/// A simple command; a declaration's assignments are in `assigned` as others are.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) assigned: Vec<Assigned>,
    pub(super) words: Vec<Text>,
    pub(super) redirects: Vec<Redirect>,
    pub(super) line: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Assigned {
    pub(super) name: String,
    /// The subscript.
    pub(super) key: Option<Text>,
    pub(super) value: Value,
    pub(super) append: bool,
    pub(super) line: u32,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    One(Text),
    Many(Vec<(Option<Text>, Text)>),
}

#[derive(Debug, Clone)]
pub(super) struct Redirect {
    pub(super) kind: RedirectKind,
    pub(super) word: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectKind {
    /// From a file.
    In,
    /// Into a file.
    Out,
    /// A here-document or here-string.
    Here,
}

/// A condition.
#[derive(Debug)]
pub(super) enum Test {
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Not(Box<Self>),
    /// `-z x`, or a word alone.
    Unary(Text),
    Binary(String, Text, Text),
}

/// A word.
#[derive(Debug, Clone, Default)]
pub(super) struct Text {
    pub(super) raw: String,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
pub(super) enum Piece {
    Plain(String),
    Quoted(String),
    Variable(Variable),
    /// `$(…)`, `<(…)`.
    Run(std::rc::Rc<Vec<Node>>),
    /// `$((…))`.
    Math(String),
}

/// `${name…}`.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: String,
    /// What is behind the name: a subscript, an operation.
    pub(super) rest: String,
    /// `#` for a length, `!` for another name.
    pub(super) prefix: Option<char>,
    pub(super) quoted: bool,
}

impl Text {
    /// The word where nothing in it is computed.
    pub(super) fn constant(&self) -> Option<String> {
        let mut all = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Plain(text) | Piece::Quoted(text) => all.push_str(text),
                _ => return None,
            }
        }
        Some(all)
    }

    /// The only expansion that the word consists of.
    pub(super) fn only(&self) -> Option<&Variable> {
        let mut pieces = self
            .pieces
            .iter()
            .filter(|piece| !matches!(piece, Piece::Quoted(text) if text.is_empty()));
        match (pieces.next(), pieces.next()) {
            (Some(Piece::Variable(variable)), None) => Some(variable),
            _ => None,
        }
    }

    /// Names that are expanded in it, those in arithmetic and in subscripts too.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Variable(variable) => {
                    names.push(variable.name.clone());
                    names.extend(dollars(&variable.rest));
                }
                Piece::Math(text) => names.extend(words(text)),
                _ => {}
            }
        }
        names
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(variable) => Some(variable),
            _ => None,
        })
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = &[Node]> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Run(nodes) => Some(nodes.as_slice()),
            _ => None,
        })
    }

    /// Its constant text, with nothing for what is computed.
    pub(super) fn shown(&self) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Plain(text) | Piece::Quoted(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

impl Variable {
    /// `${name}` and nothing else.
    pub(super) fn is_plain(&self) -> bool {
        self.rest.is_empty() && self.prefix.is_none()
    }

    /// One character at a time: `${name:$i:1}`.
    pub(super) fn is_character(&self) -> bool {
        let rest = self.rest.trim_start_matches(':').trim();
        self.rest.starts_with(':')
            && !self.rest.starts_with(":-")
            && rest.rsplit_once(':').is_some_and(|(_, length)| length.trim() == "1")
    }
}

impl Command {
    /// Its first word, without a directory.
    pub(super) fn name(&self) -> Option<String> {
        let name = self.words.first()?.constant()?;
        Some(name.rsplit('/').next().unwrap_or(&name).to_owned())
    }

    pub(super) fn is(&self, names: &[&str]) -> bool {
        self.name().is_some_and(|name| names.contains(&name.as_str()))
    }

    pub(super) fn args(&self) -> &[Text] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Whether one of the arguments is exactly that.
    pub(super) fn has(&self, args: &[&str]) -> bool {
        self.args().iter().any(|arg| arg.constant().is_some_and(|arg| args.contains(&arg.as_str())))
    }
}

impl Test {
    /// The comparisons in it.
    pub(super) fn binaries(&self) -> Vec<(&str, &Text, &Text)> {
        match self {
            Self::And(one, other) | Self::Or(one, other) => {
                let mut all = one.binaries();
                all.extend(other.binaries());
                all
            }
            Self::Not(inner) => inner.binaries(),
            Self::Unary(..) => Vec::new(),
            Self::Binary(op, one, other) => vec![(op.as_str(), one, other)],
        }
    }

    pub(super) fn texts(&self) -> Vec<&Text> {
        match self {
            Self::And(one, other) | Self::Or(one, other) => {
                let mut all = one.texts();
                all.extend(other.texts());
                all
            }
            Self::Not(inner) => inner.texts(),
            Self::Unary(word) => vec![word],
            Self::Binary(_, one, other) => vec![one, other],
        }
    }
}

/// Whether a name may have that in it.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The names in `text` that follow a dollar sign.
pub(super) fn dollars(text: &str) -> Vec<String> {
    let found = text.split('$').skip(1).filter_map(|after| {
        let after = after.trim_start_matches(['{', '#', '!']);
        let end = after.find(|c: char| !is_name(c)).unwrap_or(after.len());
        after.get(..end).filter(|name| !name.is_empty()).map(ToOwned::to_owned)
    });
    found.collect()
}

/// The names in an arithmetic expression, with or without a dollar sign.
pub(super) fn words(text: &str) -> Vec<String> {
    let names = text.split(|c: char| !is_name(c)).filter(|name| !name.is_empty());
    names.map(ToOwned::to_owned).collect()
}

/// Calls `visit` for every statement, those in words too, outer ones first.
pub(super) fn walk<'n>(nodes: &'n [Node], visit: &mut dyn FnMut(&'n Node)) {
    for node in nodes {
        visit(node);
        for text in node.texts() {
            for nodes in text.runs() {
                walk(nodes, visit);
            }
        }
        for nodes in node.blocks() {
            walk(nodes, visit);
        }
    }
}

impl Node {
    /// The words of this statement, without those of the statements in it.
    pub(super) fn texts(&self) -> Vec<&Text> {
        match self {
            Self::Command(command) => {
                let mut texts: Vec<&Text> = command.words.iter().collect();
                for assigned in &command.assigned {
                    texts.extend(&assigned.key);
                    match &assigned.value {
                        Value::One(text) => texts.push(text),
                        Value::Many(items) => {
                            for (key, value) in items {
                                texts.extend(key);
                                texts.push(value);
                            }
                        }
                    }
                }
                texts.extend(command.redirects.iter().map(|redirect| &redirect.word));
                texts
            }
            Self::Test(test, _) => test.texts(),
            Self::Math(text, _) => vec![text],
            Self::Case { word, arms, .. } => {
                let patterns = arms.iter().flat_map(|arm| &arm.patterns);
                std::iter::once(word).chain(patterns).collect()
            }
            Self::Loop(turns) => {
                let redirects = turns.redirects.iter().map(|redirect| &redirect.word);
                match &turns.kind {
                    Turns::Each(_, words) => words.iter().chain(redirects).collect(),
                    _ => redirects.collect(),
                }
            }
            Self::Group(_, redirects) => redirects.iter().map(|redirect| &redirect.word).collect(),
            _ => Vec::new(),
        }
    }

    /// The statements right within this one.
    pub(super) fn blocks(&self) -> Vec<&[Self]> {
        match self {
            Self::Command(_) | Self::Test(..) | Self::Math(..) => Vec::new(),
            Self::Pipe(nodes) | Self::Group(nodes, _) | Self::Function { body: nodes, .. } => {
                vec![nodes]
            }
            Self::Chain(first, rest) => {
                let rest = rest.iter().map(|(_, node)| std::slice::from_ref(node));
                std::iter::once(std::slice::from_ref(first.as_ref())).chain(rest).collect()
            }
            Self::Not(node) => vec![std::slice::from_ref(node.as_ref())],
            Self::If { arms, otherwise, .. } => {
                let mut blocks: Vec<&[Self]> = Vec::new();
                for (condition, body) in arms {
                    blocks.push(condition);
                    blocks.push(body);
                }
                blocks.extend(otherwise.as_deref());
                blocks
            }
            Self::Case { arms, .. } => arms.iter().map(|arm| arm.body.as_slice()).collect(),
            Self::Loop(turns) => match &turns.kind {
                Turns::While(condition) => vec![condition, &turns.body],
                _ => vec![&turns.body],
            },
        }
    }
}
