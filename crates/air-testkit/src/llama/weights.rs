//! A small model of random weights, the same each time: one layer that has learned nothing.
//!
//! A token is a byte, or one of a few. Printable ones are likelier, so that what it says is text; those that
//! end a part of JSON are likelier still, so that it comes to an end, and so is the beginning of a call.

use super::gguf::{self, Tensor, Value};

const CONTEXT: u32 = 16_384;
const WIDTH: u16 = 64;
const INNER: u16 = 128;
const HEADS: u16 = 4;
/// How much likelier a printable byte is than another.
const BIAS: f32 = 4.0;
/// How much likelier the beginning of a call is, and what ends a part of JSON.
const ENDS: f32 = 0.35;

/// Pairs that are one token, each made of earlier ones.
const PAIRS: [(&str, &str); 12] = [
    ("t", "h"),
    ("th", "e"),
    ("i", "n"),
    ("e", "r"),
    ("r", "u"),
    ("ru", "l"),
    ("rul", "e"),
    ("y", "e"),
    ("ye", "s"),
    ("n", "o"),
    ("\u{120}", "the"),
    ("\u{120}", "rule"),
];

/// Ends a text; begins and ends a turn.
const CONTROL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/// What begins a call. It is said often, so that there are calls.
const CALL: &str = "<tool_call>";

const TEMPLATE: &str = r#"
{%- if tools %}<|im_start|>system
# Tools
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each call say <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call><|im_end|>
{% endif -%}
{%- for message in messages %}
{%- if message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{% if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls %}<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"#;

/// The model, as a file in the format GGUF.
pub fn file() -> Vec<u8> {
    let bytes: Vec<char> = letters();
    let mut tokens: Vec<String> = bytes.iter().map(char::to_string).collect();
    tokens.extend(PAIRS.map(|(left, right)| format!("{left}{right}")));
    let first = u32::try_from(tokens.len()).unwrap_or(0);
    // The numbers of the format: a normal token, one that controls, and one of a user.
    let mut kinds = vec![1; tokens.len()];
    tokens.extend(CONTROL.map(str::to_owned));
    kinds.resize(tokens.len(), 3);
    tokens.push(CALL.to_owned());
    kinds.push(4);
    let count = u16::try_from(tokens.len()).unwrap_or(0);
    let bias = |at: usize| match bytes.get(at) {
        // The end of a turn, and the call.
        None if at + 2 >= usize::from(count) => ENDS,
        Some('"' | ']' | '}') => ENDS,
        Some(' '..='~' | '\u{120}') | None => 0.0,
        Some(_) => -BIAS,
    };
    let tensors = tensors(count, bias);
    let text = |text: &str| Value::Text(text.to_owned());
    let number = |number: u16| Value::U32(number.into());
    let merges = PAIRS.map(|(left, right)| format!("{left} {right}"));
    let metadata = [
        ("general.architecture", text("llama")),
        ("general.name", text("random")),
        ("general.file_type", Value::U32(0)),
        ("llama.context_length", Value::U32(CONTEXT)),
        ("llama.embedding_length", number(WIDTH)),
        ("llama.block_count", Value::U32(1)),
        ("llama.feed_forward_length", number(INNER)),
        ("llama.attention.head_count", number(HEADS)),
        ("llama.attention.head_count_kv", number(HEADS)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.rope.dimension_count", number(WIDTH / HEADS)),
        ("llama.vocab_size", number(count)),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("gpt-2")),
        ("tokenizer.ggml.tokens", Value::Texts(tokens)),
        ("tokenizer.ggml.token_type", Value::Numbers(kinds)),
        ("tokenizer.ggml.merges", Value::Texts(merges.to_vec())),
        ("tokenizer.ggml.bos_token_id", Value::U32(first)),
        ("tokenizer.ggml.eos_token_id", Value::U32(first + 2)),
        ("tokenizer.ggml.padding_token_id", Value::U32(first)),
        ("tokenizer.ggml.add_bos_token", Value::Bool(false)),
        ("tokenizer.chat_template", text(TEMPLATE)),
    ];
    gguf::file(&metadata, &tensors)
}

/// How this kind of tokenizer writes each byte as a letter: those that cannot be seen as others.
fn letters() -> Vec<char> {
    let mut hidden = 256..;
    let mut letter = |byte: u8| match byte {
        b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
        _ => hidden.next().and_then(char::from_u32).unwrap_or_default(),
    };
    (0..=u8::MAX).map(&mut letter).collect()
}

/// The first channel is 1 everywhere, and no layer changes it: by it, tokens are more or less likely.
fn tensors(tokens: u16, bias: impl Fn(usize) -> f32) -> Vec<Tensor> {
    let mut random = Random(0x5eed);
    let mut matrix = |name: &str, columns: u16, rows: u16, scale: f32| {
        let count = usize::from(columns) * usize::from(rows);
        let content = (0..count).map(|_| random.next() * scale).collect();
        Tensor { name: name.to_owned(), columns, rows, content }
    };
    let ones = |name: &str| {
        let content = vec![1.0; usize::from(WIDTH)];
        Tensor { name: name.to_owned(), columns: WIDTH, rows: 1, content }
    };
    let mut embedding = matrix("token_embd.weight", WIDTH, tokens, 0.1);
    for row in embedding.content.chunks_mut(WIDTH.into()) {
        row.iter_mut().take(1).for_each(|first| *first = 1.0);
    }
    let mut output = matrix("output.weight", WIDTH, tokens, 0.1);
    for (at, row) in output.content.chunks_mut(WIDTH.into()).enumerate() {
        row.iter_mut().take(1).for_each(|first| *first = bias(at));
    }
    let mut all = vec![embedding, output, ones("output_norm.weight")];
    for part in ["attn_q", "attn_k", "attn_v"] {
        all.push(matrix(&format!("blk.0.{part}.weight"), WIDTH, WIDTH, 0.1));
    }
    for part in ["ffn_gate", "ffn_up"] {
        all.push(matrix(&format!("blk.0.{part}.weight"), WIDTH, INNER, 0.1));
    }
    for (part, columns) in [("attn_output", WIDTH), ("ffn_down", INNER)] {
        let mut back = matrix(&format!("blk.0.{part}.weight"), columns, WIDTH, 0.1);
        back.content.iter_mut().take(columns.into()).for_each(|number| *number = 0.0);
        all.push(back);
    }
    all.extend(["attn_norm", "ffn_norm"].map(|part| ones(&format!("blk.0.{part}.weight"))));
    all
}

/// Numbers from -1 to 1, by the generator of Knuth's MMIX.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The high bits are the random ones.
        let [high, low, ..] = self.0.to_be_bytes().map(u16::from);
        f32::from((high << 8) | low) / 32_768.0 - 1.0
    }
}
